// Typed emission of pure functions. Val<A> op Val<B> is a Val<A & B>; an empty intersection does not compile. Integers
// stand for constants. Linear functions also apply to shares, dealt values and wires. Op documents each function.
// Write one emitting call per statement. C++ may evaluate arguments in any order, and node numbers enter the digest.
#pragma once
#include <span>

#include "suf/pfss/trace.hpp"

namespace suf::pfss {

namespace internal {
template <unsigned K>
Val<K> Emit(Trace& t, Op op, std::vector<int> args, std::vector<int64_t> attrs = {}) {
  return {&t, t.fn(op, std::move(args), std::move(attrs))};
}
}  // namespace internal

// ---- arithmetic on values
#define SUF_PFSS_BINARY(sym, op)                                                                      \
  template <unsigned A, unsigned B>                                                                   \
  requires((A & B) != 0) Val<A & B>                                                                   \
  operator sym(Val<A> a, Val<B> b) { return internal::Emit<A & B>(a.trace(), op, {a.id(), b.id()}); } \
  template <unsigned A>                                                                               \
  Val<A> operator sym(Val<A> a, int64_t b) {                                                          \
    return internal::Emit<A>(a.trace(), op, {a.id(), a.trace().constant(b).id()});                    \
  }                                                                                                   \
  template <unsigned A>                                                                               \
  Val<A> operator sym(int64_t a, Val<A> b) {                                                          \
    return internal::Emit<A>(b.trace(), op, {b.trace().constant(a).id(), b.id()});                    \
  }
SUF_PFSS_BINARY(+, Op::kAdd)
SUF_PFSS_BINARY(-, Op::kSub)
SUF_PFSS_BINARY(*, Op::kMul)
#undef SUF_PFSS_BINARY

template <unsigned A>
Val<A> operator-(Val<A> a) {
  return 0 - a;
}
// Returns a 2^s, in a ring that grows by s bits up to 64.
template <unsigned A>
Val<A> operator<<(Val<A> a, int s) {
  return internal::Emit<A>(a.trace(), Op::kShl, {a.id()}, {s});
}
// Returns the representative in [0, 2^k) shifted down by s bits.
template <unsigned A>
Val<A> operator>>(Val<A> a, int s) {
  return internal::Emit<A>(a.trace(), Op::kShr, {a.id()}, {s});
}
// Returns the value modulo 2^k; the value itself if its ring is not larger.
template <unsigned A>
Val<A> Low(Val<A> a, int k) {
  return internal::Emit<A>(a.trace(), Op::kLow, {a.id()}, {k});
}
// Returns the representative in [0, 2^k), or a bit string, as an int.
template <unsigned A>
Val<A> Lift(Val<A> a) {
  return internal::Emit<A>(a.trace(), Op::kLift, {a.id()});
}
template <unsigned A>
Val<A> Bits(Val<A> a, int k) {
  return internal::Emit<A>(a.trace(), Op::kBits, {a.id()}, {k});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Matmul(Val<A> a, Val<B> b, bool transpose_b = false) {
  return internal::Emit<A & B>(a.trace(), Op::kMatmul, {a.id(), b.id()}, {transpose_b});
}

// ---- linear functions of one value; Map applies them to shares and wires
template <unsigned A>
Val<A> Sum(Val<A> a, int axis = -1) {
  return internal::Emit<A>(a.trace(), Op::kSum, {a.id()}, {axis});
}
template <unsigned A>
Val<A> Suffix(Val<A> a) {
  return internal::Emit<A>(a.trace(), Op::kSuffix, {a.id()});
}
template <unsigned A>
Val<A> Reshape(Val<A> a, Shape s) {
  return internal::Emit<A>(a.trace(), Op::kReshape, {a.id()}, std::move(s));
}
template <unsigned A>
Val<A> Permute(Val<A> a, Shape axes) {
  return internal::Emit<A>(a.trace(), Op::kPermute, {a.id()}, std::move(axes));
}
// Returns indices begin .. end-1 of one axis. Negative axes count from the end.
template <unsigned A>
Val<A> Between(Val<A> a, int axis, int64_t begin, int64_t end) {
  return internal::Emit<A>(a.trace(), Op::kBetween, {a.id()}, {axis, begin, end});
}
template <unsigned A>
Val<A> Broadcast(Val<A> a, Shape s) {
  return internal::Emit<A>(a.trace(), Op::kBroadcast, {a.id()}, std::move(s));
}
// Returns index i of the first axis, which disappears.
template <unsigned A>
Val<A> At(Val<A> a, int64_t i) {
  Shape s(a.shape().begin() + 1, a.shape().end());
  return Reshape(Between(a, 0, i, i + 1), s);
}
// Adds a last axis of length one.
template <unsigned A>
Val<A> Column(Val<A> a) {
  Shape s = a.shape();
  s.push_back(1);
  return Reshape(a, s);
}
template <unsigned A>
Val<A> Stack(const std::vector<Val<A>>& v) {
  std::vector<int> ids;
  for (auto& x : v) ids.push_back(x.id());
  return internal::Emit<A>(v[0].trace(), Op::kStack, ids);
}

// Joins tensors along an axis.
template <unsigned A>
Val<A> Concat(const std::vector<Val<A>>& v, int axis) {
  std::vector<int> ids;
  for (auto& x : v) ids.push_back(x.id());
  return internal::Emit<A>(v[0].trace(), Op::kConcat, ids, {axis});
}
// Returns the value, which a party has `ticks` ticks later.
template <unsigned A>
Val<A> Wait(Val<A> a, int ticks) {
  return internal::Emit<A>(a.trace(), Op::kWait, {a.id()}, {ticks});
}

// Returns the pairs j <= i of (.., n, n), row by row: (.., n(n+1)/2).
template <unsigned A>
Val<A> Pack(Val<A> a) {
  return internal::Emit<A>(a.trace(), Op::kPack, {a.id()});
}
// Reverses Pack, with zeros at j > i.
template <unsigned A>
Val<A> Unpack(Val<A> a, int64_t n) {
  return internal::Emit<A>(a.trace(), Op::kUnpack, {a.id()}, {n});
}

// ---- tables; A is the table's knowers
template <unsigned A>
Val<A> Unit(Val<A> a, int64_t m) {
  return internal::Emit<A>(a.trace(), Op::kUnit, {a.id()}, {m});
}
template <unsigned A>
Val<A> Hot(Val<A> a) {
  return internal::Emit<A>(a.trace(), Op::kHot, {a.id()});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Take(Val<A> a, Val<B> i) {
  return internal::Emit<A & B>(a.trace(), Op::kTake, {a.id(), i.id()});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> RotSum(Val<A> a, Val<B> i) {
  return internal::Emit<A & B>(a.trace(), Op::kRotSum, {a.id(), i.id()});
}
// Returns a sum for each of `rows` rows of packed pairs.
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> RotSum(Val<A> a, Val<B> i, int64_t rows) {
  return internal::Emit<A & B>(a.trace(), Op::kRotSum, {a.id(), i.id()}, {rows});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Point(Val<A> table, Val<B> i) {
  return internal::Emit<A & B>(table.trace(), Op::kPoint, {table.id(), i.id()});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Rotate(Val<A> table, Val<B> lo, int m) {
  return internal::Emit<A & B>(table.trace(), Op::kRotate, {table.id(), lo.id()}, {m});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Select(Val<A> table, Val<B> i, Const tables) {
  return internal::Emit<A & B>(table.trace(), Op::kSelect, {table.id(), i.id(), tables.id()});
}
template <unsigned A>
Val<A> Dot(Val<A> bits, Const table, int first) {
  return internal::Emit<A>(bits.trace(), Op::kDot, {bits.id(), table.id()}, {first});
}

// Returns a string with bit j = 1[x < b_j].
template <unsigned A>
Val<A> Less(Val<A> x, const std::vector<uint64_t>& thresholds) {
  return internal::Emit<A>(x.trace(), Op::kLess, {x.id()}, {thresholds.begin(), thresholds.end()});
}
// Splits a string into single bits in Z_2. Linear over XOR.
template <unsigned A>
Val<A> Unbits(Val<A> bits) {
  return internal::Emit<A>(bits.trace(), Op::kUnbits, {bits.id()});
}
// Returns a string whose bit i is the parity of the bits that row i of `masks` selects. Linear over XOR.
template <unsigned A>
Val<A> Mix(Val<A> bits, Const masks) {
  return internal::Emit<A>(bits.trace(), Op::kMix, {bits.id(), masks.id()});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Above(Val<A> table, Val<B> x, const std::vector<uint64_t>& thresholds) {
  return internal::Emit<A & B>(table.trace(), Op::kAbove, {table.id(), x.id()}, {thresholds.begin(), thresholds.end()});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> SelectX(Val<A> table, Val<B> i, Const tables) {
  return internal::Emit<A & B>(table.trace(), Op::kSelectX, {table.id(), i.id(), tables.id()});
}
template <unsigned A>
Val<A> Turn(Val<A> r, Const table) {
  return internal::Emit<A>(r.trace(), Op::kTurn, {r.id(), table.id()});
}
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Dense(Val<A> hot, Val<B> x, Const table, int bits) {
  return internal::Emit<A & B>(hot.trace(), Op::kDense, {hot.id(), x.id(), table.id()}, {bits});
}

// ---- the borrow polynomial c = sum_j lt_j prod_{i>j} eq_i in bits t = h xor rho
template <unsigned A, unsigned B>
requires((A & B) != 0) Val<A & B> Digits(Val<A> z, const std::vector<Val<B>>& tables, const Shape& widths) {
  std::vector<int> args{z.id()};
  for (auto& t : tables) args.push_back(t.id());
  return internal::Emit<A & B>(z.trace(), Op::kDigits, args, widths);
}
inline Sec Mono(Sec rho, int group) { return internal::Emit<kDealer>(rho.trace(), Op::kMono, {rho.id()}, {group}); }
inline Sec MonoX(Sec rho, int group) { return internal::Emit<kDealer>(rho.trace(), Op::kMonoX, {rho.id()}, {group}); }
// Evaluates the polynomial of the first D = words.size() digits. words[j] is group j, of shape (G_j, ..).
template <unsigned A>
requires((A & kPub) != 0) Val<A & kPub> BorrowA(Pub h, const std::vector<Val<A>>& words) {
  std::vector<int> args{h.id()};
  for (auto& w : words) args.push_back(w.id());
  return internal::Emit<A & kPub>(h.trace(), Op::kBorrowA, args, {int64_t(words.size())});
}
inline Pub BorrowAt0(Pub h, int digits) { return internal::Emit<kPub>(h.trace(), Op::kBorrowAt0, {h.id()}, {digits}); }
// Evaluates the polynomial of D = groups.size() + 1 digits on XOR shares. groups[j - 1] is group j.
template <unsigned A>
requires((A & kPub) != 0) Val<A & kPub> BorrowX(Pub h, Val<A> rho, const std::vector<Val<A>>& groups) {
  std::vector<int> args{h.id(), rho.id()};
  for (auto& g : groups) args.push_back(g.id());
  return internal::Emit<A & kPub>(h.trace(), Op::kBorrowX, args, {int64_t(groups.size()) + 1});
}

// ---- shares
// Applies f to both shares. The caller promises that f is linear.
template <class F>
Sh Map(const Sh& x, F f) {
  auto a = f(x.a);
  auto b = f(x.b);
  return {a, b};
}
// Narrows shares to 2^k. Throws Bug if k exceeds their ring, because a share cannot be lifted.
inline Sh Low(const Sh& x, int k) {
  SUF_CHECK(k <= x.bits());
  return Map(x, [&](auto v) { return Low(v, k); });
}
inline Sh operator+(const Sh& x, const Sh& y) {
  auto a = x.a + y.a;
  auto b = x.b + y.b;
  return {a, b};
}
inline Sh operator-(const Sh& x, const Sh& y) {
  auto a = x.a - y.a;
  auto b = x.b - y.b;
  return {a, b};
}
inline Sh operator-(const Sh& x) {
  return Map(x, [](auto v) { return -v; });
}
// P0 adds a public value, which broadcasts to the shape of the shares.
inline Sh operator+(const Sh& x, Pub y) { return {x.a + y, x.b}; }
inline Sh operator-(const Sh& x, Pub y) { return {x.a - y, x.b}; }
inline Sh operator+(const Sh& x, int64_t y) { return {x.a + y, x.b}; }
inline Sh operator-(const Sh& x, int64_t y) { return {x.a - y, x.b}; }
inline Sh operator*(const Sh& x, Pub y) {
  return Map(x, [&](auto v) { return v * y; });
}
inline Sh operator*(const Sh& x, int64_t y) {
  return Map(x, [&](auto v) { return v * y; });
}
inline Sh operator<<(const Sh& x, int s) {
  return Map(x, [&](auto v) { return v << s; });
}
inline Sh Sum(const Sh& x, int axis = -1) {
  return Map(x, [&](auto v) { return Sum(v, axis); });
}
inline Sh Suffix(const Sh& x) {
  return Map(x, [&](auto v) { return Suffix(v); });
}
inline Sh Reshape(const Sh& x, const Shape& s) {
  return Map(x, [&](auto v) { return Reshape(v, s); });
}
inline Sh Between(const Sh& x, int axis, int64_t b, int64_t e) {
  return Map(x, [&](auto v) { return Between(v, axis, b, e); });
}
inline Sh Pack(const Sh& x) {
  return Map(x, [](auto v) { return Pack(v); });
}
inline Sh Unpack(const Sh& x, int64_t n) {
  return Map(x, [&](auto v) { return Unpack(v, n); });
}
inline Sh At(const Sh& x, int64_t i) {
  return Map(x, [&](auto v) { return At(v, i); });
}
inline Sh Column(const Sh& x) {
  return Map(x, [&](auto v) { return Column(v); });
}
// Turns XOR shares of one-hot bits into additive shares of +-1 at the same place. The function f turns bits into ints;
// P1 negates them.
template <class F>
Sh ToAdditive(const Sh& x, F f) {
  auto a = f(x.a);
  auto b = f(x.b);
  return {a, -b};
}

// ---- wires: Map applies a linear f to hat, r and both shares of r
template <unsigned H, class F>
Wire<H> Map(const Wire<H>& w, F f) {
  auto hat = f(w.hat);
  auto r = f(w.r);
  return {hat, r};
}
template <unsigned H, class F>
SharedWire<H> Map(const SharedWire<H>& w, F f) {
  auto hat = f(w.hat);
  auto r = f(w.r);
  auto a = f(w.s.a);
  auto b = f(w.s.b);
  return {{hat, r}, {a, b}};
}

}  // namespace suf::pfss
