#include "suf/cpu/group.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

constexpr size_t kLeastStrip = 64, kShortStrip = 8;   // packed bits end at whole bytes
constexpr size_t kRegisterBytes = size_t{512} << 10;  // registers that stay in the L2 cache

// The bytes of the incoming long frame that a group's strips need. A tensor with one plane is needed up to a strip's
// rows, one with several planes as a whole.
class Arrivals {
 public:
  void Add(const grouping::Member& m, const FrameField& field, int bits) {
    if (m.planes == 1)
      rows_.push_back({size_t(field.at), size_t(bits)});
    else
      whole_ = std::max(whole_, size_t(field.at + field.bytes));
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
class Departures {
 public:
  Departures(const FrameField* field, size_t bits, size_t rows, size_t strip)
      : field_(field), bits_(bits), rows_(rows), strip_(strip), done_(field ? (rows + strip - 1) / strip : 0) {}
  // Records rows [lo, end) as written.
  void Done(Io& io, size_t lo, size_t end) {
    if (!field_) return;
    size_t bytes = 0;
    {
      std::lock_guard l(m_);
      for (; lo < end; lo += strip_) done_[lo / strip_] = 1;
      const size_t was = next_;
      while (next_ < done_.size() && done_[next_]) ++next_;
      if (next_ == was) return;
      bytes = std::min(next_ * strip_, rows_) * bits_ / 8;
    }
    io.ReportWritten(size_t(field_->at) + bytes);
  }

 private:
  const FrameField* field_;
  size_t bits_, rows_, strip_;
  std::mutex m_;
  std::vector<char> done_;  // strips
  size_t next_ = 0;
};

// Returns the values of a constant.
template <class T>
std::vector<T> Values(const Node& n) {
  if (n.data->size() == 1) return std::vector<T>(size_t(Size(n.shape)), T((*n.data)[0]));
  return {n.data->begin(), n.data->end()};
}

// Makes the terms of StripLoops::mix. `terms` are the nonzero words of the masks. `places` are the l + 1 beginnings of
// the masks in `terms`, then each term's word.
void Terms(const Node& masks, std::vector<uint32_t>* places, std::vector<uint64_t>* terms) {
  const std::vector<uint64_t> all = Values<uint64_t>(masks);
  const size_t words = size_t(masks.shape[1]);
  std::vector<uint32_t> at;
  for (size_t k = 0; k < all.size(); ++k) {
    if (k % words == 0) places->push_back(uint32_t(at.size()));
    if (all[k]) {
      at.push_back(uint32_t(k % words));
      terms->push_back(all[k]);
    }
  }
  places->push_back(uint32_t(at.size()));
  places->insert(places->end(), at.begin(), at.end());
}

}  // namespace

RegisterFile::~RegisterFile() { Free(); }

uint8_t* RegisterFile::Reserve(size_t bytes) {
  if (bytes <= size_) return p_;
  Free();
  size_ = (bytes + 4095) / 4096 * 4096;
  p_ = static_cast<uint8_t*>(std::aligned_alloc(4096, size_ + 4096));  // kernels may read a little beyond
  if (!p_) Fail(Cause::kResource, "no memory for registers of ", size_, " bytes; free memory");
  return p_;
}

void RegisterFile::Free() {
  if (!p_) return;
  Wipe(p_, size_);
  std::free(p_);
}

std::unique_ptr<RegisterFile> RegisterFiles::Take() {
  std::lock_guard l(m_);
  if (idle_.empty()) return std::make_unique<RegisterFile>();
  auto f = std::move(idle_.back());
  idle_.pop_back();
  return f;
}

void RegisterFiles::Give(std::unique_ptr<RegisterFile> f) {
  std::lock_guard l(m_);
  idle_.push_back(std::move(f));
}

void GroupRunner::OpenSections(const Randomness& randomness) {
  std::vector<int> drawn;
  sections_.resize(tensors_.schedule().trace().nodes().size());
  for (auto& ins : plan_.plan.instructions)
    for (auto& m : ins.members)
      if (tensors_.node(m.node).op == Op::kRand) drawn.push_back(m.node);
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  pool_.For(drawn.size(), 16, [&](size_t lo, size_t hi) {
    for (size_t k = lo; k < hi; ++k) {
      const auto& attrs = tensors_.node(drawn[k]).attrs;
      sections_[size_t(drawn[k])] = randomness.SectionAt(int(attrs[0]), int(attrs[1]));
    }
  });
}

void GroupRunner::PrepareMessage(const grouping::Member& m, Io& io, MemberResources* r) const {
  const int i = m.node;
  const Node& n = tensors_.node(i);
  r->key = n.op == Op::kTell;
  if (m.emits) {
    r->out = io.Out(i);
    SUF_CHECK(int64_t(r->out.size()) == PackedBytes(n));
    return;
  }
  // Strips wait for their rows of a long frame.
  if (frames_.Receives(i) && io.Received().size() > kLongFrame) {
    const FrameField& field = frames_.FieldOf(i);
    r->in = io.Received().subspan(size_t(field.at), size_t(field.bytes));
  } else {
    r->in = io.In(i);
  }
  SUF_CHECK(int64_t(r->in.size()) == PackedBytes(n));
}

MemberResources GroupRunner::Prepare(const grouping::Member& m, Io& io) {
  const int i = m.node;
  const Node& n = tensors_.node(i);
  MemberResources r;
  if (m.kept) {
    r.kept = tensors_.Make(i).get();
    r.element = size_t(tensors_.element(i));
  }
  switch (n.op) {
    case Op::kRand:
      r.key = true;
      r.section = sections_[size_t(i)].get();
      break;
    case Op::kTell:
    case Op::kSend:
      PrepareMessage(m, io, &r);
      break;
    case Op::kSelect:
    case Op::kSelectX:
      if (tensors_.element(i) <= 4)
        r.table32 = Values<uint32_t>(tensors_.arg(n, 2));
      else
        r.table64 = Values<uint64_t>(tensors_.arg(n, 2));
      break;
    case Op::kDense:
      r.table64 = Values<uint64_t>(tensors_.arg(n, 2));
      break;
    case Op::kLess:
      r.table64.assign(n.attrs.begin(), n.attrs.end());
      break;
    case Op::kAbove:
      r.table16.assign(n.attrs.begin(), n.attrs.end());
      break;
    case Op::kMix:
      Terms(tensors_.arg(n, 1), &r.table32, &r.table64);
      break;
    default:
      break;
  }
  return r;
}

StripDivision GroupRunner::Divide(const grouping::Instruction& ins, Io& io) {
  const Registers& registers = plan_.of(ins);
  StripDivision out{registers, {}, size_t(registers.row + kSpares * registers.spare)};
  out.resources.reserve(ins.members.size());
  for (const grouping::Member& m : ins.members) out.resources.push_back(Prepare(m, io));
  while (out.rows > kLeastStrip && (out.rows * out.row > kRegisterBytes || out.rows / 2 >= ins.rows)) out.rows /= 2;
  while (out.rows > kShortStrip && out.rows * out.row > kRegisterBytes) out.rows /= 2;  // long strings
  return out;
}

void GroupRunner::Draw(const grouping::Instruction& ins, const StripDivision& division, Io& io, size_t lo, size_t n,
                       int want, void* to) {
  const size_t last = ins.members.size() - 1, strip = division.rows;
  const auto move = loops_.move[Code(tensors_.element(ins.members[last].node))][Code(want)];
  auto* out = static_cast<uint8_t*>(to);
  std::unique_ptr<RegisterFile> f = idle_.Take();
  uint8_t* const memory = f->Reserve(strip * division.row);
  for (const size_t end = lo + n; lo < end; lo += strip) {
    Strip s{ins, division.registers, division.resources, io, memory, strip, lo, std::min(strip, end - lo)};
    for (; s.at <= last; ++s.at) kernels_.Compute(s);
    move(s.reg(last), s.n, out);
    out += s.n * size_t(want);
  }
  idle_.Give(std::move(f));
}

double GroupRunner::Run(const grouping::Instruction& ins, Io& io) {
  const StripDivision division = Divide(ins, io);
  const size_t strip = division.rows;
  const auto bits = [&](int i) { return tensors_.node(i).ring.bits; };
  Arrivals arrivals;
  if (io.Received().size() > kLongFrame)
    for (const grouping::Member& m : ins.members)
      if (frames_.Receives(m.node)) arrivals.Add(m, frames_.FieldOf(m.node), bits(m.node));
  const FrameField* leaves = nullptr;
  if (const FrameField* next = frames_.NextToWrite(io))
    for (const grouping::Member& m : ins.members)
      if (m.node == next->node && m.planes == 1) leaves = next;
  Departures departures(leaves, leaves ? size_t(bits(leaves->node)) : 0, ins.rows, strip);
  std::atomic<uint64_t> all{0}, keys{0};  // time stamp counters
  pool_.For(ins.rows, strip, [&](size_t a, size_t b) {
    uint64_t begin = __builtin_ia32_rdtsc(), spent = 0;
    std::unique_ptr<RegisterFile> f = idle_.Take();
    uint8_t* const memory = f->Reserve(strip * division.row);
    for (size_t lo = a; lo < b; lo += strip) {
      Strip s{ins, division.registers, division.resources, io, memory, strip, lo, std::min(strip, b - lo)};
      arrivals.Await(io, lo + s.n);
      for (; s.at < ins.members.size(); ++s.at) {
        if (s.resource().key) {
          uint64_t t = __builtin_ia32_rdtsc();
          kernels_.Compute(s);
          spent += __builtin_ia32_rdtsc() - t;
        } else {
          kernels_.Compute(s);
        }
        if (s.member().kept) kernels_.Keep(s);
      }
      departures.Done(io, lo, lo + s.n);
    }
    idle_.Give(std::move(f));
    all += __builtin_ia32_rdtsc() - begin;
    keys += spent;
  });
  return all ? double(keys) / double(all) : 0;
}

}  // namespace suf::cpu
