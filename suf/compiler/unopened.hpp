// Values that nobody opens: a table's entry or a line's value as a sum of public coefficients times words of the
// dealer, which a product multiplies without a flight; and a row function times words that only the dealer knows.
// Together they divide a weighted sum by its weights without a flight for the weights (docs/mathematics.md#unopened).
#pragma once
#include <span>

#include "suf/compiler/lower.hpp"
#include "suf/func/suf.hpp"

namespace suf::compiler {

// Of constants on one grid, 0 outside it, at a wire's value, in Z_{2^ring}: the window sums at both
// neighbours and the borrow, by parity, are opened together: one flight. Four summands, on the finest grid two.
Factors EntrySummands(Trace& t, const func::Group& g, const Wire<kPub>& x, int ring);
int64_t EntrySummandsKeyBits(const func::Group& g, int k);

// Of a function on a grid that covers the whole ring of z, one output, entered without a shift; as
// WindowBoth reads it, but for the borrow: one flight. Two summands a power of the place, and two.
Factors PieceSummands(Trace& t, const Compiled& c, const Entry& entry, const Wire<kPub>& z, int ring);

// Shares in Z_{2^ring} of f(x) b_j for constants f on octaves from 0 to the end of x's ring and b (c,
// ..) of the dealer: a DCF at x's mask carries b. No flight.
Sh IntervalTimes(Trace& t, std::span<const func::Group> f, const Wire<kPub>& x, Sec b, int ring);
int64_t IntervalTimesKeyBits(int k, int words, int ring);

}  // namespace suf::compiler
