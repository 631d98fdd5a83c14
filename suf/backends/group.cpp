// Groups: a chain of nodes that work row by row, strip by strip. A node's strip is a register, its elements as they lie
// in memory. Only values that are read outside the group go to memory.
#include <algorithm>
#include <atomic>

#include "suf/backends/internal/bulk.hpp"
#include "suf/backends/internal/rows.hpp"
#include "suf/ring/words.hpp"

namespace suf::backends::internal {

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

void PackedExecutor::Load(int a, const Shape& shape, size_t lo, size_t n, int element, void* to) const {
  const Tensor& v = values_[size_t(a)];
  SUF_CHECK(v.data && v.element <= 8);
  const Shape& own = node(a).shape;
  int from = Code(v.element), dst = Code(element);
  auto word = [&](size_t i) {
    uint64_t x = 0;
    std::memcpy(&x, v.at(i), size_t(v.element));
    return x;
  };
  size_t size = count(a);
  if (v.splat || size == 1) return strips_.splat[dst](word(0), n, to);
  if (size == size_t(Size(shape))) return strips_.move[from][dst](v.at(lo), n, to);
  // broadcasting: whole rows of the last axis, or one element a row
  size_t row = size_t(shape.back()), step = size_t(element);
  bool one = own.back() == 1;
  for (size_t done = 0; done < n;) {
    size_t flat = lo + done, column = flat % row, take = std::min(n - done, row - column);
    size_t rest = flat / row, at = 0, stride = one ? 1 : row;
    for (size_t d = shape.size() - 1; d-- > 0;) {
      size_t back = shape.size() - d;
      if (back <= own.size()) {
        size_t len = size_t(own[own.size() - back]);
        if (len > 1) at += rest % size_t(shape[d]) * stride;
        stride *= len;
      }
      rest /= size_t(shape[d]);
    }
    auto* out = static_cast<uint8_t*>(to) + done * step;
    if (one)
      strips_.splat[dst](word(at), take, out);
    else
      strips_.move[from][dst](v.at(at + column), take, out);
    done += take;
  }
}

const uint8_t* PackedExecutor::Operand(const Lane& l, size_t k, int want, int spare, int planes) const {
  const Member& m = l.member();
  int a = node(m.node).args[k], p = m.inside[k];
  uint8_t* room = l.spare(spare);
  if (p >= 0) {
    const Member& from = l.ins.members[size_t(p)];
    int had = element(a);
    if (had == want) return l.reg(from);
    strips_.move[Code(had)][Code(want)](l.reg(from), size_t(from.planes) * l.n, room);
    return room;
  }
  const Tensor& v = values_[size_t(a)];
  // words of the right width are read where they lie
  if (planes == 1 && v.element == want && !v.splat && count(a) == l.ins.rows) return v.at(l.lo);
  const Shape& shape = count(a) == size_t(planes) * l.ins.rows ? node(a).shape : node(m.node).shape;
  for (int q = 0; q < planes; ++q) {
    uint8_t* to = room + size_t(q) * l.n * size_t(want);
    if (want > 8) {
      SUF_CHECK(v.element == want);
      std::memcpy(to, v.at(size_t(q) * l.ins.rows + l.lo), l.n * size_t(want));
    } else {
      Load(a, shape, size_t(q) * l.ins.rows + l.lo, l.n, want, to);
    }
  }
  return room;
}

void PackedExecutor::Arithmetical(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  size_t n = size_t(m.planes) * l.n;
  int e = element(m.node), code = Code(e);
  uint8_t* out = l.reg(m);
  auto operand = [&](size_t k, int want) { return Operand(l, k, want, int(k), m.planes); };
  if (m.copies >= 0) {
    if (!m.alias) std::memcpy(out, operand(size_t(m.copies), e), n * size_t(e));
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
      // the representative has the operand's ring, which may be wider than the result
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
  const Member& m = l.member();
  const Tensor& v = values_[size_t(m.node)];
  size_t e = size_t(v.element);
  for (int q = 0; q < m.planes; ++q)
    std::memcpy(const_cast<uint8_t*>(v.at(size_t(q) * l.ins.rows + l.lo)), l.reg(m) + size_t(q) * l.n * e, l.n * e);
}

void PackedExecutor::Group(const Instruction& ins, Host& host) {
  std::vector<Handle> handles(ins.members.size());
  for (size_t k = 0; k < ins.members.size(); ++k) Open(ins.members[k], host, &handles[k]);
  size_t row = size_t(ins.room + kSpares * ins.spare), strip = kStrip;
  while (strip > kLeastStrip && (strip * row > kFrame || strip / 2 >= ins.rows)) strip /= 2;
  while (strip > kShortStrip && strip * row > kFrame) strip /= 2;  // long strings
  std::atomic<uint64_t> all{0}, keys{0};                           // time stamp counters
  pool_.For(ins.rows, strip, [&](size_t a, size_t b) {
    uint64_t begin = __builtin_ia32_rdtsc(), spent = 0;
    std::unique_ptr<Frame> f = frames_.Take();
    f->Reserve(strip * row);
    for (size_t lo = a; lo < b; lo += strip) {
      Lane l{ins, handles, host, f->at(), strip, lo, std::min(strip, b - lo)};
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
    }
    frames_.Give(std::move(f));
    all += __builtin_ia32_rdtsc() - begin, keys += spent;
  });
  if (keys) host.io.Keys(double(keys) / double(all));
}

}  // namespace suf::backends::internal
