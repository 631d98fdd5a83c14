// Attention between the projections: scores, unnormalised softmax, weighted sum. It may be full or causal, with grouped
// heads and relative positions. (docs/mathematics.md#histogram-maximum, #predicted-shift, #causal-packing)
#pragma once
#include "suf/gates/function.hpp"
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// q k^T for each head, plus P0's private bias. Inputs are q | k as one row, or q and k. The result is (heads, n, n). If
// causal, it is the packed pairs j <= i, (heads, n (n + 1) / 2). Nothing is opened, cut, looked up or dealt for later
// positions. Each of the `serving` heads of k serves heads / serving heads of q. No key, one flight.
struct Scores : Define<Scores> {
  static constexpr const char* kName = "scores";
  int heads = 1, serving = 1;
  int64_t head_dim = 1;
  bool causal = false;
  Expr relative;  // (heads, positions, positions) or none; added to q k^T / sqrt(head_dim)

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts&, const Edges& in) override { scale = 2 * in[0].scale; }
  RowBound Bound(const Facts&, const Edges&, std::vector<Width>*) override { return {}; }  // read by slices alone
  OperandForm Reads(int) const override { return OperandForm::kProduct; }
  bool Wraps() const override { return wrapped; }
  bool ReadsRows(bool) const override { return false; }
  TakenRows Takes(int input, size_t inputs) const override {
    return inputs == 1 ? TakenRows::kBoth : input == 1 ? TakenRows::kAll : TakenRows::kOwn;
  }
  bool Tiles() const override { return !causal; }
  RowLayout Gives() const override { return causal ? RowLayout::kPacked : RowLayout::kPairs; }
  int64_t Dim(const Edges&) const override { return heads; }
  std::pair<size_t, size_t> Inputs() const override { return {1, 2}; }
  void Verify(const std::string& where) const override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  std::vector<WeightSlot> Slots() const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

// e = exp((score - shift) / sqrt(head_dim)), not yet divided by its row sum: (heads, n, n). A row's shift is a common
// factor, which cancels in the quotient. Inputs are the scores, and predicted shifts (n, heads) at a scale of their
// own. Slices read a score. Outside its window it wraps, which costs accuracy and no certificate. Forms:
// * kMaximum: the shift is the row's maximum, and the second input is not read. 0 <= e <= max high max low. Flights:
//   bits, digits, counts, maximum, table, product: 6.
// * kShift: the shift is a head's prediction, and parts of a row's scores with itself and the previous token. The table
//   covers the whole window, at its top with its last entry. Flights: bits with window sums, carry, e: 3; in one stage
//   2. (docs/mathematics.md#predicted-shift)
struct Softmax : Define<Softmax> {
  static constexpr const char* kName = "softmax";
  enum By : uint8_t { kMaximum, kShift };
  int64_t head_dim = 1;
  bool causal = false;
  // Public coefficients in sixteenths, (2 heads) or none. A head's first one is the part of a row's score with itself
  // that belongs to its shift. The second one is for the score with the previous token; row 0 takes itself instead.
  Ints own;

  By by = kMaximum;
  int shift = 0;                                // bits below the slice
  compiler::Stages stages = compiler::kOnPath;  // of the slice of kMaximum
  // (heads) Added to a score before the slice, so that each head's window is [0, 2^window).
  Ints offset;
  // kMaximum
  int low = 0, level = 0;      // bits of the low digit and of the level
  int64_t floor = 0;           // the lowest maximum level of a row; lower ones count as this one
  Ints low_table, high_table;  // 2^low and 2^level entries
  int count_bits = 0;          // column counts are modulo 2^count_bits > n
  // kShift
  int score_up = 0, shift_up = 0;  // left shifts of the inputs to the scale of their difference
  int index = 0;                   // bits of a place in the table
  // Entries e by place. The last one holds up to place `end`. Places beyond are far below the window and give 0.
  Ints table;
  compiler::Lowering read{compiler::Kind::kRowLut};  // of the table
  // The end of the last entry. A row whose largest score lies at `peak` or above is unlike the calibration texts.
  int64_t end = 0, peak = 0;

  // Returns the bits of a score, less its shift, that are read.
  int window() const { return shift + (by == kShift ? index : low + level); }
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
  std::pair<size_t, size_t> Inputs() const override { return {1, 2}; }
  RowLayout Gives() const override { return RowLayout::kPairs; }  // packed pairs are unpacked
  RowLayout Wants(int input) const override {
    if (input == 1) return RowLayout::kRows;
    return causal ? RowLayout::kPacked : RowLayout::kPairs;
  }
  std::vector<Knob> Knobs() override;
  void Fields(Visitor& v) override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;

  // Returns e = high_table[i] low_table[j] in Z_{2^ring}.
  gates::SplitGate Pair(int ring) const;
  // Returns e at a place, which is the high bits of a wire, in Z_{2^ring}.
  gates::FunctionGate Read(int ring) const;

 private:
  // Returns by how many bits the difference's scale exceeds the inputs' scale, for coefficients in sixteenths.
  int own_bits() const { return own.empty() ? 0 : 4; }
  // Returns real scores less their shifts, in units of the scores.
  RealArray Shifted(int64_t n, const RealArray& score, const RealArray& shifts) const;
  // The form kShift of Choose, Check, Spec and Build; see shifted.cpp.
  void ChooseShift(const Facts& c, const Edges& in);
  void CheckShift(const Edges& in, const std::string& where) const;
  IntArray SpecShift(const IntCall& c, const IntArray& score, const IntArray& shifts) const;
  AnyWire BuildShift(const Emission& e, const Wire<kPub>& score, const Wire<kPub>& shifts) const;
};

// (e v) / row sum for each head: rows of (heads head_dim). Inputs are e and v. It is a convex combination of rows of v
// times the excess of the reciprocal table. So the value path W_v W_o of each head is bounded together. The wire is
// (heads, n, head_dim), and the map that reads it joins the heads. Tails:
// * kOpened: e is opened. Flights: 3.
// * kPayload: e is not opened. The row sum and e v are opened together, and the reciprocal's DCF carries the mask of e
//   v. It costs about 3 words an entry of v and row, which suits a decoder's new row. Flights, from e's summands: 2.
//   (docs/mathematics.md#unopened)
struct WeightedSum : Define<WeightedSum> {
  static constexpr const char* kName = "weighted_sum";
  int heads = 1, serving = 1;
  int64_t head_dim = 1;

  int row_sum = 0, product = 0;     // rings of the row sum and of e v
  int floor = 0, top = 0;           // row sums in [2^floor, 2^top) are like the calibration's
  std::vector<func::Octave> recip;  // 2^.. / row sum
  compiler::Lowering rows{compiler::Kind::kRowLut};
  enum SoftmaxTail : uint8_t { kOpened, kPayload };
  SoftmaxTail tail = kOpened;

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Nominal(const Options& o) const override { return o.Result("attended"); }
  int LeastRing() const override { return product; }
  int Need(int, const Edges&) const override { return product; }
  OperandForm Reads(int i) const override {
    return i == 0 && tail == kPayload ? OperandForm::kSummands : OperandForm::kProduct;
  }
  int SummandRing(int) const override { return product; }
  std::vector<Knob> Knobs() override;
  bool ReadsRows(bool) const override { return false; }
  bool OneRow(const Edges&) const override { return false; }
  TakenRows Takes(int input, size_t) const override { return input == 1 ? TakenRows::kAll : TakenRows::kOwn; }
  RowLayout Wants(int input) const override { return input == 0 ? RowLayout::kPairs : RowLayout::kRows; }
  int64_t Dim(const Edges&) const override { return heads * head_dim; }
  int64_t Heads(const Edges&) const override { return heads; }
  void Verify(const std::string& where) const override;
  std::pair<size_t, size_t> Inputs() const override { return {2, 2}; }
  void Fields(Visitor& v) override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
  // Returns the key bits of both bundles, for `count` rows of heads and n tokens. They are those that kPayload deals
  // behind e's summands, which are the ones at an un-truncated wire.
  int64_t PayloadKeyBits(int64_t count, int64_t n) const;

 private:
  AnyWire BuildPayload(const Emission& e, const Summands& weights, const SharedWire<kPub>& v) const;
};

}  // namespace suf::nn
