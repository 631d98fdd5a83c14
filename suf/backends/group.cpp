// Groups: a chain of elementwise nodes of one shape, strip by strip. A node's strip is a register of 4- or 8-byte
// words; only values that are read outside the group go to memory.
#include <algorithm>

#include "suf/backends/internal/executor.hpp"
#include "suf/backends/internal/variants.hpp"
#include "suf/pfss/poly.hpp"
#include "suf/ring/words.hpp"

namespace suf::backends::internal {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {
using Buffer = std::array<uint64_t, kStrip>;
}

// Frame: registers, spare buffers for operands from memory, planes for the operands of a borrow. One thread at a time
// has it; it goes from strip to strip and group to group, and is wiped at the end of the run.
struct PackedExecutor::Frame {
  std::vector<std::unique_ptr<Buffer>> registers, planes;
  Buffer spare[2];
  ~Frame() {
    for (auto* list : {&registers, &planes})
      for (auto& b : *list) Wipe(b->data(), sizeof(Buffer));
    Wipe(spare, sizeof spare);
  }
};

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

void PackedExecutor::Load(int a, const Shape& shape, size_t lo, size_t n, int wide, void* to) const {
  const Tensor& v = values_[size_t(a)];
  SUF_CHECK(v.data && v.element <= 8);
  const Shape& own = node(a).shape;
  int from = Code(v.element), dst = wide ? 3 : 2;
  auto word = [&](size_t i) {
    uint64_t x = 0;
    std::memcpy(&x, v.at(i), size_t(v.element));
    return x;
  };
  size_t size = count(a);
  if (v.splat || size == 1) return strips_.splat[dst](word(0), n, to);
  if (size == size_t(Size(shape))) return strips_.move[from][dst](v.at(lo), n, to);
  // broadcasting: whole rows of the last axis, or one element a row
  size_t row = size_t(shape.back()), step = size_t(4) << wide;
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

void PackedExecutor::Strip(const Instruction& ins, Frame& f, size_t lo, size_t n) const {
  const Shape& shape = node(ins.nodes[0]).shape;
  auto wide = [&](int i) { return s_.width(i) > 32; };
  // operand k of a node as words of the asked width: a register, or loaded into a spare one
  size_t at = 0;
  auto operand = [&](int a, int w, int k) -> const void* {
    int p = ins.inside[at][size_t(k)];
    if (p < 0) {
      const Tensor& v = values_[size_t(a)];  // words of the right width are read where they lie
      if (v.element == (w ? 8 : 4) && !v.splat && count(a) == count(ins.nodes[0])) return v.at(lo);
      Load(a, shape, lo, n, w, f.spare[k].data());
      return f.spare[k].data();
    }
    const void* r = f.registers[size_t(ins.slot[size_t(p)])]->data();
    if (int had = wide(a); had != w) {
      strips_.move[had ? 3 : 2][w ? 3 : 2](r, n, f.spare[k].data());
      return f.spare[k].data();
    }
    return r;
  };
  for (; at < ins.nodes.size(); ++at) {
    int i = ins.nodes[at];
    const Node& x = node(i);
    int w = wide(i);
    void* out = f.registers[size_t(ins.slot[at])]->data();
    switch (x.op) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul: {
        const void* a = operand(x.args[0], w, 0);
        const void* b = operand(x.args[1], w, 1);
        int op = x.ring.kind == Ring::kXor ? kExclusiveOr
                 : x.op == Op::kAdd        ? kPlus
                 : x.op == Op::kSub        ? kMinus
                                           : kTimes;
        strips_.binary[w][op](a, b, n, out);
        break;
      }
      case Op::kShl:
        strips_.shift[w][0](operand(x.args[0], w, 0), int(x.attrs[0]), 0, n, out);
        break;
      case Op::kShr: {
        // the representative has the operand's ring, which may be wider than the result
        int bits = arg(x, 0).ring.bits, from = wide(x.args[0]);
        uint64_t mask = ring::Mask(std::min(bits, int(x.attrs[0]) + std::max(1, s_.width(i))));
        if (from == w) {
          strips_.shift[w][1](operand(x.args[0], w, 0), int(x.attrs[0]), mask, n, out);
        } else {
          strips_.shift[from][1](operand(x.args[0], from, 0), int(x.attrs[0]), mask, n, f.spare[1].data());
          strips_.move[from ? 3 : 2][w ? 3 : 2](f.spare[1].data(), n, out);
        }
        break;
      }
      case Op::kLift:
      case Op::kBits:
        strips_.shift[w][1](operand(x.args[0], w, 0), 0, ring::Mask(std::min(arg(x, 0).ring.bits, x.ring.bits)), n,
                            out);
        break;
      case Op::kLow:
      case Op::kBroadcast: {
        const void* a = operand(x.args[0], w, 0);
        std::memcpy(out, a, n << (2 + w));
        break;
      }
      case Op::kBorrowAt0:
        if (w) {
          strips_.borrow0(static_cast<const uint32_t*>(operand(x.args[0], 0, 0)), int(x.attrs[0]), n,
                          reinterpret_cast<uint32_t*>(f.spare[1].data()));
          strips_.move[2][3](f.spare[1].data(), n, out);
        } else {
          strips_.borrow0(static_cast<const uint32_t*>(operand(x.args[0], 0, 0)), int(x.attrs[0]), n,
                          static_cast<uint32_t*>(out));
        }
        break;
      case Op::kBorrow: {
        auto* h = static_cast<const uint32_t*>(operand(x.args[0], 0, 0));
        size_t size = count(i), used = 0;
        std::vector<void*> planes;
        for (size_t j = 1; j < x.args.size(); ++j)
          for (int g = 0; g < GroupSize(int(j) - 1); ++g, ++used) {
            if (f.planes.size() <= used) f.planes.push_back(std::make_unique_for_overwrite<Buffer>());
            Load(x.args[j], node(x.args[j]).shape, size_t(g) * size + lo, n, w, f.planes[used]->data());
            planes.push_back(f.planes[used]->data());
          }
        strips_.borrow[w](h, planes.data(), int(x.attrs[0]), n, out);
        break;
      }
      default:
        SUF_CHECK(false);
    }
    if (ins.kept[at]) {
      const Tensor& v = values_[size_t(i)];
      strips_.move[w ? 3 : 2][Code(v.element)](out, n, const_cast<uint8_t*>(v.at(lo)));
    }
  }
}

void PackedExecutor::Group(const Instruction& ins) {
  for (size_t k = 0; k < ins.nodes.size(); ++k)
    if (ins.kept[k]) Make(ins.nodes[k]);
  pool_.For(count(ins.nodes[0]), kStrip * 2, [&](size_t a, size_t b) {
    std::unique_ptr<Frame> f = frames_.Take();
    while (int(f->registers.size()) < ins.registers) f->registers.push_back(std::make_unique_for_overwrite<Buffer>());
    for (size_t lo = a; lo < b; lo += kStrip) Strip(ins, *f, lo, std::min(kStrip, b - lo));
    frames_.Give(std::move(f));
  });
}

}  // namespace suf::backends::internal
