// Map: a sum of private linear terms and a bias, with an optional public rotation behind it.
#pragma once
#include "suf/nn/op.hpp"

namespace suf::nn {

// y = sum of terms + bias. No key, one flight. Terms: full x W; diag x * g; mean -(x . g) on every coordinate (the
// part of a centred diagonal term that is not diagonal). `one` and `centred` (x itself, with its mean or without) exist
// before folding only. rotary: every head of the result is turned by its position (RoPE): (x W) R_i is bilinear too.
struct Map : Define<Map> {
  static constexpr const char* kName = "map";
  enum Kind : uint8_t { kFull, kDiag, kMean, kOne, kCentred };
  struct Term {
    Kind kind = kFull;
    int input = 0;
    Expr weight;
  };
  std::vector<Term> terms;
  Expr bias;
  bool by_length = false;  // the bias is added once a token: the input is their sum
  std::string key;         // of Options: weight scale
  int rotary = 0;          // heads that are turned; 0: none
  double base = 0;         // of the angles

  // scales of the full weight, of gamma; left shifts of the diagonal term, of the mean term less than that, of the
  // bias; bits of the cosines
  int full = 0, gamma = 0, diag = 0, mean = 0, up = 0, turn = 0;
  Ints cosines, sines;  // (max_n, half a head) at scale `turn`

  int64_t dim() const;
  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  Reach Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int input, const Edges& in) const override;
  Form Reads(int) const override { return Form::kMap; }
  int64_t Dim(const Edges&) const override { return dim(); }
  std::pair<size_t, size_t> Inputs() const override { return {1, 8}; }
  void Fields(Visitor& v) override;
  bool TakesHeads() const override { return true; }
  void Verify(const std::string& where) const override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  std::vector<Slot> Slots() const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;

 private:
  bool Has(Kind k, int input) const;
  Reach Turned(Reach r) const;
};

// Turns pairs (i, i + half) of every head of (rows, heads 2 half) by angle row base^(-i / half); before folding
// an operator of its own, afterwards part of the map before it (Su et al. 2021, RoFormer).
struct Rotary : Define<Rotary> {
  static constexpr const char* kName = "rotary";
  int heads = 0;
  double base = 0;
  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  Reach Bound(const Facts&, const Edges&, std::vector<Width>*) override;
  IntArray Spec(const IntCall&, std::span<const IntArray* const>) const override;
  AnyWire Build(const Emission&, std::span<const AnyWire>) const override;
};

}  // namespace suf::nn
