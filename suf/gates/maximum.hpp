// The maximum of a row of small numbers. By histogram: arithmetic unit vectors, column counts opened masked, arithmetic
// zero tests; the maximum is then a local sum (docs/mathematics.md#histogram-maximum). One flight to shares. As a
// tournament: the number is opened one bit wider, then pairs are compared and the larger goes on.
#pragma once
#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Maximum: m = max(floor, max_j x_j) over the last axis of x (.., J), x_j in [0, 2^k); result (..) in Z_{2^k}. J <
// 2^count_bits. Causal: the last axis packs the pairs j <= i of n rows (pfss::Pack), result (.., n): row i's maximum
// over j <= i; n < 2^count_bits. Later positions cost nothing: no unit vector is dealt for them.
//
// Tournament: two flights a halving of the row, and one a comparison with the floor; count_bits is not read. Read from
// tables (k <= 10) its key is about 2 J 2^k bits a row, the histogram's J count_bits 2^k and 2^k k 2^count_bits more.
// Causal rows are filled up to the last one's length with zeros, whose comparisons are dealt as others.
struct Maximum {
  static constexpr std::string_view kName = "maximum";
  enum class Form : uint8_t { kHistogram, kTournament };
  int64_t floor = 0;
  int count_bits = 1;
  bool causal = false;
  Form form = Form::kHistogram;
  compiler::Steps steps = compiler::Steps::kParity;  // of a tournament's comparisons

  // row: J, or n.
  Ints Spec(const Ints& x, int k, int64_t row) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // Of one row of J numbers of k bits, or of n packed rows; the owed word dealt.
  int64_t KeyBits(int k, int64_t row) const;

 private:
  Owing Histogram(Trace& t, const Wire<kPub>& x) const;
  Owing Tournament(Trace& t, const Wire<kPub>& x) const;
};

}  // namespace suf::gates
