// Rescale from one scale and ring to another, opened in the form that its reader wants.
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// y = floor((z + 2^(shift-1)) / 2^shift), exact. One flight to its digits and one to its opening. Two stages take one
// flight more, for less key; a DCF without digits takes one fewer. Kinds:
// * kExact: to the scale `key`. It is left out (shift 0) for queries and keys that `scores` keeps un-truncated, unless
//   a rotation makes them finer.
// * kOptional: left out (shift 0) if 64 bits hold the product behind it.
// * kExtend: no shift; a narrow wire goes into a wide ring.
// * kClamp: for a residual stream that is read modulo a window. It is left out (shift 0) if a hard bound fits the
//   stream's ring. Otherwise it is a deterministic clamp that needs no certificate.
struct Rescale : OperatorBase<Rescale> {
  static constexpr const char* kName = "rescale";
  enum Kind : uint8_t { kExact, kOptional, kExtend, kClamp };
  Kind kind = kExact;
  std::string key;

  int shift = 0;
  compiler::Stages stages = compiler::kOnPath;
  int window = 0;  // kClamp: bits of y; 0: none

  RealArray Float(const RealCall&, std::span<const RealArray* const> x) const override { return *x[0]; }
  void See(const RealCall&, std::span<const RealArray* const> x, Seen* seen) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Nominal(const Options& o) const override { return kind == kOptional ? o.Result(key) : scale; }
  int Need(int, const Edges& in) const override;
  bool Transparent() const override { return shift == 0 && kind != kExtend; }
  int Built(const Edges& in) const override;
  int64_t Heads(const Edges& in) const override { return in.at(0).heads; }
  bool TakesHeads() const override { return true; }
  bool TakesTexts() const override { return true; }
  bool Summed(const Edges& in) const override { return Transparent() && in.at(0).summands; }
  bool ReadsRows(bool own) const override { return own; }
  bool Wraps() const override { return window > 0 || Operator::Wraps(); }
  void Fields(Visitor& v) override;
  std::vector<Knob> Knobs() override;
  // Returns the least number of stages: a clamp's slice has one.
  compiler::Stages Least() const { return window ? compiler::Stages::kOne : compiler::Stages::kNone; }
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

}  // namespace suf::nn
