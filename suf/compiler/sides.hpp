// Pieces around zero, and one line on each side of them up to the ends of the ring (docs/mathematics.md#sides). The
// table has as many entries as there are pieces near zero, whatever the ring is. So it serves functions that bend near
// zero alone, such as GELU.
#pragma once
#include <string>

#include "suf/compiler/lower.hpp"
#include "suf/func/fit.hpp"

namespace suf::compiler {

// A function of x in Z_{2^n}, which stands for x - 2^(n-1). It is the sum of two parts:
// * a line on each half of the ring
// * pieces on the 2^(a+p) places around the middle, minus these lines
struct SidedFunction {
  int n = 0;
  func::SideLine below, above;  // on the lower and on the upper half, from its least x on; coefficients modulo 2^64
  CompiledFunction core;        // the pieces less the lines, at x mod 2^(a+p)
};

// Returns lines with sides in this form. Requires func::Lines::bits > a + p >= 2.
SidedFunction SidesOf(const func::Lines& lines, const std::string& name);
// Returns why the lowering does not make the function, as one clause; empty if it makes it. WindowLut alone does.
std::string WhyNotSides(const SidedFunction& f, const Lowering& l);
// Emits the function behind a shift, in as many flights to shares as WindowLut: three to five, by entry.stages. Nothing
// is owed.
OwedWord LowerSides(Trace& t, const SidedFunction& f, const CutReading& entry, const Wire<kPub>& z, int ring);
// Returns the key bits of LowerSides for an element of both bundles.
int64_t SidesKeyBits(const SidedFunction& f, const CutReading& entry, int ring);

}  // namespace suf::compiler
