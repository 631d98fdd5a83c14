// Rings of up to 128 bits, for sums over rows and for openings (docs/mathematics.md#wide-squares). A wide number has
// limbs, which are ordinary values of the trace. Each message and each dealt word is one limb under a pad of its own. A
// party carries from a padded limb into the next one. Functions of a wide wire are in window.cpp.
#pragma once
#include "suf/compiler/words.hpp"

namespace suf::compiler {

inline constexpr int kMostWide = 128;

// The number sum_i limbs[i] 2^(radix i) modulo 2^bits. Limb i is in Z_{2^LimbBits(i)}: `radix` bits, except the last.
template <unsigned A>
struct Wide {
  int radix = 64, bits = 0;
  std::vector<pfss::Val<A>> limbs;
};
inline int LimbBits(int radix, int bits, int i) { return std::min(radix, bits - radix * i); }
inline int Limbs(int radix, int bits) { return (bits + radix - 1) / radix; }

// A masked wire x = hat - r modulo 2^k. An ordinary wire has one limb.
struct WideWire {
  Wide<kPub> hat;
  Wide<pfss::kDealer> r;
  WideWire() = default;
  WideWire(const Wire<kPub>& x) : hat{64, x.k(), {x.hat}}, r{64, x.k(), {x.r}} {}  // NOLINT: the same wire
  int k() const { return hat.bits; }
};

// Throws Cause::kRefused if a number of `of` bits lacks the bits begin .. begin + bits - 1, or if bits > 64.
inline void CheckField(int begin, int bits, int radix, int of, size_t limbs) {
  if (begin < 0 || bits < 1 || bits > 64 || begin + bits > of || radix < 1 || limbs != size_t(Limbs(radix, of)))
    Fail(Cause::kRefused, "bits ", begin, " to ", begin + bits - 1, " are read of a number of ", of,
         " bits; make a plan whose wires are as wide as what reads them");
}

// Returns bits begin .. begin + bits - 1 of a wide number, bits <= 64. Throws Cause::kRefused if it has fewer.
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

// A sum of squares over a row, in a ring of `bits` bits with limbs of `radix` bits. It includes extra 2^shift.
struct SumOfSquares {
  int radix, bits;
  int64_t extra = 0;
  int shift = 0;

  // Returns the widest limbs whose products, summed over a row, fit a word, for numbers of k bits.
  static int Radix(int64_t row, int k);
  // Opens the sum of x^2 over the last axis, modulo 2^bits, under a defined mask: one flight. The wire is h = x_hat +
  // bias in Z_{2^k}, k <= 63, with mask r. 0 <= x + bias < 2^(k-1).
  WideWire Open(Trace& t, Pub h, Sec r, int64_t bias, const char* label) const;
  // Returns the key bits of both bundles for each element.
  int64_t KeyBits(int k) const;
};

}  // namespace suf::compiler
