// Exact rescales, extensions and slices of a masked wire (docs/mathematics.md#rescale). Round half up, faithful to the
// last bit.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = floor((z + 2^(s-1)) / 2^s) in Z_{2^ring}. ring <= k - s: of the word z mod 2^k. Wider: of the number z,
// which needs |z| + 2^(s-1) < 2^(k-2); the signed extension happens on shares, before the opening, as a matrix product
// needs it. One flight to shares (two in two stages); none without a stage: the borrow is read off a DCF on the low
// bits, which whoever reads y's opening alone may take (docs/mathematics.md#borrow-dcf).
struct Trunc {
  static constexpr std::string_view kName = "trunc";
  int shift = 1, ring = 1;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  // An element of both bundles; `shared`: the result's mask is shared.
  int64_t KeyBits(int k, bool shared) const;
};

// y = z in Z_{2^ring}, for a wire narrower than that with |z| < 2^(k-2): its opening and the two top bits say
// how often it wraps, so nothing is cut. One word of ring - k bits is dealt. One flight to shares.
struct Extend {
  static constexpr std::string_view kName = "extend";
  int ring = 1;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  // An element of both bundles; `shared`: the result's mask is shared.
  int64_t KeyBits(int k, bool shared) const { return ring - k + (shared ? ring : 0); }
};

// Bits [begin, end) of z + offset mod 2^k, as a number of [0, 2^(end-begin)) in Z_{2^ring}. A ring wider than
// the slice needs end < k.
struct Slice {
  static constexpr std::string_view kName = "slice";
  int begin = 0, end = 1, ring = 1;
  int64_t offset = 0;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;

 private:
  std::vector<compiler::Cut> Cuts() const;
};

}  // namespace suf::gates
