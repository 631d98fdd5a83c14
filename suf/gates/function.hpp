// Gates for functions that are data: a structured unary function of a wire, or tables on two index wires. The caller
// chooses the lowering (docs/mathematics.md#lowerings, #split).
#pragma once
#include "suf/func/split.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = f(x) in Z_{2^ring}, the first output of f, at x = floor((z + offset) / 2^shift) mod 2^(k - shift).
struct FunctionGate {
  static constexpr std::string_view kName = "function";
  compiler::CompiledFunction f;
  compiler::Lowering lowering;
  compiler::CutReading entry;
  int ring = 1;

  Ints Spec(const Ints& z, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& z) const;
  // Returns the key bits of both bundles for an element. `shared`: the result's mask is shared, or its owed word dealt.
  int64_t KeyBits(bool shared) const;
};

// Returns the entry of a signed wire behind a rounding shift. Functions of signed numbers expect x + 2^(k - shift - 1).
inline compiler::CutReading SignedEntry(int k, int shift) {
  return {shift, (shift ? uint64_t{1} << (shift - 1) : 0) + (uint64_t{1} << (k - 1)), Stages::kOne};
}

// y = T0[i] T1[j] or T0[i] + T1[j] in Z_{2^ring}, for index wires i and j of one shape. Small entries >= 0 are opened
// in a smaller ring, others in this one. A table of more than 10 bits is dealt whole. One flight to shares. The read of
// one table may overlap with the computation of the other index.
struct SplitGate {
  static constexpr std::string_view kName = "split";
  func::Split f;
  int ring = 1;

  Ints Spec(const Ints& i, const Ints& j) const;
  OwedWord Build(Trace& t, const Wire<kPub>& i, const Wire<kPub>& j) const;
  // Returns the key bits of both bundles for an element, with the owed word dealt.
  int64_t KeyBits() const;
};

}  // namespace suf::gates
