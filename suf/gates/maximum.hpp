// The maximum of a row of small numbers (docs/mathematics.md#histogram-maximum). A histogram adds arithmetic unit
// vectors, opens the masked counts and tests them for zero. Then the maximum is a local sum. It takes one flight to
// shares. A tournament opens the numbers one bit wider and compares pairs.
#pragma once
#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// m = max(floor, max_j x_j) in Z_{2^k}, over the last axis of x (.., J), with x_j in [0, 2^k) and J < 2^count_bits. The
// result has shape (..). If `causal`, the last axis packs the pairs j <= i of n rows (pfss::Pack), n < 2^count_bits.
// The result (.., n) has the maximum of row i over j <= i. Later positions have no unit vector and cost nothing.
//
// A tournament takes two flights for each halving of the row, and one for a comparison with the floor. It ignores
// count_bits. With tables (k <= 10) its key has about 2 J 2^k bits a row. The histogram has J count_bits 2^k bits, and
// 2^k k 2^count_bits more. Causal rows are padded to the length of the last one with zeros, whose comparisons cost key.
struct Maximum {
  static constexpr std::string_view kName = "maximum";
  enum class MaximumForm : uint8_t { kHistogram, kTournament };
  int64_t floor = 0;
  int count_bits = 1;
  bool causal = false;
  MaximumForm form = MaximumForm::kHistogram;
  compiler::StepSource steps = compiler::StepSource::kParity;  // source of the comparisons of a tournament

  // `row` is J, or n if `causal`.
  Ints Spec(const Ints& x, int k, int64_t row) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const;
  // Returns both bundles' key bits for a row of J numbers of k bits, or for n packed rows. The owed word is
  // dealt.
  int64_t KeyBits(int k, int64_t row) const;

 private:
  OwedWord Histogram(Trace& t, const Wire<kPub>& x) const;
  OwedWord Tournament(Trace& t, const Wire<kPub>& x) const;
};

}  // namespace suf::gates
