// Numbers of n = 2 b bits, which a trace holds as halves, in the form that fss takes.
#pragma once
#include <cstdint>
#include <span>

#include "suf/base/bytes.hpp"

namespace suf::grouping {

// Returns the differences of each number `high 2^b + low` to all thresholds, modulo 2^(2 b). A threshold is a pair of a
// high and a low half. A difference takes one word if 2 b <= 64, otherwise two with the low one first. Branch-free in
// the numbers.
inline WipedVector<uint64_t> HalvesMinus(const uint64_t* high, const uint64_t* low, size_t count, int b,
                                         std::span<const int64_t> thresholds) {
  using U128 = unsigned __int128;
  const U128 mask = ~U128{0} >> (128 - 2 * b);
  WipedVector<uint64_t> out;
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
