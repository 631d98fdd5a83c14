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

// Frame: the registers of one thread. slot[k] of the k-th node of the group; spare buffers for operands.
struct PackedExecutor::Frame {
  const std::vector<int>& slot;                   // node's position in the group -> register
  const std::vector<std::array<int, 2>>& inside;  // positions of a node's operands, -1 outside the group
  std::vector<std::unique_ptr<Buffer>> registers;
  std::vector<std::unique_ptr<Buffer>> planes;  // operands of a borrow
  Buffer spare[2];
};

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
    int p = f.inside[at][size_t(k)];
    if (p < 0) {
      const Tensor& v = values_[size_t(a)];  // words of the right width are read where they lie
      if (v.element == (w ? 8 : 4) && !v.splat && count(a) == count(ins.nodes[0])) return v.at(lo);
      Load(a, shape, lo, n, w, f.spare[k].data());
      return f.spare[k].data();
    }
    const void* r = f.registers[size_t(f.slot[size_t(p)])]->data();
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
    void* out = f.registers[size_t(f.slot[at])]->data();
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
            if (f.planes.size() <= used) f.planes.push_back(std::make_unique<Buffer>());
            Load(x.args[j], node(x.args[j]).shape, size_t(g) * size + lo, n, w, f.planes[used]->data());
            planes.push_back(f.planes[used]->data());
          }
        strips_.borrow[w](h, planes.data(), int(x.attrs[0]), n, out);
        break;
      }
      default:
        SUF_CHECK(false);
    }
    if (std::find(ins.kept.begin(), ins.kept.end(), i) != ins.kept.end()) {
      const Tensor& v = values_[size_t(i)];
      strips_.move[w ? 3 : 2][Code(v.element)](out, n, const_cast<uint8_t*>(v.at(lo)));
    }
  }
}

void PackedExecutor::Group(const Instruction& ins) {
  size_t size = count(ins.nodes[0]);
  for (int i : ins.kept) Make(i);
  // registers: a node's is free again after its last reader in the group
  std::vector<int> slot(ins.nodes.size()), idle;
  std::vector<size_t> last(ins.nodes.size());
  std::vector<std::array<int, 2>> inside(ins.nodes.size(), {-1, -1});
  for (size_t k = 0; k < ins.nodes.size(); ++k) {
    last[k] = k;
    const auto& args = node(ins.nodes[k]).args;
    for (size_t j = 0; j < std::min<size_t>(2, args.size()); ++j)
      if (auto it = std::find(ins.nodes.begin(), ins.nodes.end(), args[j]); it != ins.nodes.end()) {
        inside[k][j] = int(it - ins.nodes.begin());
        last[size_t(inside[k][j])] = k;
      }
  }
  int registers = 0;
  for (size_t k = 0; k < ins.nodes.size(); ++k) {
    if (idle.empty())
      slot[k] = registers++;
    else
      slot[k] = idle.back(), idle.pop_back();
    for (size_t j = 0; j <= k; ++j)
      if (last[j] == k) idle.push_back(slot[j]);
  }
  pool_.For(size, kStrip * 8, [&](size_t a, size_t b) {
    Frame f{slot, inside, {}, {}, {}};
    for (int r = 0; r < registers; ++r) f.registers.push_back(std::make_unique<Buffer>());
    for (size_t lo = a; lo < b; lo += kStrip) Strip(ins, f, lo, std::min(kStrip, b - lo));
    for (auto& r : f.registers) Wipe(r->data(), sizeof(Buffer));
    for (auto& p : f.planes) Wipe(p->data(), sizeof(Buffer));
    Wipe(f.spare, sizeof f.spare);
  });
}

}  // namespace suf::backends::internal
