// The maximum of a row of small numbers by histogram: arithmetic unit vectors, column counts opened masked, arithmetic
// zero tests; the maximum is then a local sum (docs/mathematics.md#histogram-maximum). One flight to shares.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Maximum: m = max(floor, max_j x_j) over the last axis of x (.., J), x_j in [0, 2^k); result (..) in Z_{2^k}. J <
// 2^count_bits. Causal: the last axis packs the pairs j <= i of n rows (pfss::Pack), result (.., n): row i's maximum
// over j <= i; n < 2^count_bits. Later positions cost nothing: no unit vector is dealt for them.
struct Maximum {
  static constexpr std::string_view kName = "maximum";
  int64_t floor = 0;
  int count_bits = 1;
  bool causal = false;

  // row: J, or n.
  Ints Spec(const Ints& x, int k, int64_t row) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // KeyBits: of one row of J numbers of k bits, or of n packed rows.
  int64_t KeyBits(int k, int64_t row) const;
};

}  // namespace suf::gates
