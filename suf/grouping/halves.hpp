// Numbers of n = 2 b bits that a trace holds as halves, as fss takes them.
#pragma once
#include <cstdint>
#include <span>

#include "suf/base/bytes.hpp"

namespace suf::grouping {

// Of each number high 2^b + low the differences to all thresholds modulo 2^(2 b), which are pairs of a high
// and a low half, too: one word each where 2 b <= 64, else two, the low one first. Branch-free in the numbers.
inline Wiped<uint64_t> HalvesLess(const uint64_t* high, const uint64_t* low, size_t count, int b,
                                  std::span<const int64_t> thresholds) {
  using U128 = unsigned __int128;
  const U128 mask = ~U128{0} >> (128 - 2 * b);
  Wiped<uint64_t> out;
  out.reserve(count * thresholds.size());
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < thresholds.size(); j += 2) {
      const U128 less = (U128{uint64_t(thresholds[j])} << b) + uint64_t(thresholds[j + 1]);
      const U128 x = ((U128{high[i]} << b) + low[i] - less) & mask;
      out.push_back(uint64_t(x));
      if (2 * b > 64) out.push_back(uint64_t(x >> 64));
    }
  return out;
}

}  // namespace suf::grouping
