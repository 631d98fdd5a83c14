// How every lowering finishes: a sum of public coefficients times words of the dealer. A word that no public
// coefficient scales is owed: it goes into the mask of the opening for free, or is dealt when a matrix product reads
// the new mask. (docs/mathematics.md#owed-words.)
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

// x = y + owed in y's ring; only the dealer knows owed.
struct Owing {
  Sh y;
  std::optional<Sec> owed;
};
template <class F>
Owing Map(const Owing& x, F f) {
  Owing out{pfss::Map(x.y, f), std::nullopt};
  if (x.owed) out.owed = f(*x.owed);
  return out;
}
// Shares of 0 in Z_{2^k} without key or mask, for sums that have no share.
Sh Zeros(Trace& t, const pfss::Shape& shape, int k);
// Shares of x; deals the owed word.
Sh Settle(Trace& t, const Owing& x);
// OpenDefined: no key; nobody holds shares of the new mask.
template <unsigned H = kPub>
Wire<H> OpenDefined(Trace& t, const Owing& x, const char* label) {
  if (!x.owed) return t.open<H>(x.y, label);
  return t.open<H>(x.y, label, *x.owed);
}
// OpenShared: the parties share the new mask; one word of key an element.
template <unsigned H = kPub>
SharedWire<H> OpenShared(Trace& t, const Owing& x, const char* label) {
  Sh y = Settle(t, x);
  return t.open<H>(y, label);
}

// Sign 2^shift p u, p public and u the dealer's; an absent one is 1. `held`: shares of u that the parties hold
// anyway. Without p and u it is a constant. Operands are integers (Add(64)) or live in a ring that the result's ring
// divides.
struct Factor {
  int sign = 1, shift = 0;
  std::optional<Pub> p;
  std::optional<Sec> u;
  std::optional<Sh> held;
};
Factor operator*(const Factor& x, const Factor& y);
// A value as the sum of its summands.
using Factors = std::vector<Factor>;

// The integer floor((x + bias) / 2^s) - (bias >> s) + c of a wire, read off its opening: a - R + 2^(k-s) g b
// with public a and g, R = r >> s and b = MSB(r); c is the borrow at bit s (0 when s = 0). h is x_hat + bias in
// Z_{2^k}; 0 <= x + bias < 2^(k-1).
Factors Lifted(Pub h, Sec r, int64_t bias, int s = 0);
// x of a wire with |x| < 2^(k-2), exactly.
Factors Centred(const Wire<kPub>& x);
// x of a wire in its own ring: hat - r.
Factors Masked(const Wire<kPub>& x);
Factors Masked(const SharedWire<kPub>& x);
// x of a wire opened for a sum in Z_{2^ring}: Centred where the wire is narrower, as its gap allows, else
// Masked.
inline Factors Opened(const Wire<kPub>& x, int ring) { return x.k() < ring ? Centred(x) : Masked(x); }

// BitOf: bit i of a string of at most 64 bits, in Z_2.
template <unsigned A>
pfss::Val<A> BitOf(pfss::Val<A> string, int i) {
  pfss::Val<A> v = Lift(string);
  v = v >> i;
  return Low(v, 1);
}

// Collects such a sum in Z_{2^k}. Words of no bit (shift >= k) are left out; dealt words are as narrow as they
// can be.
class Words {
 public:
  Words(Trace& t, int k) : t_(t), k_(k) {}
  void Add(const Factor& f);
  void Add(const Factors& x, const Factor& scale = {});
  // x y scale, summand by summand.
  void Add(const Factors& x, const Factors& y, const Factor& scale = {});
  // Shares, times a public value.
  void Add(const Sh& s, std::optional<Pub> p = std::nullopt, int sign = 1, int shift = 0);
  // The sum, of public summands and constants alone if there are no others. `shape`: of a sum whose summands have
  // none, or a smaller one.
  Owing Done(const pfss::Shape& shape = {});

 private:
  Trace& t_;
  int k_;
  std::optional<Sh> y_;
  std::optional<Pub> public_;
  std::optional<Sec> owed_;
};

}  // namespace suf::compiler
