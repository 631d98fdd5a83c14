// The maximum of a row of small numbers by histogram: arithmetic unit vectors, column counts opened masked, arithmetic
// zero tests; the maximum is then a local sum (DESIGN 9). One flight to shares.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Maximum: m = max(floor, max_j x_j) over the last axis of x (.., J), x_j in [0, 2^k); result (..) in Z_{2^k}. J <
// 2^count_bits.
struct Maximum {
  static constexpr std::string_view kName = "maximum";
  int64_t floor = 0;
  int count_bits = 1;

  Ints Spec(const Ints& x, int k, int64_t row) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // KeyBits: of one row of J numbers of k bits.
  int64_t KeyBits(int k, int64_t row) const;
};

}  // namespace suf::gates
