// Sizes of the borrow polynomial (docs/mathematics.md#borrow). Digits j of a cut open lt_j = hl_j + rl_j and eq_j =
// he_j + re_j (bits h public, r the dealer's). Its monomials in r, by highest digit: V_0 = (1, rl_0); V_j = (V_{j-1} |
// re_j V_{j-1} | rl_j), |V_j| = 2 |V_{j-1}| + 1. Group j = V_j without V_{j-1}; its nonlinear part, what the XOR world
// deals, leaves out re_j and rl_j.
#pragma once

namespace suf::pfss {

// |V_j|, the constant included.
constexpr int PolySize(int j) { return (3 << j) - 1; }
// Words of group j in the arithmetic world.
constexpr int GroupSize(int j) { return j == 0 ? 1 : PolySize(j - 1) + 1; }
// Bits of group j in the XOR world, j >= 1.
constexpr int GroupBits(int j) { return PolySize(j - 1) - 1; }

// kMostDigitsA: of a borrow in the arithmetic world: one more doubles its words. kMostDigitsX: of one in the XOR world:
// the last group has 766 bits, for which the kernels have room.
inline constexpr int kMostDigitsA = 8, kMostDigitsX = 10;

}  // namespace suf::pfss
