// An elementwise function of one number, as linear pieces of one width. Beside them it may have one line on each side.
#pragma once
#include "suf/compiler/sides.hpp"
#include "suf/gates/function.hpp"
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// y = A_i + B_i t for piece i and place t in it of x = round(z / 2^shift), modulo its window. The pieces cover the
// whole ring of the slice: z wraps, so |x| <= the window whatever the weights are. Flights to its opening: 4, in two
// stages 5, or as another lowering has it.
//
// With the option `pieces` there is no shift. The pieces are of z itself and are read with their neighbours, in 2
// flights, in two stages 3. As summands they take 1 flight, by any lowering. (docs/mathematics.md#window-lut,
// #unopened)
//
// If the window has too many pieces, they are around zero alone. One line on each side then reaches to its end. Flights
// are those of WindowLut, which is then the only lowering. (docs/mathematics.md#sides)
struct Activation : OperatorBase<Activation> {
  static constexpr const char* kName = "activation";
  std::string function;  // a name for RealFunction
  int shift = 0;         // 0: x = z
  func::Lines lines;     // of x; lines.a is log2 of a piece's width
  compiler::Lowering lowering{compiler::Kind::kWindowLut};

  int pieces() const;                            // log2 of the number of pieces, without the lines on both sides
  bool sided() const { return lines.bits > 0; }  // whether there are lines on both sides
  int window() const { return shift + (sided() ? lines.bits : lines.a + pieces()); }  // bits of z that are read
  RealArray Float(const RealCall&, std::span<const RealArray* const> x) const override;
  void See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int, const Edges&) const override { return window(); }
  bool Wraps() const override { return true; }
  bool Summed(const Edges&) const override { return shift == 0 && !sided(); }
  bool TakesTexts() const override { return true; }
  int Built(const Edges&) const override { return summands ? summand_ring : ring; }
  void Fields(Visitor& v) override;
  void Verify(const std::string& where) const override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
  std::vector<Knob> Knobs() override;
  // Returns the function in Z_{2^ring}. It does not build lines on both sides; Sides does.
  gates::FunctionGate Gate(int ring) const;
  compiler::SidedFunction Sides() const { return compiler::SidesOf(lines, function); }
  compiler::CutReading Entry() const;
};

}  // namespace suf::nn
