// Gates that choose by a comparison with zero, with another number or with two bounds. The compiler lowers Clamp and
// ArgmaxBit (docs/mathematics.md#lowerings).
#pragma once
#include "suf/compiler/bits.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = b v in Z_{2^ring}, of an opened bit b and a word v. The ring of v has at least `ring` bits. No flight.
struct Select {
  static constexpr std::string_view kName = "select";
  int ring = 1;

  Ints Spec(const Ints& b, const Ints& v) const;
  OwedWord Build(Trace& t, const compiler::OpenedBit& b, const Wire<kPub>& v) const;
  // Returns the key bits of both bundles for an element. `held`: the parties share v's mask, as Build detects. Nothing
  // is owed.
  int64_t KeyBits(bool held) const { return (held ? 2 : 3) * int64_t(ring); }
};

// b = 1[x >= y] and max(x, y) = `y + b (x - y)` in Z_{2^ring}, of words x and y of k bits, ring <= k. Their difference
// must lie in [-2^(k-1), 2^(k-1)). One comparison makes both results. The difference of two wires is a wire, so it is
// not opened. Flights to shares: one by parity, two by digits, three by blocks.
struct ArgmaxBit {
  static constexpr std::string_view kName = "argmax bit";
  int ring = 1;
  compiler::StepSource steps = compiler::StepSource::kDigits;

  struct Pair {
    Ints bit, max;
  };
  struct ChosenShares {
    OwedWord bit, max;
  };
  Pair Spec(const Ints& x, const Ints& y, int k) const;
  ChosenShares Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& y) const;
  // Returns the key bits of both bundles for an element, with the owed words dealt.
  int64_t KeyBits(int k) const;
};

// y = min(max(x, low), high) in Z_{2^ring} of x in [-2^(k-1), 2^(k-1)). Both bounds are in this range, and low < high.
struct Clamp {
  static constexpr std::string_view kName = "clamp";
  int64_t low = 0, high = 1;
  int ring = 1;
  compiler::Lowering lowering{compiler::Kind::kOpenSteps, compiler::StepSource::kDigits, Stages::kOne};

  // Returns the lowerings that apply at k bits, those with few flights first.
  std::vector<compiler::Lowering> Lowerings(int k) const;
  Ints Spec(const Ints& x, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const;
  // Returns the key bits of both bundles for an element, with the owed word dealt.
  int64_t KeyBits(int k) const;
};

}  // namespace suf::gates
