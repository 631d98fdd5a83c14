// Values that nobody opens: a table's entry as a sum of public coefficients times words of the dealer, and a row
// function times words that only the dealer knows. Together they divide a weighted sum by its weights without a flight
// for the weights (docs/mathematics.md#unopened).
#pragma once
#include <span>

#include "suf/compiler/words.hpp"
#include "suf/func/suf.hpp"

namespace suf::compiler {

// EntrySummands: of constants on one grid, 0 outside it, at a wire's value, in Z_{2^ring}: the window sums at both
// neighbours and the borrow, by parity, are opened together: one flight. Five summands, on the finest grid two.
Factors EntrySummands(Trace& t, const func::Group& g, const Wire<kPub>& x, int ring);
int64_t EntrySummandsKeyBits(const func::Group& g, int k);

// IntervalTimes: shares in Z_{2^ring} of f(x) b_j for constants f on octaves from 0 to the end of x's ring and b (c,
// ..) of the dealer: a DCF at x's mask carries b. No flight.
Sh IntervalTimes(Trace& t, std::span<const func::Group> f, const Wire<kPub>& x, Sec b, int ring);
int64_t IntervalTimesKeyBits(int k, int words, int ring);

}  // namespace suf::compiler
