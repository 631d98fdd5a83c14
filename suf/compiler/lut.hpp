// Table lowerings: reads of one-hot tables and DPF windows at masked places, `WindowLut` (uniform linear pieces in
// local coordinates) and `row_lut` (octave groups; Grotto, ePrint 2023/108, for the window idea):
// docs/mathematics.md#window-lut, #octaves. A read gives e x value, e = +-1 known to the dealer alone.
#pragma once
#include <span>
#include <vector>

#include "suf/compiler/digits.hpp"
#include "suf/func/suf.hpp"

namespace suf::compiler {

// Reading: values = e x the table's entries at a wire's value; sign = e.
struct Reading {
  Sh values;  // (C, ..)
  Sec sign;   // (..)
};
// ReadTables: a one-hot table at the wire's mask (k <= 10 bits) selects from C tables (C, 2^k). No flight.
Reading ReadTables(Trace& t, const Wire<kPub>& i, Const tables);

// WindowLut: y = f(x), x = floor((z + 2^(s-1)) / 2^s) + 2^(k-s-1) in Z_{2^(k-s)}, f of uniform pieces and degree <= 1
// on that domain. The piece number (p bits) and the place in the piece (a + 1 bits) are opened, then U = A + B x and V
// = B in their own rings: three flights to shares (four in two stages).
struct WindowLut {
  func::Suf f;
  int shift = 0;     // s
  int u = 0, v = 0;  // rings in which U and V are opened; |U| < 2^(u-2) for x in [0, 2^(a+1)), |V| < 2^(v-2)
  int ring = 0;      // of the result
  Stages stages = Stages::kOne;

  Owing Build(Trace& t, const Wire<kPub>& z) const;
  // KeyBits: an element, when the result's owed word is dealt.
  int64_t KeyBits(int k) const;
};

// RowLut: F(x) in Z_{2^ring} for a wire x >= 0; a function on octaves, 0 at and above its end. One flight to shares.
Owing RowLut(Trace& t, const Wire<kPub>& x, std::span<const func::Group> groups, int ring);
// RowLutKeyBits: an element, when the owed word is not dealt; both bundles together.
int64_t RowLutKeyBits(int k, std::span<const func::Group> groups, int ring);

}  // namespace suf::compiler
