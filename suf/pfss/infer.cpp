#include "suf/pfss/internal/infer.hpp"

#include <algorithm>

#include "suf/base/digest.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/pfss/poly.hpp"

namespace suf::pfss::internal {

Shape Elementwise(const Shape& a, const Shape& b) {
  Shape r(std::max(a.size(), b.size()));
  for (size_t i = 0; i < r.size(); ++i) {
    int64_t x = i < r.size() - a.size() ? 1 : a[i - (r.size() - a.size())],
            y = i < r.size() - b.size() ? 1 : b[i - (r.size() - b.size())];
    SUF_CHECK(x == y || x == 1 || y == 1);
    r[i] = std::max(x, y);
  }
  return r;
}

namespace {

// Tables: one-hot reads over Xor(2^w) tables.
int TableBits(const Node& t) {
  SUF_CHECK(t.ring.kind == Ring::kXor);
  int w = 0;
  while ((1 << w) < t.ring.bits) ++w;
  SUF_CHECK((1 << w) == t.ring.bits && w >= 1 && w <= 10);
  return w;
}

Shape Without(Shape s, size_t axis) {
  SUF_CHECK(axis < s.size());
  s.erase(s.begin() + int64_t(axis));
  return s;
}
Shape With(Shape s, int64_t m) {
  s.push_back(m);
  return s;
}

void InferArithmetic(const Node& a, const Node* b, Node& n) {
  switch (n.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
      SUF_CHECK(a.ring.kind == b->ring.kind);
      SUF_CHECK(a.ring.kind == Ring::kAdd || (n.op != Op::kMul && a.ring.bits == b->ring.bits));
      n.shape = Elementwise(a.shape, b->shape);
      n.ring = {a.ring.kind, std::min(a.ring.bits, b->ring.bits)};
      return;
    case Op::kMatmul: {
      SUF_CHECK(a.shape.size() >= 2 && b->shape.size() >= 2 && a.ring.kind == Ring::kAdd && b->ring.kind == Ring::kAdd);
      Shape l(a.shape.begin(), a.shape.end() - 2), r(b->shape.begin(), b->shape.end() - 2);
      int64_t bk = b->shape[b->shape.size() - 2], bn = b->shape.back();
      if (n.attrs[0]) std::swap(bk, bn);
      SUF_CHECK(a.shape.back() == bk && (l == r || r.empty()));
      n.shape = With(With(l, a.shape[a.shape.size() - 2]), bn);
      n.ring = Add(std::min(a.ring.bits, b->ring.bits));
      return;
    }
    case Op::kShl:
      SUF_CHECK(a.ring.kind == Ring::kAdd && n.attrs[0] >= 0);
      n.shape = a.shape, n.ring = Add(int(std::min<int64_t>(64, a.ring.bits + n.attrs[0])));
      return;
    case Op::kShr:
      SUF_CHECK(a.ring.kind == Ring::kAdd && n.attrs[0] >= 0 && n.attrs[0] < a.ring.bits);
      n.shape = a.shape, n.ring = Add(a.ring.bits - int(n.attrs[0]));
      return;
    case Op::kLow:
      SUF_CHECK(a.ring.kind == Ring::kAdd && n.attrs[0] >= 1 && n.attrs[0] <= a.ring.bits);
      n.shape = a.shape, n.ring = Add(int(n.attrs[0]));
      return;
    case Op::kLift:
      SUF_CHECK(a.ring.bits <= 64);
      n.shape = a.shape, n.ring = Add(64);
      return;
    case Op::kBits:
      SUF_CHECK(a.ring.kind == Ring::kAdd && n.attrs[0] >= 1 && n.attrs[0] <= 64);
      n.shape = a.shape, n.ring = Xor(int(n.attrs[0]));
      return;
    case Op::kSum:
      n.shape = Without(a.shape, size_t(n.attrs[0])), n.ring = a.ring;
      SUF_CHECK(a.ring.kind == Ring::kAdd);
      return;
    case Op::kSuffix:
      SUF_CHECK(a.ring.kind == Ring::kAdd);
      n.shape = a.shape, n.ring = a.ring;
      return;
    default:
      SUF_CHECK(false);
  }
}

void InferView(const std::vector<Node>& nodes, const Node& a, Node& n) {
  n.ring = a.ring;
  switch (n.op) {
    case Op::kReshape:
      n.shape = n.attrs;
      SUF_CHECK(Size(n.shape) == Size(a.shape));
      return;
    case Op::kPermute:
      SUF_CHECK(n.attrs.size() == a.shape.size());
      for (int64_t x : n.attrs) n.shape.push_back(a.shape.at(size_t(x)));
      SUF_CHECK(Size(n.shape) == Size(a.shape));
      return;
    case Op::kSlice: {
      n.shape = a.shape;
      int64_t &len = n.shape.at(size_t(n.attrs[0])), b = n.attrs[1], e = n.attrs[2];
      SUF_CHECK(0 <= b && b < e && e <= len);
      len = e - b;
      return;
    }
    case Op::kStack:
      n.shape = a.shape;
      for (int i : n.args)
        SUF_CHECK(nodes[i].shape == a.shape && nodes[i].ring.kind == a.ring.kind),
            n.ring.bits = std::min(n.ring.bits, nodes[i].ring.bits);
      n.shape.insert(n.shape.begin(), int64_t(n.args.size()));
      return;
    case Op::kBroadcast:
      n.shape = n.attrs;
      SUF_CHECK(Elementwise(a.shape, n.shape) == n.shape);
      return;
    default:
      SUF_CHECK(false);
  }
}

void InferTable(const std::vector<Node>& nodes, const Node& a, const Node* b, Node& n) {
  auto arg = [&](size_t i) -> const Node& { return nodes[n.args.at(i)]; };
  switch (n.op) {
    case Op::kUnit:
      n.shape = With(a.shape, n.attrs[0]), n.ring = Add(64);
      return;
    case Op::kTake:
      n.shape = Without(a.shape, a.shape.size() - 1), n.ring = a.ring;
      SUF_CHECK(n.shape == b->shape && a.ring.kind == Ring::kAdd);
      return;
    case Op::kRotSum:
      SUF_CHECK(a.shape.size() >= 2 && a.ring.kind == Ring::kAdd && Without(a.shape, a.shape.size() - 1) == b->shape);
      n.shape = Without(a.shape, a.shape.size() - 2), n.ring = a.ring;
      return;
    case Op::kHot:
      SUF_CHECK(a.ring.kind == Ring::kAdd && a.ring.bits <= 10);
      n.shape = a.shape, n.ring = Xor(1 << a.ring.bits);
      return;
    case Op::kDigits: {
      int64_t total = 0;
      SUF_CHECK(n.args.size() == n.attrs.size() + 1 && !n.attrs.empty() && n.attrs.size() <= 16 &&
                a.ring.kind == Ring::kAdd);
      for (size_t j = 0; j < n.attrs.size(); ++j)
        SUF_CHECK(TableBits(arg(j + 1)) == n.attrs[j] && arg(j + 1).shape == a.shape), total += n.attrs[j];
      SUF_CHECK(total <= a.ring.bits);
      n.shape = a.shape, n.ring = Xor(2 * int(n.attrs.size()) - 1);
      return;
    }
    case Op::kMono:
      n.shape = a.shape, n.shape.insert(n.shape.begin(), GroupSize(int(n.attrs[0]))), n.ring = Add(64);
      SUF_CHECK(a.ring.kind == Ring::kXor && 2 * n.attrs[0] < a.ring.bits);
      return;
    case Op::kMonoX:
      SUF_CHECK(a.ring.kind == Ring::kXor && n.attrs[0] >= 1 && n.attrs[0] <= 8 && 2 * n.attrs[0] < a.ring.bits);
      n.shape = a.shape, n.ring = Xor(GroupBits(int(n.attrs[0])));
      return;
    case Op::kBorrow:
      n.shape = a.shape, n.ring = Add(64);
      SUF_CHECK(int64_t(n.args.size()) == n.attrs[0] + 1 && a.ring.kind == Ring::kXor &&
                2 * n.attrs[0] - 1 <= a.ring.bits);
      for (size_t j = 1; j < n.args.size(); ++j)
        SUF_CHECK(arg(j).shape[0] == GroupSize(int(j) - 1) &&
                  Size(arg(j).shape) == GroupSize(int(j) - 1) * Size(a.shape)),
            n.ring.bits = std::min(n.ring.bits, arg(j).ring.bits);
      return;
    case Op::kBorrowAt0:
      SUF_CHECK(a.ring.kind == Ring::kXor && 2 * n.attrs[0] - 1 <= a.ring.bits);
      n.shape = a.shape, n.ring = Add(64);
      return;
    case Op::kBorrowX:
      n.shape = a.shape, n.ring = Xor(1);
      SUF_CHECK(int64_t(n.args.size()) == n.attrs[0] + 1 && b->ring == a.ring && 2 * n.attrs[0] - 1 <= a.ring.bits);
      for (size_t j = 2; j < n.args.size(); ++j)
        SUF_CHECK(arg(j).ring == Xor(GroupBits(int(j) - 1)) && arg(j).shape == a.shape);
      return;
    case Op::kPoint:
      SUF_CHECK(TableBits(a) == b->ring.bits && a.shape == b->shape);
      n.shape = a.shape, n.ring = Xor(1);
      return;
    case Op::kRotate:
      SUF_CHECK(TableBits(a) == b->ring.bits && a.shape == b->shape && n.attrs[0] >= 1 && n.attrs[0] <= a.ring.bits);
      n.shape = a.shape, n.ring = Xor(int(n.attrs[0]));
      return;
    case Op::kSelect: {
      const Node& t = arg(2);
      SUF_CHECK(TableBits(a) == b->ring.bits && a.shape == b->shape && t.op == Op::kConst && t.shape.size() == 2 &&
                t.shape[1] == a.ring.bits);
      n.shape = a.shape, n.shape.insert(n.shape.begin(), t.shape[0]), n.ring = Add(64);
      return;
    }
    case Op::kDot:
      SUF_CHECK(a.ring.kind == Ring::kXor && b->op == Op::kConst && b->shape.size() == 1 && n.attrs[0] >= 0 &&
                n.attrs[0] + b->shape[0] <= a.ring.bits);
      n.shape = a.shape, n.ring = Add(64);
      return;
    case Op::kDpfGen:
      SUF_CHECK(a.ring.kind == Ring::kAdd && a.ring.bits >= 8 && b->ring == Xor(128) && arg(2).ring == Xor(128));
      n.shape = a.shape, n.ring = Xor(int(fss::DpfKeyBits(a.ring.bits)));
      return;
    case Op::kDpfWindow:
      SUF_CHECK(a.ring == Xor(128) && b->ring == Xor(int(fss::DpfKeyBits(int(n.attrs[1])))) &&
                arg(2).ring.bits == n.attrs[1] && a.shape == arg(2).shape);
      n.shape = a.shape, n.ring = Xor(int(n.attrs[2]));
      return;
    default:
      SUF_CHECK(false);
  }
}

}  // namespace

void Infer(const std::vector<Node>& nodes, Node& n) {
  const Node& a = nodes[n.args.at(0)];
  const Node* b = n.args.size() > 1 ? &nodes[n.args[1]] : nullptr;
  if (n.op <= Op::kSuffix) return InferArithmetic(a, b, n);
  if (n.op >= Op::kReshape && n.op <= Op::kBroadcast) return InferView(nodes, a, n);
  InferTable(nodes, a, b, n);
}

}  // namespace suf::pfss::internal
