// Gates that read tables: activations of uniform linear pieces (GELU), the pair of exponential tables, reciprocals and
// inverse roots on octaves (docs/mathematics.md#window-lut, #softmax, #octaves).
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Activation: y = f(floor((z + 2^(s-1)) / 2^s) + 2^(k-s-1) mod 2^(k-s)) in Z_{2^ring}; see compiler::WindowLut.
struct Activation {
  static constexpr std::string_view kName = "activation";
  compiler::WindowLut lut;

  Ints Spec(const Ints& z, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& z) const { return lut.Build(t, z); }
  int64_t KeyBits(int k) const { return lut.KeyBits(k); }
};

// ExpPair: e = hi[i] lo[j] in Z_{2^ring} for two index wires of one shape; tables of 2^bits entries >= 0 below
// 2^(opened ring - 2). One flight to shares; the low table's may overlap with what makes i.
struct ExpPair {
  static constexpr std::string_view kName = "exp";
  Ints hi, lo;
  int hi_bits = 0, lo_bits = 0;  // rings in which the entries are opened
  int ring = 0;

  Ints Spec(const Ints& i, const Ints& j) const;
  Owing Build(Trace& t, const Wire<kPub>& i, const Wire<kPub>& j) const;
  int64_t KeyBits() const;  // the owed word dealt
};

// RowFunction: y = F(x) in Z_{2^ring} for x in [0, 2^k): Recip, Rsqrt. 0 above the last group.
struct RowFunction {
  static constexpr std::string_view kName = "row function";
  std::vector<func::Group> groups;
  int ring = 0;

  Ints Spec(const Ints& x, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const { return compiler::RowLut(t, x, groups, ring); }
  int64_t KeyBits(int k) const { return compiler::RowLutKeyBits(k, groups, ring); }
};

}  // namespace suf::gates
