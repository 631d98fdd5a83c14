// Values that are never opened. A table entry or a value of a line is a sum of public coefficients times words of the
// dealer. A product multiplies the sum without a flight. A row function times words of the dealer takes none either.
// Together they divide a weighted sum by its weights without a flight for the weights (docs/mathematics.md#unopened).
#pragma once
#include <span>

#include "suf/compiler/lower.hpp"
#include "suf/func/suf.hpp"

namespace suf::compiler {

// Returns the summands of constants on one grid, 0 outside it, at a wire's value, in Z_{2^ring}. Both neighbours'
// window sums and the borrow, by parity, are opened together: one flight. There are four summands, or two on the finest
// grid.
Factors EntrySummands(Trace& t, const func::Octave& g, const Wire<kPub>& x, int ring);
// Returns the key bits of EntrySummands for an element.
int64_t EntrySummandsKeyBits(const func::Octave& g, int k);

// Returns the summands of a function with one output, on a grid that covers the whole ring of z. The entry has no
// shift. Reads are those of WindowBoth, except for the borrow: one flight. Each power of the place has two summands,
// and there are two more.
Factors PieceSummands(Trace& t, const CompiledFunction& c, const CutReading& entry, const Wire<kPub>& z, int ring);

// Returns shares in Z_{2^ring} of f(x) b_j. The constants f are on octaves from 0 to the end of x's ring, and the
// dealer knows b (c, ..). A DCF at x's mask carries b: no flight.
Sh IntervalTimes(Trace& t, std::span<const func::Octave> f, const Wire<kPub>& x, Sec b, int ring);
// Returns the key bits of IntervalTimes for an element.
int64_t IntervalTimesKeyBits(int k, int words, int ring);

}  // namespace suf::compiler
