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

// The most bits of a string that one read makes: its thresholds or places.
constexpr int64_t kMostBits = 65536;
// The most ticks of one wait.
constexpr int64_t kMostTicks = 16;

// Returns w of a one-hot table in Xor(2^w).
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

using Args = std::span<const Node* const>;

bool Adds(const Node& a) { return a.ring.kind == Ring::kAdd; }
bool Strings(const Node& a) { return a.ring.kind == Ring::kXor; }
// Returns the number of pairs j <= i of m rows.
int64_t Pairs(int64_t m) {
  SUF_CHECK(m >= 1 && m < int64_t{1} << 31);
  return m * (m + 1) / 2;
}
void Like(const Node& a, Ring ring, Node& n) {
  n.shape = a.shape;
  n.ring = ring;
}
// Checks an index into a one-hot table, for every element.
void CheckIndex(const Node& table, const Node& index) {
  SUF_CHECK(TableBits(table) == index.ring.bits && table.shape == index.shape);
}

void Elements(Args a, Node& n) {  // add, sub, mul
  SUF_CHECK(a[0]->ring.kind == a[1]->ring.kind);
  SUF_CHECK(Adds(*a[0]) || (n.op != Op::kMul && a[0]->ring.bits == a[1]->ring.bits));
  n.shape = Elementwise(a[0]->shape, a[1]->shape);
  n.ring = {a[0]->ring.kind, std::min(a[0]->ring.bits, a[1]->ring.bits)};
}

void Product(Args a, Node& n) {
  const Shape &x = a[0]->shape, &y = a[1]->shape;
  SUF_CHECK(x.size() >= 2 && y.size() >= 2 && Adds(*a[0]) && Adds(*a[1]));
  Shape l(x.begin(), x.end() - 2), r(y.begin(), y.end() - 2);
  int64_t rows = y[y.size() - 2], columns = y.back();
  if (n.attrs[0]) std::swap(rows, columns);
  SUF_CHECK(x.back() == rows && (l == r || r.empty()));
  n.shape = With(With(l, x[x.size() - 2]), columns);
  n.ring = Add(std::min(a[0]->ring.bits, a[1]->ring.bits));
}

void Left(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && n.attrs[0] >= 0);
  Like(*a[0], Add(int(std::min<int64_t>(64, a[0]->ring.bits + n.attrs[0]))), n);
}
void Right(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && n.attrs[0] >= 0 && n.attrs[0] < a[0]->ring.bits);
  Like(*a[0], Add(a[0]->ring.bits - int(n.attrs[0])), n);
}
void Narrow(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && n.attrs[0] >= 1 && n.attrs[0] <= a[0]->ring.bits);
  Like(*a[0], Add(int(n.attrs[0])), n);
}
void AsInt(Args a, Node& n) {
  SUF_CHECK(a[0]->ring.bits <= 64);
  Like(*a[0], Add(64), n);
}
void AsBits(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && n.attrs[0] >= 1 && n.attrs[0] <= 64);
  Like(*a[0], Xor(int(n.attrs[0])), n);
}

void Total(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]));
  n.shape = Without(a[0]->shape, size_t(n.attrs[0]));
  n.ring = a[0]->ring;
}
void Totals(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]));
  Like(*a[0], a[0]->ring, n);
}
void At(Args a, Node& n) {
  n.shape = Without(a[0]->shape, a[0]->shape.size() - 1);
  n.ring = a[0]->ring;
  SUF_CHECK(n.shape == a[1]->shape && Adds(*a[0]));
}
void Rotated(Args a, Node& n) {
  const Shape& u = a[0]->shape;
  SUF_CHECK(u.size() >= 2 && Adds(*a[0]) && Without(u, u.size() - 1) == a[1]->shape);
  n.shape = Without(u, u.size() - 2);
  n.ring = a[0]->ring;
  if (n.attrs.empty()) return;
  SUF_CHECK(n.attrs.size() == 1 && u[u.size() - 2] == Pairs(n.attrs[0]));
  n.shape.insert(n.shape.end() - 1, n.attrs[0]);
}

void Reshaped(Args a, Node& n) {
  n.shape = n.attrs;
  n.ring = a[0]->ring;
  SUF_CHECK(Size(n.shape) == Size(a[0]->shape));
}
void Permuted(Args a, Node& n) {
  SUF_CHECK(n.attrs.size() == a[0]->shape.size());
  for (int64_t x : n.attrs) n.shape.push_back(a[0]->shape.at(size_t(x)));
  SUF_CHECK(Size(n.shape) == Size(a[0]->shape));
  n.ring = a[0]->ring;
}
void Part(Args a, Node& n) {
  Like(*a[0], a[0]->ring, n);
  int64_t &len = n.shape.at(size_t(n.attrs[0])), b = n.attrs[1], e = n.attrs[2];
  SUF_CHECK(0 <= b && b < e && e <= len);
  len = e - b;
}
void Stacked(Args a, Node& n) {
  Like(*a[0], a[0]->ring, n);
  for (const Node* x : a) {
    SUF_CHECK(x->shape == a[0]->shape && x->ring.kind == a[0]->ring.kind);
    n.ring.bits = std::min(n.ring.bits, x->ring.bits);
  }
  n.shape.insert(n.shape.begin(), int64_t(a.size()));
}
void Joined(Args a, Node& n) {
  Stacked({a.data(), 1}, n);
  n.shape.erase(n.shape.begin());
  const size_t axis = size_t(n.attrs[0]);
  SUF_CHECK(n.attrs[0] >= 0 && axis < n.shape.size());
  n.shape[axis] = 0;
  for (const Node* x : a) {
    SUF_CHECK(x->shape.size() == n.shape.size() && Without(x->shape, axis) == Without(n.shape, axis));
    SUF_CHECK(x->ring.kind == n.ring.kind && (Adds(*x) || x->ring == n.ring));
    n.shape[axis] += x->shape[axis];
    n.ring.bits = std::min(n.ring.bits, x->ring.bits);
  }
}
void Later(Args a, Node& n) {
  SUF_CHECK(n.attrs[0] >= 1 && n.attrs[0] <= kMostTicks);
  Like(*a[0], a[0]->ring, n);
}
void Spread(Args a, Node& n) {
  n.shape = n.attrs;
  n.ring = a[0]->ring;
  SUF_CHECK(Elementwise(a[0]->shape, n.shape) == n.shape);
}
void Packed(Args a, Node& n) {
  const Shape& s = a[0]->shape;
  SUF_CHECK(s.size() >= 2 && s.back() == s[s.size() - 2]);
  int64_t m = s.back();
  n.shape = With(Without(Without(s, s.size() - 1), s.size() - 2), Pairs(m));
  n.ring = a[0]->ring;
}
void Unpacked(Args a, Node& n) {
  const Shape& s = a[0]->shape;
  int64_t m = n.attrs[0];
  SUF_CHECK(!s.empty() && s.back() == Pairs(m));
  n.shape = With(With(Without(s, s.size() - 1), m), m);
  n.ring = a[0]->ring;
}

void Units(Args a, Node& n) {
  n.shape = With(a[0]->shape, n.attrs[0]);
  n.ring = Add(64);
}
void OneHot(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && a[0]->ring.bits <= 10);
  Like(*a[0], Xor(1 << a[0]->ring.bits), n);
}
void Compared(Args a, Node& n) {
  int64_t total = 0;
  SUF_CHECK(a.size() == n.attrs.size() + 1 && !n.attrs.empty() && n.attrs.size() <= 16 && Adds(*a[0]));
  for (size_t j = 0; j < n.attrs.size(); ++j) {
    SUF_CHECK(TableBits(*a[j + 1]) == n.attrs[j] && a[j + 1]->shape == a[0]->shape);
    total += n.attrs[j];
  }
  SUF_CHECK(total <= a[0]->ring.bits);
  Like(*a[0], Xor(2 * int(n.attrs.size()) - 1), n);
}
void Monomials(Args a, Node& n) {
  SUF_CHECK(Strings(*a[0]) && 2 * n.attrs[0] < a[0]->ring.bits);
  n.shape = a[0]->shape;
  n.shape.insert(n.shape.begin(), GroupSize(int(n.attrs[0])));
  n.ring = Add(64);
}
void MonomialBits(Args a, Node& n) {
  SUF_CHECK(Strings(*a[0]) && n.attrs[0] >= 1 && n.attrs[0] < kMostDigitsX && 2 * n.attrs[0] < a[0]->ring.bits);
  Like(*a[0], Xor(GroupBits(int(n.attrs[0]))), n);
}
void Borrowed(Args a, Node& n) {
  Like(*a[0], Add(64), n);
  SUF_CHECK(int64_t(a.size()) == n.attrs[0] + 1 && Strings(*a[0]) && 2 * n.attrs[0] - 1 <= a[0]->ring.bits);
  SUF_CHECK(n.attrs[0] <= kMostDigitsA);
  for (size_t j = 1; j < a.size(); ++j) {
    SUF_CHECK(a[j]->shape[0] == GroupSize(int(j) - 1) &&
              Size(a[j]->shape) == GroupSize(int(j) - 1) * Size(a[0]->shape));
    n.ring.bits = std::min(n.ring.bits, a[j]->ring.bits);
  }
}
void BorrowedAt0(Args a, Node& n) {
  SUF_CHECK(Strings(*a[0]) && 2 * n.attrs[0] - 1 <= a[0]->ring.bits);
  Like(*a[0], Add(64), n);
}
void BorrowedBit(Args a, Node& n) {
  SUF_CHECK(int64_t(a.size()) == n.attrs[0] + 1 && a[1]->ring == a[0]->ring && 2 * n.attrs[0] - 1 <= a[0]->ring.bits);
  for (size_t j = 2; j < a.size(); ++j)
    SUF_CHECK(a[j]->ring == Xor(GroupBits(int(j) - 1)) && a[j]->shape == a[0]->shape);
  Like(*a[0], Xor(1), n);
}
void Bit(Args a, Node& n) {
  CheckIndex(*a[0], *a[1]);
  Like(*a[0], Xor(1), n);
}
void Window(Args a, Node& n) {
  CheckIndex(*a[0], *a[1]);
  SUF_CHECK(n.attrs[0] >= 1 && n.attrs[0] <= a[0]->ring.bits);
  Like(*a[0], Xor(int(n.attrs[0])), n);
}
void Selected(Args a, Node& n) {
  const Node& t = *a[2];
  CheckIndex(*a[0], *a[1]);
  SUF_CHECK(t.op == Op::kConst && t.shape.size() == 2 && t.shape[1] == a[0]->ring.bits);
  n.shape = a[0]->shape;
  n.shape.insert(n.shape.begin(), t.shape[0]);
  n.ring = Add(64);
}
void Inner(Args a, Node& n) {
  SUF_CHECK(Strings(*a[0]) && a[1]->op == Op::kConst && a[1]->shape.size() == 1 && n.attrs[0] >= 0 &&
            n.attrs[0] + a[1]->shape[0] <= a[0]->ring.bits);
  Like(*a[0], Add(64), n);
}
void TreeKey(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && a[0]->ring.bits >= 8 && a[1]->ring == Xor(128) && a[2]->ring == Xor(128));
  Like(*a[0], Xor(int(fss::DpfKeyBits(a[0]->ring.bits))), n);
}
void CheckTree(Args a, int64_t bits) {
  SUF_CHECK(a[0]->ring == Xor(128) && bits >= 8 && bits <= 64 && a[1]->ring == Xor(int(fss::DpfKeyBits(int(bits)))) &&
            Adds(*a[2]) && a[0]->shape == a[2]->shape && a[1]->shape == a[2]->shape);
}
void TreeWindow(Args a, Node& n) {
  CheckTree(a, n.attrs[1]);
  const int64_t bits = n.attrs[1], m = n.attrs[2], w = n.attrs[4];
  SUF_CHECK(w >= 0 && w < bits && a[2]->ring.bits == bits - w && m >= 1 && m <= kMostBits &&
            (bits - w > 30 || m <= int64_t{1} << (bits - w)));
  Like(*a[0], Xor(int(m)), n);
}
void TreeParity(Args a, Node& n) {
  SUF_CHECK(n.attrs.size() > 3 && n.attrs.size() <= 3 + kMostBits);
  CheckTree(a, n.attrs[1]);
  SUF_CHECK(a[2]->ring.bits == n.attrs[1]);
  Like(*a[0], Xor(int(n.attrs.size()) - 3), n);
}
void TreeDense(Args a, Node& n) {
  CheckTree(a, n.attrs[1]);
  SUF_CHECK(n.attrs[1] <= 16 && a[2]->ring.bits == n.attrs[1] && a[3]->op == Op::kConst && a[3]->shape.size() == 1 &&
            a[3]->shape[0] == int64_t{1} << n.attrs[1] && n.attrs[3] >= 1 && n.attrs[3] <= 64);
  Like(*a[0], Xor(int(n.attrs[3])), n);
}
void CheckForm(DcfForm f) {
  SUF_CHECK(f.bits >= 1 && f.bits <= 64 && (f.scheme == fss::DcfScheme::kSuf || f.scheme == fss::DcfScheme::kMyl7));
}
// Returns the bits of a comparison's number x, which is one word or two halves (2, ..).
int NumberBits(const Node& x, const Shape& shape) {
  if (x.shape == shape) return x.ring.bits;
  SUF_CHECK(!x.shape.empty() && x.shape[0] == 2 && Without(x.shape, 0) == shape);
  return 2 * x.ring.bits;
}
void ComparisonKey(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && Adds(*a[1]) && !a[1]->shape.empty());
  const Shape shape = Without(a[1]->shape, 0);
  const int bits = NumberBits(*a[0], shape);
  const int words = int(a[1]->shape[0]);
  const DcfForm f = FormOf(n.attrs[1]);
  CheckForm(f);
  SUF_CHECK(f.bits <= a[1]->ring.bits);
  for (size_t p : {2, 3}) SUF_CHECK(a[p]->ring == Xor(fss::DcfRootBits(words, f.scheme)) && a[p]->shape == shape);
  Like(*a[2], Xor(int(fss::DcfKeyBits(bits, words, f.bits, f.scheme))), n);
}
void PayloadShares(Args a, Node& n) {
  const int64_t bits = n.attrs[1], c = n.attrs[2], number = a[2]->shape == a[0]->shape ? 1 : 2;
  const int64_t m = (int64_t(n.attrs.size()) - 5) / number;
  SUF_CHECK(m >= 1 && m <= kMostBits && int64_t(n.attrs.size()) == 5 + m * number);
  const DcfForm f = FormOf(n.attrs[3]);
  CheckForm(f);
  SUF_CHECK(c >= 1 && a[0]->ring == Xor(fss::DcfRootBits(int(c), f.scheme)) && Adds(*a[2]) &&
            NumberBits(*a[2], a[0]->shape) == bits &&
            a[1]->ring == Xor(int(fss::DcfKeyBits(int(bits), int(c), f.bits, f.scheme))) && a[1]->shape == a[0]->shape);
  n.shape = a[0]->shape;
  n.ring = Add(f.bits);
  n.shape.insert(n.shape.begin(), m);
  n.shape.insert(n.shape.begin(), c);
}

void Below(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && !n.attrs.empty() && n.attrs.size() <= kMostBits);
  Like(*a[0], Xor(int(n.attrs.size())), n);
}
void Apart(Args a, Node& n) {
  SUF_CHECK(Strings(*a[0]));
  n.shape = a[0]->shape;
  n.shape.insert(n.shape.begin(), a[0]->ring.bits);
  n.ring = Add(1);
}
void Mixed(Args a, Node& n) {
  SUF_CHECK(Strings(*a[0]) && a[1]->op == Op::kConst && a[1]->shape.size() == 2 &&
            a[1]->shape[1] == (a[0]->ring.bits + 63) / 64 && a[1]->shape[0] >= 1 && a[1]->shape[0] <= kMostBits);
  Like(*a[0], Xor(int(a[1]->shape[0])), n);
}
void Above(Args a, Node& n) {
  CheckIndex(*a[0], *a[1]);
  SUF_CHECK(Adds(*a[1]) && !n.attrs.empty() && n.attrs.size() <= kMostBits);
  Like(*a[0], Xor(int(n.attrs.size())), n);
}
void SelectedX(Args a, Node& n) {
  SUF_CHECK(Strings(*a[1]));
  Selected(a, n);
}
void Turned(Args a, Node& n) {
  SUF_CHECK(Adds(*a[0]) && a[0]->ring.bits <= 16 && a[1]->op == Op::kConst && a[1]->shape.size() == 1 &&
            a[1]->shape[0] == int64_t{1} << a[0]->ring.bits);
  n.shape = With(a[0]->shape, a[1]->shape[0]);
  n.ring = Add(64);
}
void DenseBits(Args a, Node& n) {
  CheckIndex(*a[0], *a[1]);
  SUF_CHECK(a[2]->op == Op::kConst && a[2]->shape.size() == 1 && a[2]->shape[0] == a[0]->ring.bits && n.attrs[0] >= 1 &&
            n.attrs[0] <= 64);
  Like(*a[0], Xor(int(n.attrs[0])), n);
}

using C = OpClass;
using W = WidthRule;
// Names enter DagDigest, so an operation keeps its name even if its enumerator is renamed.
constexpr OpInfo kOps[] = {
    {Op::kConst, "const", C::kGiven, 0, 0, nullptr, W::kWhole},
    {Op::kInput, "input", C::kGiven, 0, 1, nullptr, W::kWhole},
    {Op::kRand, "rand", C::kWords, 0, 2, nullptr, W::kWhole},
    {Op::kTell, "tell", C::kMessage, 1, 2, nullptr, W::kSame},
    {Op::kSend, "send", C::kMessage, 1, 1, nullptr, W::kSame},
    {Op::kAdd, "add", C::kElementwise, 2, 0, Elements, W::kSame},
    {Op::kSub, "sub", C::kElementwise, 2, 0, Elements, W::kSame},
    {Op::kMul, "mul", C::kElementwise, 2, 0, Elements, W::kSame},
    {Op::kMatmul, "matmul", C::kAxes, 2, 1, Product, W::kSame},
    {Op::kShl, "shl", C::kElementwise, 1, 1, Left, W::kShl},
    {Op::kShr, "shr", C::kElementwise, 1, 1, Right, W::kShr},
    {Op::kLow, "low", C::kElementwise, 1, 1, Narrow, W::kSame},
    {Op::kLift, "lift", C::kElementwise, 1, 0, AsInt, W::kWhole},
    {Op::kBits, "bits", C::kElementwise, 1, 1, AsBits, W::kRing},
    {Op::kSum, "sum", C::kAxes, 1, 1, Total, W::kSame},
    {Op::kSuffix, "suffix", C::kAxes, 1, 0, Totals, W::kSame},
    {Op::kUnit, "unit", C::kRows, 1, 1, Units, W::kWhole},
    {Op::kTake, "take", C::kAxes, 2, 0, At, W::kFirst},
    {Op::kRotSum, "rotsum", C::kAxes, 2, -1, Rotated, W::kFirst},
    {Op::kReshape, "reshape", C::kView, 1, -1, Reshaped, W::kSame},
    {Op::kPermute, "permute", C::kView, 1, -1, Permuted, W::kSame},
    {Op::kBetween, "slice", C::kView, 1, 3, Part, W::kSame},
    {Op::kStack, "stack", C::kView, -1, 0, Stacked, W::kSame},
    {Op::kBroadcast, "broadcast", C::kElementwise, 1, -1, Spread, W::kSame},
    {Op::kHot, "hot", C::kRows, 1, 0, OneHot, W::kWhole},
    {Op::kDigits, "digits", C::kRows, -1, -1, Compared, W::kWhole},
    {Op::kMono, "mono", C::kRows, 1, 1, Monomials, W::kWhole},
    {Op::kBorrowA, "borrow", C::kRows, -1, 1, Borrowed, W::kRest},
    {Op::kBorrowAt0, "borrow0", C::kRows, 1, 1, BorrowedAt0, W::kWhole},
    {Op::kMonoX, "monox", C::kRows, 1, 1, MonomialBits, W::kWhole},
    {Op::kBorrowX, "borrowx", C::kRows, -1, 1, BorrowedBit, W::kWhole},
    {Op::kPoint, "point", C::kRows, 2, 0, Bit, W::kWhole},
    {Op::kRotate, "rotate", C::kRows, 2, 1, Window, W::kWhole},
    {Op::kSelect, "select", C::kRows, 3, 0, Selected, W::kWhole},
    {Op::kDot, "dot", C::kRows, 2, 1, Inner, W::kWhole},
    {Op::kDpfGen, "dpfgen", C::kTree, 3, 1, TreeKey, W::kWhole},
    {Op::kDpfWindow, "dpfwindow", C::kTree, 3, 5, TreeWindow, W::kWhole},
    {Op::kPack, "pack", C::kView, 1, 0, Packed, W::kSame},
    {Op::kUnpack, "unpack", C::kView, 1, 1, Unpacked, W::kSame},
    {Op::kLess, "less", C::kRows, 1, -1, Below, W::kWhole},
    {Op::kUnbits, "unbits", C::kRows, 1, 0, Apart, W::kWhole},
    {Op::kMix, "mix", C::kRows, 2, 0, Mixed, W::kWhole},
    {Op::kAbove, "above", C::kRows, 2, -1, Above, W::kWhole},
    {Op::kSelectX, "selectx", C::kRows, 3, 0, SelectedX, W::kWhole},
    {Op::kTurn, "turn", C::kAxes, 2, 0, Turned, W::kWhole},
    {Op::kDense, "dense", C::kRows, 3, 1, DenseBits, W::kWhole},
    {Op::kDpfParity, "dpfparity", C::kTree, 3, -1, TreeParity, W::kWhole},
    {Op::kDpfDense, "dpfdense", C::kTree, 4, 4, TreeDense, W::kWhole},
    {Op::kDcfGen, "dcfgen", C::kTree, 4, 2, ComparisonKey, W::kWhole},
    {Op::kDcfEval, "dcfeval", C::kTree, 3, -1, PayloadShares, W::kWhole},
    {Op::kConcat, "concat", C::kView, -1, 1, Joined, W::kSame},
    {Op::kWait, "wait", C::kView, 1, 1, Later, W::kSame},
};
// Returns whether row i is operation i, and the last row is the last enumerator.
constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kOps); ++i)
    if (size_t(kOps[i].op) != i) return false;
  return std::size(kOps) == size_t(Op::kWait) + 1;
}
static_assert(InOrder());

}  // namespace

void Infer(const NodeList& nodes, Node& n) {
  std::vector<const Node*> args;
  for (int a : n.args) args.push_back(&nodes[size_t(a)]);
  Info(n.op).shape(args, n);
}

}  // namespace suf::pfss::internal

namespace suf::pfss {

std::span<const OpInfo> Ops() { return internal::kOps; }
const OpInfo& Info(Op op) { return internal::kOps[size_t(op)]; }

}  // namespace suf::pfss
