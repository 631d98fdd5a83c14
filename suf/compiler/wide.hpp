// Wide numbers: rings of up to 128 bits for sums over rows and for openings, as limbs that are ordinary values of the
// trace. Every message and every dealt word is one limb under a pad of its own; a party takes the carry of a limb after
// its pad into the next one. (docs/mathematics.md#wide-squares.) Not here: what is read at a wide wire (window.cpp).
#pragma once
#include "suf/compiler/words.hpp"

namespace suf::compiler {

inline constexpr int kMostWide = 128;

// Wide<A>: sum_i limbs[i] 2^(radix i) modulo 2^bits, the limb i in Z_{2^LimbBits(i)}; all have `radix` bits but the
// last.
template <unsigned A>
struct Wide {
  int radix = 64, bits = 0;
  std::vector<pfss::Val<A>> limbs;
};
inline int LimbBits(int radix, int bits, int i) { return std::min(radix, bits - radix * i); }
inline int Limbs(int radix, int bits) { return (bits + radix - 1) / radix; }

// x = hat - r modulo 2^k. An ordinary wire is one of one limb.
struct WideWire {
  Wide<kPub> hat;
  Wide<pfss::kDealer> r;
  WideWire() = default;
  WideWire(const Wire<kPub>& x) : hat{64, x.k(), {x.hat}}, r{64, x.k(), {x.r}} {}  // NOLINT: the same wire
  int k() const { return hat.bits; }
};

// Refuses bits that the number does not have.
inline void CheckField(int begin, int bits, int radix, int of, size_t limbs) {
  if (begin < 0 || bits < 1 || bits > 64 || begin + bits > of || radix < 1 || limbs != size_t(Limbs(radix, of)))
    Fail(Cause::kRefused, "bits ", begin, " to ", begin + bits - 1, " are read of a number of ", of,
         " bits; make a plan whose wires are as wide as what reads them");
}

// Field: bits begin .. begin + bits - 1 of a wide number, bits <= 64. Throws Cause::kRefused if it has fewer.
template <unsigned A>
pfss::Val<A> Field(const Wide<A>& x, int begin, int bits) {
  CheckField(begin, bits, x.radix, x.bits, x.limbs.size());
  size_t i = size_t(begin / x.radix);
  int have = LimbBits(x.radix, x.bits, int(i)) - begin % x.radix;
  pfss::Val<A> v = x.limbs[i] >> begin % x.radix;
  if (have >= bits) return Low(v, bits);
  v = Lift(v);
  while (have < bits) {
    pfss::Val<A> next = Lift(x.limbs[++i]);
    next = next << have;
    v = v + next;
    have += x.radix;
  }
  return Low(v, bits);
}

// How the sum over a row is computed: in limbs of `radix` bits, as the ring of `bits` bits, with
// extra 2^shift added.
struct SumOfSquares {
  int radix, bits;
  int64_t extra = 0;
  int shift = 0;

  // The widest limbs of which the products of a row fit a word, for numbers of k bits.
  static int Radix(int64_t row, int k);
  // V = sum over the last axis of x^2 modulo 2^bits, opened under a mask that nobody shares: one flight. h is
  // x_hat + bias in Z_{2^k} and r the mask, k <= 63; 0 <= x + bias < 2^(k-1).
  WideWire Open(Trace& t, Pub h, Sec r, int64_t bias, const char* label) const;
  // An element of both bundles.
  int64_t KeyBits(int k) const;
};

}  // namespace suf::compiler
