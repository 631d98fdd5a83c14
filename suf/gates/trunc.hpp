// Exact rescales, extensions and slices of a masked wire (docs/mathematics.md#rescale). They round half up.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = floor((z + 2^(s-1)) / 2^s) in Z_{2^ring}. If ring <= k - s, z is a word mod 2^k. Into a wider ring z must be a
// number with |z| + 2^(s-1) < 2^(k-2). It is extended on shares, before the opening, as matrix products need it.
// Each stage takes one flight to shares. Without a stage a DCF on the low bits gives the borrow; then y may only be
// opened (docs/mathematics.md#borrow-dcf).
struct Trunc {
  static constexpr std::string_view kName = "trunc";
  int shift = 1, ring = 1;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  // Returns the key bits of both bundles for an element. `shared`: the result's mask is shared.
  int64_t KeyBits(int k, bool shared) const;
};

// y = z in Z_{2^ring}, for a narrower wire with |z| < 2^(k-2). Its opening and the two top bits show whether it wraps,
// so there is no cut. One word of ring - k bits is dealt. One flight to shares.
struct Extend {
  static constexpr std::string_view kName = "extend";
  int ring = 1;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  // Returns the key bits of both bundles for an element. `shared`: the result's mask is shared.
  int64_t KeyBits(int k, bool shared) const { return ring - k + (shared ? ring : 0); }
};

// Bits [begin, end) of z + offset mod 2^k, as a number in [0, 2^(end-begin)) in Z_{2^ring}. If the ring is wider than
// the slice, end < k.
struct Slice {
  static constexpr std::string_view kName = "slice";
  int begin = 0, end = 1, ring = 1;
  int64_t offset = 0;
  Stages stages = Stages::kOne;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  int64_t KeyBits(int k, bool shared) const;

 private:
  std::vector<compiler::Cut> Cuts() const;
};

}  // namespace suf::gates
