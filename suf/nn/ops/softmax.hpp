// Softmax, not yet divided by its row sum, in two forms. They differ in the shift of a row's scores.
// (docs/mathematics.md#histogram-maximum, #predicted-shift, #causal-packing)
#pragma once
#include "suf/gates/function.hpp"
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

struct Softmax;

// The form whose shift is the row's maximum. The second input of Softmax is not read. A score's slice is a low
// digit with a level above it. The maximum is that of the levels. 0 <= e <= max high max low. Flights: bits,
// digits, counts, maximum, table, product: 6.
struct SoftmaxByMaximum {
  int low = 0, level = 0;                       // bits of the low digit and of the level
  int64_t floor = 0;                            // the lowest maximum level of a row; lower ones count as this one
  compiler::Stages stages = compiler::kOnPath;  // of the slice
  Ints low_table, high_table;                   // 2^low and 2^level entries
  int count_bits = 0;                           // column counts are modulo 2^count_bits > n

  // Returns the bits of a score's slice.
  int bits() const { return low + level; }
  // Returns an upper bound of e.
  double Most() const;
  // Returns e = high_table[i] low_table[j] in Z_{2^ring}.
  gates::SplitGate Pair(int ring) const;
  void Choose(const Facts& c, const Edges& in, Softmax* s);
  std::vector<Knob> Knobs();
  void Fields(Visitor& v);
  void Check(const Softmax& s, const Edges& in, int max_n, const std::string& where) const;
  IntArray Spec(const Softmax& s, const IntCall& c, const IntArray& score) const;
  AnyWire Build(const Softmax& s, const Emission& e, const Wire<kPub>& score) const;
};

// The form whose shift is a head's prediction, and parts of a row's scores with itself and the previous token. The
// table covers the whole window, at its top with its last entry. It is read at a linear image of opened wires, which is
// never opened itself. Flights: bits with window sums, carry, e: 3; in one stage 2.
struct SoftmaxByShift {
  int score_up = 0, shift_up = 0;  // left shifts of the inputs to the scale of their difference
  int index = 0;                   // bits of a place in the table
  // Entries e by place. The last one holds up to place `end`. Places beyond are far below the window and give 0.
  Ints table;
  // The end of the last entry. A row whose largest score lies at `peak` or above is unlike the calibration texts.
  int64_t end = 0, peak = 0;
  compiler::Lowering read{compiler::Kind::kRowLut};  // of the table

  // Returns an upper bound of e.
  double Most() const;
  // Returns the table's entry at a place.
  int64_t EntryAt(uint64_t place) const;
  // Returns e at a place, which is the high bits of a wire, in Z_{2^ring}.
  gates::FunctionGate Read(const Softmax& s, int ring) const;
  // Returns real scores less their shifts, in units of the scores, for rows from place `from` on.
  static RealArray Difference(const Softmax& s, int64_t from, const RealArray& score, const RealArray& shifts);
  void Choose(const Facts& c, const Edges& in, Softmax* s);
  // Returns the ring that input i must have.
  int Need(const Softmax& s, int input) const;
  std::vector<Knob> Knobs();
  void Fields(Visitor& v);
  void Check(const Softmax& s, const Edges& in, const std::string& where) const;
  IntArray Spec(const Softmax& s, const IntCall& c, const IntArray& score, const IntArray& shifts) const;
  AnyWire Build(const Softmax& s, const Emission& e, const Wire<kPub>& score, const Wire<kPub>& shifts) const;
};

// e = exp((score - shift) / sqrt(head_dim)), not yet divided by its row sum: (heads, n, n). A row's shift is a common
// factor, which cancels in the quotient. Inputs are the scores, and predicted shifts (n, heads) at a scale of their
// own. Slices read a score. Outside its window it wraps, which costs accuracy and no certificate. `by` chooses the
// form.
struct Softmax : OperatorBase<Softmax> {
  static constexpr const char* kName = "softmax";
  enum By : uint8_t { kMaximum, kShift };
  int64_t head_dim = 1;
  bool causal = false;
  // Public coefficients in sixteenths, (2 heads) or none. A head's first one is the part of a row's score with itself
  // that belongs to its shift. The second one is for the score with the previous token; row 0 takes itself instead.
  Ints own;

  By by = kMaximum;
  int shift = 0;  // bits below the slice
  // (heads) Added to a score before the slice, so that each head's window is [0, 2^window).
  Ints offset;
  SoftmaxByMaximum maximum;  // used for kMaximum
  SoftmaxByShift shifted;    // used for kShift

  // Returns the bits of a score, less its shift, that are read.
  int window() const { return shift + (by == kShift ? shifted.index : maximum.bits()); }
  // Returns by how many bits the difference's scale exceeds the inputs' scale, for coefficients in sixteenths.
  int own_bits() const { return own.empty() ? 0 : 4; }
  // Returns how many of n scores row i has.
  int64_t RowLength(int64_t i, int64_t n) const { return causal ? i + 1 : n; }
  bool Uses(int input) const override { return input == 0 || by == kShift; }
  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int input, const Edges&) const override;
  bool Wraps() const override { return true; }
  bool ReadsRows(bool) const override { return false; }
  bool Summed(const Edges&) const override { return by == kShift; }
  bool Tiles() const override { return !causal; }
  bool TakesLast() const override { return true; }
  bool TakesTexts() const override { return true; }
  std::pair<size_t, size_t> Inputs() const override { return {1, 2}; }
  RowLayout ResultLayout() const override { return RowLayout::kPairs; }  // packed pairs are unpacked
  RowLayout InputLayout(int input) const override {
    if (input == 1) return RowLayout::kRows;
    return causal ? RowLayout::kPacked : RowLayout::kPairs;
  }
  std::vector<Knob> Knobs() override { return by == kShift ? shifted.Knobs() : maximum.Knobs(); }
  void Fields(Visitor& v) override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

}  // namespace suf::nn
