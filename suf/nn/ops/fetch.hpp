// Rows of P0's table at row numbers of P1, which nobody else learns. P1's masked one-hot rows are multiplied by the
// table (docs/mathematics.md#fetch).
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// A fetch is a trace of its own, behind a search. The table has words of 16 bits, and comes in blocks of rows, so that
// an append changes few of them. P1 sends 2 k rows bytes, and receives 2 k words bytes; two flights, no key beside the
// owed words.
struct Fetch {
  static constexpr int kRingBits = 16;
  // The name of P1's input of row numbers, (k). A trace's digest contains it.
  static constexpr const char* kRowsInput = "documents";  // hashed
  int64_t rows = 0, words = 0, k = 0;                     // of the table; fetched rows
  int64_t block = 4096;                                   // rows of a block; the last one may have fewer

  int64_t blocks() const { return (rows + block - 1) / block; }
  int64_t rows_of(int64_t i) const { return std::min(block, rows - i * block); }
  // Returns the name of a block's inputs, without the "W.", "Wh." or "B." before it.
  static std::string NameOf(int64_t i) { return Str("table.rows", i); }

  // Returns the k rows of the table (rows, words) at these numbers. Throws Cause::kInput for another number of them, or
  // one outside the table.
  std::vector<uint16_t> Spec(std::span<const uint16_t> table, std::span<const int64_t> at) const;
  // Emits the rows (k, words).
  compiler::OwedWord Emit(pfss::Trace& t) const;
  // Emits and closes the trace, in which P1 learns them.
  void Build(pfss::Trace& t) const;
};

}  // namespace suf::nn
