// Words of Z_{2^k}, k <= 64, each in a uint64_t: masks, the signed value and the rounding shift. Products also take
// words of other types (gemm.hpp).
#pragma once
#include <cstdint>

namespace suf::ring {

// Returns a word whose k low bits are set, 0 <= k <= 64.
constexpr uint64_t Mask(int k) { return k >= 64 ? ~uint64_t{0} : (uint64_t{1} << k) - 1; }

// Returns the two's complement value of x mod 2^k, 1 <= k <= 64.
constexpr int64_t Signed(uint64_t x, int k) { return int64_t(x << (64 - k)) >> (64 - k); }

// Returns x / 2^s, rounded half up, 0 <= s <= 63. The whole range of x is allowed (x + 2^(s-1) is never formed).
constexpr int64_t RoundShift(int64_t x, int s) { return s == 0 ? x : (x >> s) + (x >> (s - 1) & 1); }

}  // namespace suf::ring
