// Right shifts of a masked wire z into a wider ring, exact for every value that a certificate admits. They differ in
// what tells how often z_hat = z + r wraps: a bit that is zero for the whole range, a table of a few top bits, or a cut
// at the ring's end (docs/mathematics.md#rescale; FuseFSS's ARS, LRS and GapARS, arXiv 2606.09551). All round half up:
// they shift u = z + 2^(s-1). Not here: Trunc, the shift inside the ring, which no wrap concerns.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = floor(u / 2^s), u = z + 2^(s-1) mod 2^k in [0, 2^k), in Z_{2^ring}; every z. One flight to shares, two or
// three in as many stages, as of all below.
struct LRS {
  static constexpr std::string_view kName = "lrs";
  int shift = 1, ring = 1;
  Stages stages = Stages::kTwo;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  // An element of both bundles; `shared`: the result's mask is shared.
  int64_t KeyBits(int k, bool shared) const;
};

// The same of u in [-2^(k-1), 2^(k-1)): LRS at an offset of half the ring, so no second comparison is read.
struct ARS {
  static constexpr std::string_view kName = "ars";
  int shift = 1, ring = 1;
  Stages stages = Stages::kTwo;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

// y = floor((z + 2^(s-1)) / 2^s) of a number low <= z < low' + 2^(k-1) - 2^(s-1), low' being low rounded down
// to a multiple of 2^s: the top bit of u - low' is certified to be zero. Outside, y is wrong with a probability that
// grows with the distance: a hard certificate is needed.
struct GapARS {
  static constexpr std::string_view kName = "gap ars";
  int shift = 1, ring = 1;
  int64_t low = 0;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

// The same of low <= z < low' + 2^k - 2^(k-top) - 2^(s-1): a table on `top` high bits says whether z_hat
// wraps. It is read in the first flight.
struct SlackARS {
  static constexpr std::string_view kName = "slack ars";
  int shift = 1, ring = 1;
  int64_t low = 0;
  int top = 5;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

// Certificate: low <= z <= high. kHard: for every input there is; kCalibrated: for those that were seen.
enum class Proof : uint8_t { kHard, kCalibrated };
struct Certificate {
  int64_t low = 0, high = 0;
  Proof proof = Proof::kHard;
};
// Of a shift. Inside: Trunc. Unsigned: GapARS from 0 on, which adds no offset.
enum class Form : uint8_t { kInside, kUnsigned, kGap, kSlack, kFull };

// The same number by the lightest form that its certificate allows. A calibrated range is never trusted to
// the gap: what fits there takes the slack form, what fits the slack form takes the full one.
struct AutoTrunc {
  static constexpr std::string_view kName = "auto trunc";
  int shift = 1, ring = 1;
  Certificate range;
  Stages stages = Stages::kTwo;

  // Throws Cause::kRefused when the range and half a step do not fit the ring of k bits.
  Form Pick(int k) const;
  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

}  // namespace suf::gates
