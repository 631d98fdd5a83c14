// Right shifts of a masked wire z into a wider ring, exact for every value within a certificate
// (docs/mathematics.md#rescale, #shifts). They find the wrap of z_hat = z + r in different ways. GapARS needs a bit
// that is zero in the whole range. SlackARS has a table of top bits, and LRS and ARS have a further cut. All round half
// up: they shift u = z + 2^(s-1). ARS, LRS and GapARS are those of FuseFSS (arXiv 2606.09551). Trunc shifts within the
// ring, so wraps do not concern it.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = floor(u / 2^s) in Z_{2^ring} with u = z + 2^(s-1) mod 2^k in [0, 2^k), for every z. Each stage takes one
// flight to shares, in this and all shifts below.
struct LRS {
  static constexpr std::string_view kName = "lrs";
  int shift = 1, ring = 1;
  Stages stages = Stages::kTwo;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  // Returns the key bits of both bundles for an element. `shared`: the result's mask is shared.
  int64_t KeyBits(int k, bool shared) const;
};

// As LRS, with u in [-2^(k-1), 2^(k-1)). It is LRS at an offset of half the ring, so it has no further comparison.
struct ARS {
  static constexpr std::string_view kName = "ars";
  int shift = 1, ring = 1;
  Stages stages = Stages::kTwo;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

// y = floor((z + 2^(s-1)) / 2^s) of a number low <= z < low' + 2^(k-1) - 2^(s-1). The offset low' is low rounded down
// to a multiple of 2^s. So the top bit of u - low' is zero. Outside this range y is wrong, with a probability that
// grows with the distance. Use it only with a hard certificate.
struct GapARS {
  static constexpr std::string_view kName = "gap ars";
  int shift = 1, ring = 1;
  int64_t low = 0;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

// As GapARS, with low <= z < low' + 2^k - 2^(k-top) - 2^(s-1). A table on the `top` high bits shows whether z_hat
// wraps. It is read in the first flight.
struct SlackARS {
  static constexpr std::string_view kName = "slack ars";
  int shift = 1, ring = 1;
  int64_t low = 0;
  int top = 5;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

// The strength of a certificate: for every input (kHard), or for inputs like those of the calibration (kCalibrated).
enum class Proof : uint8_t { kHard, kCalibrated };
// A range of values: low <= z <= high.
struct ShiftCertificate {
  int64_t low = 0, high = 0;
  Proof proof = Proof::kHard;
};
// The form of a shift. kInside is Trunc, and kUnsigned is GapARS at low = 0, without an offset.
enum class ShiftForm : uint8_t { kInside, kUnsigned, kGap, kSlack, kFull };

// A rounding shift by the form with the fewest key bits that its certificate allows. A calibrated range is never
// trusted to the gap. If it fits the gap, it takes the slack form. If it fits the slack form, it takes the full one.
struct AutoTrunc {
  static constexpr std::string_view kName = "auto trunc";
  int shift = 1, ring = 1;
  ShiftCertificate range;
  Stages stages = Stages::kTwo;

  // Returns the form for a wire of k bits. Throws Cause::kRefused if the range and half a step do not fit its ring.
  ShiftForm Pick(int k) const;
  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;
};

}  // namespace suf::gates
