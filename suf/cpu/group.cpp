// Groups: chains of nodes that work row by row, strip by strip. A node's strip is a register whose elements have the
// form that they have in memory. Only values that are read outside the group go to memory.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "suf/cpu/bulk.hpp"
#include "suf/cpu/lane.hpp"
#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

PackedExecutor::Frames::Frames() = default;
PackedExecutor::Frames::~Frames() = default;

std::unique_ptr<PackedExecutor::Frame> PackedExecutor::Frames::Take() {
  std::lock_guard l(m_);
  if (idle_.empty()) return std::make_unique<Frame>();
  auto f = std::move(idle_.back());
  idle_.pop_back();
  return f;
}

void PackedExecutor::Frames::Give(std::unique_ptr<Frame> f) {
  std::lock_guard l(m_);
  idle_.push_back(std::move(f));
}

void PackedExecutor::Load(const grouping::IndexMap& map, size_t lo, size_t n, int element, void* to) const {
  const int dst = Code(element);
  auto* out = static_cast<uint8_t*>(to);
  for (size_t done = 0, take; done < n; done += take, out += take * size_t(element)) {
    const grouping::Run run = grouping::RunAt(map, int64_t(lo + done));
    take = std::min(n - done, size_t(run.many));
    const PackedTensor& v = values_[size_t(run.node)];
    SUF_CHECK(v.data && (element > 8 || v.element <= 8));
    if (element > 8) {
      SUF_CHECK(v.element == element && !v.splat);
      const size_t bytes = size_t(element);
      if (run.stride == 1) {
        std::memcpy(out, v.at(size_t(run.at)), take * bytes);
      } else {
        for (size_t j = 0; j < take; ++j)
          std::memcpy(out + j * bytes, v.at(size_t(run.at + int64_t(j) * run.stride)), bytes);
      }
    } else if (v.splat || run.stride == 0) {
      strips_.splat[dst](WordIn(v, size_t(run.at)), take, out);
    } else if (run.stride == 1) {
      Widen(v, size_t(run.at), take, element, out);
    } else if (v.is_signed) {
      for (size_t j = 0; j < take; ++j) {
        const uint64_t word = WordIn(v, size_t(run.at + int64_t(j) * run.stride));
        std::memcpy(out + j * size_t(element), &word, size_t(element));
      }
    } else {
      strips_.gather[Code(v.element)][dst](v.at(size_t(run.at)), size_t(run.stride), take, out);
    }
  }
}

const uint8_t* PackedExecutor::Operand(const Lane& l, size_t k, int want, int spare) const {
  return Operand(l, k, want, l.spare(spare));
}

const uint8_t* PackedExecutor::Operand(const Lane& l, size_t k, int want, uint8_t* room) const {
  const grouping::Operand& o = l.member().operands[k];
  if (o.from == grouping::Operand::kMember) {
    const int had = element(l.ins.members[size_t(o.member)].node);
    const uint8_t* at = l.reg(size_t(o.member)) + size_t(o.plane) * l.n * size_t(had);
    if (had == want) return at;
    strips_.move[Code(had)][Code(want)](at, size_t(o.planes) * l.n, room);
    return room;
  }
  // Words of the right width are read in place.
  if (const grouping::AxisPart& p = o.map.pieces[0]; o.planes == 1 && grouping::IsWhole(o.map, p.at.offset))
    if (const PackedTensor& v = values_[size_t(p.node)]; v.element == want && !v.splat)
      return v.at(size_t(p.at.offset) + l.lo);
  for (size_t q = 0; q < size_t(o.planes); ++q)
    Load(o.map, q * l.ins.rows + l.lo, l.n, want, room + q * l.n * size_t(want));
  return room;
}

void PackedExecutor::Arithmetical(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  size_t n = size_t(m.planes) * l.n;
  int e = element(m.node), code = Code(e);
  uint8_t* out = l.reg();
  auto operand = [&](size_t k, int want) { return Operand(l, k, want, int(k)); };
  if (m.copies >= 0) {
    if (l.own().alias) return;
    // The one operand of a view goes directly to the register.
    const uint8_t* from = Operand(l, std::min(size_t(m.copies), m.operands.size() - 1), e, out);
    if (from != out) std::memcpy(out, from, n * size_t(e));
    return;
  }
  switch (x.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
      if (x.ring.kind == Ring::kXor) {
        const uint8_t *a = operand(0, e), *b = operand(1, e);
        return strips_.binary[3][kExclusiveOr](a, b, (n * size_t(e) + 7) / 8, out);
      }
      return strips_.binary[code][x.op == Op::kAdd   ? kPlus
                                  : x.op == Op::kSub ? kMinus
                                                     : kTimes](operand(0, e), operand(1, e), n, out);
    case Op::kShl:
      return strips_.shift[code][0](operand(0, e), int(x.attrs[0]), 0, n, out);
    case Op::kShr: {
      // The representative has the operand's ring, which may be wider than that of the result.
      int bits = arg(x, 0).ring.bits, from = element(x.args[0]);
      uint64_t mask = ring::Mask(std::min(bits, int(x.attrs[0]) + std::max(1, s_.width(m.node))));
      uint8_t* to = from == e ? out : l.spare(1);
      strips_.shift[Code(from)][1](operand(0, from), int(x.attrs[0]), mask, n, to);
      if (to != out) strips_.move[Code(from)][code](to, n, out);
      return;
    }
    case Op::kLift:
    case Op::kBits: {
      uint64_t mask = ring::Mask(std::min(arg(x, 0).ring.bits, x.ring.bits));
      return strips_.shift[code][1](operand(0, e), 0, mask, n, out);
    }
    default:  // kBroadcast
      std::memcpy(out, operand(0, e), n * size_t(e));
  }
}

void PackedExecutor::Keep(const Lane& l) const {
  if (l.own().direct == int(l.at)) return;
  const Handle& h = l.handle();
  for (int q = 0; q < l.member().planes; ++q)
    std::memcpy(h.kept + (size_t(q) * l.ins.rows + l.lo) * h.element, l.reg() + size_t(q) * l.n * h.element,
                l.n * h.element);
}

// The bytes of the incoming long frame that a group's strips need. A tensor with one plane is needed up to a strip's
// rows, one with several planes as a whole.
class PackedExecutor::Arrivals {
 public:
  void Add(const Member& m, const FrameField& part, int bits) {
    if (m.planes == 1)
      rows_.push_back({size_t(part.at), size_t(bits)});
    else
      whole_ = std::max(whole_, size_t(part.at + part.bytes));
  }
  void Await(Io& io, size_t end) const {
    size_t bytes = whole_;
    for (const auto& [at, bits] : rows_) bytes = std::max(bytes, at + (end * bits + 7) / 8);
    if (bytes) io.Await(bytes);
  }

 private:
  std::vector<std::pair<size_t, size_t>> rows_;  // begin of the tensor, bits per row
  size_t whole_ = 0;
};

// The written length of the outgoing long frame, while strips end in any order. It grows by the rows of the first
// tensor that is not complete.
class PackedExecutor::Departures {
 public:
  Departures(const FrameField* part, size_t bits, size_t rows, size_t strip)
      : part_(part), bits_(bits), rows_(rows), strip_(strip), done_(part ? (rows + strip - 1) / strip : 0) {}
  // Records rows [lo, end) as written.
  void Done(Io& io, size_t lo, size_t end) {
    if (!part_) return;
    size_t bytes = 0;
    {
      std::lock_guard l(m_);
      for (; lo < end; lo += strip_) done_[lo / strip_] = 1;
      const size_t was = next_;
      while (next_ < done_.size() && done_[next_]) ++next_;
      if (next_ == was) return;
      bytes = std::min(next_ * strip_, rows_) * bits_ / 8;
    }
    io.Written(size_t(part_->at) + bytes);
  }

 private:
  const FrameField* part_;
  size_t bits_, rows_, strip_;
  std::mutex m_;
  std::vector<char> done_;  // strips
  size_t next_ = 0;
};

// Returns the first unwritten tensor of the outgoing frame, or null if there is none or no long frame.
const FrameField* PackedExecutor::NextPart(Io& io) const {
  if (io.Sending().size() <= kLongFrame) return nullptr;
  for (const FrameField& part : s_.frames()[size_t(s_.steps(int(role_))[next_ - 1].send)].parts)
    if (!done_[size_t(part.node)]) return &part;
  return nullptr;
}

PackedExecutor::Cut PackedExecutor::CutOf(const Instruction& ins, Host& host) {
  const Registers& registers = plan_->of(ins);
  Cut out{registers, std::vector<Handle>(ins.members.size()), size_t(registers.room + kSpares * registers.spare)};
  for (size_t k = 0; k < ins.members.size(); ++k) Open(ins.members[k], host, &out.handles[k]);
  while (out.rows > kLeastStrip && (out.rows * out.row > kFrame || out.rows / 2 >= ins.rows)) out.rows /= 2;
  while (out.rows > kShortStrip && out.rows * out.row > kFrame) out.rows /= 2;  // long strings
  return out;
}

void PackedExecutor::Draw(const Instruction& ins, const Cut& cut, Host& host, size_t lo, size_t n, int want, void* to) {
  const size_t last = ins.members.size() - 1;
  const auto move = strips_.move[Code(element(ins.members[last].node))][Code(want)];
  auto* out = static_cast<uint8_t*>(to);
  std::unique_ptr<Frame> f = frames_.Take();
  f->Reserve(cut.rows * cut.row);
  for (const size_t end = lo + n; lo < end; lo += cut.rows) {
    Lane l{ins, cut.registers, cut.handles, host, f->at(), cut.rows, lo, std::min(cut.rows, end - lo)};
    for (; l.at <= last; ++l.at) Row(l);
    move(l.reg(last), l.n, out);
    out += l.n * size_t(want);
  }
  frames_.Give(std::move(f));
}

double PackedExecutor::Group(const Instruction& ins, Host& host) {
  const Cut cut = CutOf(ins, host);
  const size_t strip = cut.rows;
  Arrivals arrivals;
  const FrameField* leaves = nullptr;
  if (host.io.Received().size() > kLongFrame)
    for (const Member& m : ins.members)
      if (Receives(m.node)) arrivals.Add(m, *part_[size_t(m.node)], node(m.node).ring.bits);
  if (const FrameField* next = NextPart(host.io))
    for (const Member& m : ins.members)
      if (m.node == next->node && m.planes == 1) leaves = next;
  Departures departures(leaves, leaves ? size_t(node(leaves->node).ring.bits) : 0, ins.rows, strip);
  std::atomic<uint64_t> all{0}, keys{0};  // time stamp counters
  pool_.For(ins.rows, strip, [&](size_t a, size_t b) {
    uint64_t begin = __builtin_ia32_rdtsc(), spent = 0;
    std::unique_ptr<Frame> f = frames_.Take();
    f->Reserve(strip * cut.row);
    for (size_t lo = a; lo < b; lo += strip) {
      Lane l{ins, cut.registers, cut.handles, host, f->at(), strip, lo, std::min(strip, b - lo)};
      arrivals.Await(host.io, lo + l.n);
      for (; l.at < ins.members.size(); ++l.at) {
        if (l.handle().key) {
          uint64_t t = __builtin_ia32_rdtsc();
          Row(l);
          spent += __builtin_ia32_rdtsc() - t;
        } else {
          Row(l);
        }
        if (l.member().kept) Keep(l);
      }
      departures.Done(host.io, lo, lo + l.n);
    }
    frames_.Give(std::move(f));
    all += __builtin_ia32_rdtsc() - begin;
    keys += spent;
  });
  return all ? double(keys) / double(all) : 0;
}

}  // namespace suf::cpu
