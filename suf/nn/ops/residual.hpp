// The operators that join and end branches: product, sum, pool, result. (docs/mathematics.md#residual-streams)
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// x y elementwise, for two wires inside their gaps. One flight; at most 7 words of key an element. Gates:
// * kOpened: x is opened.
// * kSummands: x is not opened, if its operator can give summands: a flight fewer. (docs/mathematics.md#unopened)
struct WireProduct : OperatorBase<WireProduct> {
  static constexpr const char* kName = "product";
  enum Gate : uint8_t { kOpened, kSummands };
  Gate gate = kOpened;
  RealArray Float(const RealCall&, std::span<const RealArray* const> x) const override;
  void Choose(const Facts&, const Edges& in) override { scale = in[0].scale + in[1].scale; }
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int input, const Edges& in) const override { return RingOf(in[size_t(input)].reach.most()); }
  OperandForm Reads(int i) const override {
    return i == 0 && gate == kSummands ? OperandForm::kSummands : OperandForm::kOpen;
  }
  std::vector<Knob> Knobs() override;
  std::pair<size_t, size_t> Inputs() const override { return {2, 2}; }
  bool TakesTexts() const override { return true; }
  void Fields(Visitor& v) override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

// x + y, the residual stream: a sum of opened wires. It costs no key, message or flight, because masks add. Every
// branch reads a norm, so a constant bounds each branch and their sum bounds the stream.
struct Add : OperatorBase<Add> {
  static constexpr const char* kName = "add";
  bool centred[2] = {false, false};  // before folding only: an input loses its mean

  int up[2] = {0, 0};  // left shifts to the common scale

  RealArray Float(const RealCall&, std::span<const RealArray* const> x) const override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int input, const Edges&) const override { return ring - up[input]; }
  bool Transparent() const override { return true; }
  std::pair<size_t, size_t> Inputs() const override { return {2, 2}; }
  bool TakesTexts() const override { return true; }
  void Fields(Visitor& v) override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

// The sum of a text's rows, or one of its rows: a linear view of the wire.
struct PoolRows : OperatorBase<PoolRows> {
  static constexpr const char* kName = "pool";
  enum Kind : uint8_t { kSum, kFirst, kLast };
  Kind kind = kSum;
  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void Attributes(Visitor& v) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  bool OneRow(const Edges&) const override { return true; }
  TakenRows InputRows(int, size_t) const override {
    return kind == kSum ? TakenRows::kAll : kind == kFirst ? TakenRows::kFirst : TakenRows::kLast;
  }
  bool Transparent() const override { return true; }
  bool TakesTexts() const override { return true; }
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

// An exact rescale, revealed to P1 alone (logits).
struct RevealResult : OperatorBase<RevealResult> {
  static constexpr const char* kName = "result";
  std::string key = "logits";
  int shift = 0;
  compiler::Stages stages = compiler::kOnPath;
  RealArray Float(const RealCall&, std::span<const RealArray* const> x) const override { return *x[0]; }
  void Attributes(Visitor& v) override { v.Text("key", &key, 40); }
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int, const Edges& in) const override { return RoundedRingOf(in[0].reach.most(), shift); }
  void Fields(Visitor& v) override {
    v.Int("shift", shift, 1, kRing);
    v.Stages("stages", &stages);
  }
  std::vector<Knob> Knobs() override { return {StagesKnob("stages", &stages)}; }
  bool TakesTexts() const override { return true; }
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

}  // namespace suf::nn
