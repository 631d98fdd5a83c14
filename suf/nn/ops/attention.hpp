// Attention between the projections: scores, softmax, weighted sum. It may be full or causal, with grouped heads and
// relative positions. (docs/mathematics.md#causal-packing, #unopened)
#pragma once
#include "suf/nn/ops/softmax.hpp"

namespace suf::nn {

// q k^T for each head, plus P0's private bias. Inputs are q | k as one row, or q and k. The result is (heads, n, n). If
// causal, it is the packed pairs j <= i, (heads, n (n + 1) / 2). Nothing is opened, cut, looked up or dealt for later
// positions. Each of the `serving` heads of k serves heads / serving heads of q. No key, one flight.
struct Scores : OperatorBase<Scores> {
  static constexpr const char* kName = "scores";
  int heads = 1, serving = 1;
  int64_t head_dim = 1;
  bool causal = false;
  // (heads, 2 positions - 1) or none: diagonals of what is added to q k^T / sqrt(head_dim) (Expr::Relative).
  Expr relative;
  // The largest distance at which tokens attend to each other; 0: any. All tokens of a text must be within it, so plans
  // do not have it.
  int64_t band = 0;
  int64_t positions() const { return relative ? (relative.cols() + 1) / 2 : 0; }

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  LengthLimit Longest() const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override {
    CheckLength(Longest(), c.n);
    scale = 2 * in[0].scale;
  }
  RowBound Bound(const Facts&, const Edges&, std::vector<Width>*) override { return {}; }  // read by slices alone
  OperandForm Reads(int) const override { return OperandForm::kProduct; }
  bool Wraps() const override { return wrapped; }
  bool ReadsRows(bool) const override { return false; }
  TakenRows InputRows(int input, size_t inputs) const override {
    return inputs == 1 ? TakenRows::kBoth : input == 1 ? TakenRows::kAll : TakenRows::kOwn;
  }
  bool Tiles() const override { return !causal; }
  bool TakesLast() const override { return true; }
  bool TakesTexts() const override { return true; }
  RowLayout ResultLayout() const override { return causal ? RowLayout::kPacked : RowLayout::kPairs; }
  int64_t Dim(const Edges&) const override { return heads; }
  std::pair<size_t, size_t> Inputs() const override { return {1, 2}; }
  void Verify(const std::string& where) const override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  std::vector<WeightSlot> Slots() const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;

 private:
  // Returns the place, in the weight, of the diagonal of row i and column j.
  int64_t Diagonal(int64_t head, int64_t i, int64_t j) const {
    return head * relative.cols() + positions() - 1 + j - i;
  }
};

// (e v) / row sum for each head: rows of (heads head_dim). Inputs are e and v. It is a convex combination of rows of v
// times the excess of the reciprocal table. So the value path W_v W_o of each head is bounded together. The wire is
// (heads, n, head_dim), and the map that reads it joins the heads. Tails:
// * kOpened: e is opened. Flights: 3.
// * kPayload: e is not opened. The row sum and e v are opened together, and the reciprocal's DCF carries the mask of e
//   v. It costs about 3 words an entry of v and row, which suits a decoder's new row. Flights, from e's summands: 2.
//   (docs/mathematics.md#unopened)
struct WeightedSum : OperatorBase<WeightedSum> {
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
  TakenRows InputRows(int input, size_t) const override { return input == 1 ? TakenRows::kAll : TakenRows::kOwn; }
  RowLayout InputLayout(int input) const override { return input == 0 ? RowLayout::kPairs : RowLayout::kRows; }
  int64_t Dim(const Edges&) const override { return heads * head_dim; }
  int64_t Heads(const Edges&) const override { return heads; }
  bool TakesTexts() const override { return true; }
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
