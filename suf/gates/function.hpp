// Gates that are functions: any structured unary function on one wire, and a table on each of two index wires. What a
// function computes is data; how it is lowered is a choice of the caller's (docs/mathematics.md#lowerings, #split).
#pragma once
#include "suf/func/split.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = f(x) in Z_{2^ring}, the first number of f, for x = floor((z + offset) / 2^shift) mod 2^(k - shift).
struct Function {
  static constexpr std::string_view kName = "function";
  compiler::Compiled f;
  compiler::Lowering lowering;
  compiler::Entry entry;
  int ring = 1;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const;
  // An element of both bundles; `shared`: the result's mask is shared, or its owed word dealt.
  int64_t KeyBits(bool shared) const;
};

// The reading of a signed wire behind a rounding shift: x + 2^(k - shift - 1), as functions of signed
// numbers have it.
inline compiler::Entry SignedEntry(int k, int shift) {
  return {shift, (shift ? uint64_t{1} << (shift - 1) : 0) + (uint64_t{1} << (k - 1)), Stages::kOne};
}

// y = T0[i] T1[j], or the sum, in Z_{2^ring}, for index wires i and j of one shape. Small entries >= 0 are
// opened in a smaller ring, others in this one; a table over 10 bits is dealt whole. One flight to shares; one table's
// read may overlap with what makes the other index.
struct Split {
  static constexpr std::string_view kName = "split";
  func::Split f;
  int ring = 1;

  Ints Spec(const Ints& i, const Ints& j) const;
  Owing Build(Trace& t, const Wire<kPub>& i, const Wire<kPub>& j) const;
  int64_t KeyBits() const;  // the owed word dealt
};

}  // namespace suf::gates
