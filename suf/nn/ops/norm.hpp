// Norms of rows, y = x rsqrt(mean x^2 + eps): RMSNorm, LayerNorm once its writers are centred (fold.hpp), and x / |x|.
// A row may have several parts, such as heads, each with a norm of its own.
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// The operand of a norm's sum of squares: x, or z as it comes. The rescale of z then runs beside the sum.
enum class SquareOf : uint8_t { kX, kZ };

// y = round(x rsqrt(sum x^2 + eps) / 2^shift), with x = round(z / 2^cut) never opened. The ring of z may be wider than
// the one that is read. For every part, |y| <= sqrt(d) (1 + the table's excess), whatever z is; with `unit`, |y| = 1.
// Flights to its opening: 8 in two stages. One stage takes 7, for more words, which suits one row. If nothing is cut or
// the sum is of z, it takes 6. See docs/mathematics.md#exact-norm and #wide-squares.
struct Norm : OperatorBase<Norm> {
  static constexpr const char* kName = "norm";
  int64_t dim = 0;      // d, numbers of a part
  int groups = 1;       // parts of a row: (rows, groups d) are (rows groups, d)
  bool centre = false;  // before folding only
  Expr gamma, beta;     // before folding only: (groups d)
  double eps = 0;
  bool unit = false, by_length = false;  // by_length: z is the sum of a text's rows, calibrated by their mean
  std::string key = "layer";             // key of the scale of x in Options

  int kz = 0, cut = 0;  // ring in which z is read; bits of the rescale before (0: x = z)
  SquareOf square_of = SquareOf::kX;
  int under = 0;        // low bits of the sum of squares that no table reads: its ring has square + under bits
  int square = 0;       // ring of the sum of squares >> under
  int64_t epsilon = 0;  // at the scale of the sum of squares
  // The calibrated range: 2^floor <= (sum of squares >> under) + eps < 2^top. Outside it y is less accurate.
  int floor = 0, top = 0;
  // Its values give y its scale after `shift`.
  std::vector<func::Octave> rsqrt;
  // Choices of rsqrt while the plan is made: windows of groups of octaves, or few pieces for a DCF. Empty in a plan.
  std::vector<func::Octave> windows, steps;
  compiler::Lowering rows{compiler::Kind::kRowLut};
  int product = 0, shift = 0;  // ring of x rsqrt; |x rsqrt| + 2^(shift-1) < 2^(product-2)
  // Stages of the rescale before, and of the last one.
  compiler::Stages stages = compiler::kBeside, last = compiler::kOnPath;

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int, const Edges&) const override { return kz; }
  bool TakesTexts() const override { return true; }
  // Reads z no wider than the product needs, or than a sum beyond 64 bits takes.
  void Settle(const Edges& in) override { kz = std::min({in[0].ring, product + cut - 1, under > 0 ? 63 : 64}); }
  void Fields(Visitor& v) override;
  std::vector<Knob> Knobs() override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
  // Returns the key bits of both bundles for `count` rows. `shared`: the result's owed word is dealt.
  int64_t KeyBits(int64_t count, bool shared) const;
  // Returns the bound of a part's length for every text, at the result's scale.
  double HardLength() const;

 private:
  double LongestPart(const RowBound& z) const;
  int SquareBits(const RowBound& z) const;
  double Root(double v) const;
  double MostProduct(const std::vector<func::Octave>& table) const;
};

}  // namespace suf::nn
