// The last part of every lowering: a sum of public coefficients times words of the dealer. A word without a public
// coefficient is owed (docs/mathematics.md#owed-words). It enters the mask of the opening for free. If a matrix product
// reads the new mask, it is dealt.
#pragma once
#include <optional>
#include <vector>

#include "suf/pfss/ops.hpp"

namespace suf::compiler {

using pfss::Const;
using pfss::Dealt;
using pfss::kPub;
using pfss::Pub;
using pfss::Sec;
using pfss::Sh;
using pfss::SharedWire;
using pfss::Trace;
using pfss::Wire;

// Shares that lack a word of the dealer: x = y + owed in y's ring.
struct OwedWord {
  Sh y;
  std::optional<Sec> owed;
};
// Applies a linear f to the shares and to the owed word.
template <class F>
OwedWord Map(const OwedWord& x, F f) {
  OwedWord out{pfss::Map(x.y, f), std::nullopt};
  if (x.owed) out.owed = f(*x.owed);
  return out;
}
// Returns shares of 0 in Z_{2^k}, without key or mask, for sums without shares.
Sh Zeros(Trace& t, const pfss::Shape& shape, int k);
// Returns shares of a string of k zeros, without key or mask.
Sh ZeroString(Trace& t, const pfss::Shape& shape, int k);
// Returns shares of x; deals the owed word.
Sh DealOwed(Trace& t, const OwedWord& x);
// Opens x without key, under a defined mask, of which no party holds shares.
template <unsigned H = kPub>
Wire<H> OpenDefined(Trace& t, const OwedWord& x, const char* label) {
  if (!x.owed) return t.open<H>(x.y, label);
  return t.open<H>(x.y, label, *x.owed);
}
// Opens x under a mask that the parties share. An element costs one word of key.
template <unsigned H = kPub>
SharedWire<H> OpenShared(Trace& t, const OwedWord& x, const char* label) {
  Sh y = DealOwed(t, x);
  return t.open<H>(y, label);
}

// A summand sign 2^shift p u, in which p is public and u is the dealer's. A missing p or u is 1. `held` are shares of u
// if the parties already hold some. Operands are integers, in Add(64), or in a ring at least as wide as the result's.
struct Factor {
  int sign = 1, shift = 0;
  std::optional<Pub> p;
  std::optional<Sec> u;
  std::optional<Sh> held;
};
Factor operator*(const Factor& x, const Factor& y);
// A value as a sum of summands.
using Factors = std::vector<Factor>;

// Returns the integer `floor((x + bias) / 2^s) - (bias >> s) + c` of a wire. The borrow at bit s is c, which is 0 if
// s = 0. The summands are `a - R + 2^(k-s) g b` with public a and g, R = r >> s and b = MSB(r). The opened h is
// x_hat + bias in Z_{2^k}. 0 <= x + bias < 2^(k-1).
Factors Lifted(Pub h, Sec r, int64_t bias, int s = 0);
// Returns the integer x of a wire with |x| < 2^(k-2).
Factors Centred(const Wire<kPub>& x);
// Returns x of a wire in its own ring: hat - r.
Factors Masked(const Wire<kPub>& x);
// Returns x of a wire in its own ring, with the shares of its mask.
Factors Masked(const SharedWire<kPub>& x);
// Returns x of a wire for a sum in Z_{2^ring}: Masked, or Centred if the wire is narrower. Then it must have a gap.
inline Factors Opened(const Wire<kPub>& x, int ring) { return x.k() < ring ? Centred(x) : Masked(x); }

// Returns bit i of a string of at most 64 bits, in Z_2.
template <unsigned A>
pfss::Val<A> BitOf(pfss::Val<A> string, int i) {
  pfss::Val<A> v = Lift(string);
  v = v >> i;
  return Low(v, 1);
}

// Builds a sum of summands in Z_{2^k}. It leaves out summands with shift >= k and deals words as narrow as possible.
class WordSum {
 public:
  WordSum(Trace& t, int k) : t_(t), k_(k) {}
  void Add(const Factor& f);
  // Adds x scale.
  void Add(const Factors& x, const Factor& scale = {});
  // Adds x y scale, summand by summand.
  void Add(const Factors& x, const Factors& y, const Factor& scale = {});
  // Adds sign 2^shift p s of shares s.
  void Add(const Sh& s, std::optional<Pub> p = std::nullopt, int sign = 1, int shift = 0);
  // Returns the sum. If no summand has shares, it broadcasts to `shape`.
  OwedWord Done(const pfss::Shape& shape = {});

 private:
  Trace& t_;
  int k_;
  std::optional<Sh> y_;
  std::optional<Pub> public_;
  std::optional<Sec> owed_;
};

}  // namespace suf::compiler
