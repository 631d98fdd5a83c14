// Sizes of the borrow polynomial (docs/mathematics.md#borrow). Digit j of a cut has bits lt_j = hl_j + rl_j and
// eq_j = he_j + re_j. The h are public, and the dealer knows the r. V_j holds the monomials in r up to digit j:
// V_0 = (1, rl_0); V_j = (V_{j-1} | re_j V_{j-1} | rl_j), |V_j| = 2 |V_{j-1}| + 1. Group j is V_j without V_{j-1}. In
// the XOR world only its nonlinear part is dealt, which leaves out re_j and rl_j.
#pragma once

namespace suf::pfss {

// |V_j|, the constant included.
constexpr int PolySize(int j) { return (3 << j) - 1; }
// Words of group j in the arithmetic world.
constexpr int GroupSize(int j) { return j == 0 ? 1 : PolySize(j - 1) + 1; }
// Bits of group j in the XOR world, j >= 1.
constexpr int GroupBits(int j) { return PolySize(j - 1) - 1; }

// The most digits of a borrow, in the arithmetic world (A) and in the XOR world (X). In the arithmetic world each digit
// doubles the words. In the XOR world kernels hold the 766 bits of the last group.
inline constexpr int kMostDigitsA = 8, kMostDigitsX = 10;

}  // namespace suf::pfss
