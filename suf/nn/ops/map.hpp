// A sum of private linear terms and a bias, with an optional public rotation behind it.
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// y = sum of terms + bias. No key, one flight. Terms are: full x W; diag x * g; mean -(x . g) on every coordinate. The
// mean is the part of a centred diagonal term that is not diagonal. `one` and `centred` (x with its mean or without)
// exist only before folding. With `rotary`, the position turns every head of the result (RoPE): (x W) R_i is bilinear
// as well.
struct LinearMap : OperatorBase<LinearMap> {
  static constexpr const char* kName = "map";
  enum Kind : uint8_t { kFull, kDiag, kMean, kOne, kCentred };
  struct MapTerm {
    Kind kind = kFull;
    int input = 0;
    Expr weight;
  };
  std::vector<MapTerm> terms;
  Expr bias;
  bool by_length = false;  // the bias is added once a token, because the input is a sum of tokens
  std::string key;         // key of the weight scale in Options
  int rotary = 0;          // heads that are turned; 0: none
  double base = 0;         // base of the angles

  // Scales of the full weight and of gamma, left shifts, and the bits `turn` of the cosines. The diagonal term is
  // shifted by `diag`, the mean term by diag - mean, and the bias by `up`.
  int full = 0, gamma = 0, diag = 0, mean = 0, up = 0, turn = 0;
  Ints cosines, sines;  // (max_n, half a head) at scale `turn`

  int64_t dim() const;
  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int input, const Edges& in) const override;
  OperandForm Reads(int) const override { return OperandForm::kMap; }
  int64_t Dim(const Edges&) const override { return dim(); }
  std::pair<size_t, size_t> Inputs() const override { return {1, 8}; }
  void Fields(Visitor& v) override;
  bool TakesHeads() const override { return true; }
  bool TakesTexts() const override { return true; }
  void Verify(const std::string& where) const override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  std::vector<WeightSlot> Slots() const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;

 private:
  bool Has(Kind k, int input) const;
  RowBound Turned(RowBound r) const;
};

// Turns pairs (i, i + half) of every head of (rows, heads 2 half) by the angle row base^(-i / half). It is an operator
// only before folding; afterwards it is part of the map before it (Su et al. 2021, RoFormer).
struct Rotary : OperatorBase<Rotary> {
  static constexpr const char* kName = "rotary";
  int heads = 0;
  double base = 0;
  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  RowBound Bound(const Facts&, const Edges&, std::vector<Width>*) override;
  IntArray Spec(const IntCall&, std::span<const IntArray* const>) const override;
  AnyWire Build(const Emission&, std::span<const AnyWire>) const override;
};

}  // namespace suf::nn
