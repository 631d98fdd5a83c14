#include "suf/nn/ops/activation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "suf/compiler/unopened.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/plan/octave_tables.hpp"

namespace suf::nn {

namespace {

constexpr double kWindowMargin = 1.25;  // windows have spare range for texts unlike the calibration texts
constexpr int kMostPieces = 10, kLeastPieces = 2;
constexpr int kWidestPiece = 40;  // log2, at the un-rounded input
constexpr int kFiner = 3;         // further bits of the input of one row, such as that of a classifier

// Fits the fewest pieces of width 2^a around zero whose sides are lines, for x of `bits` bits. Returns nothing if the
// lines have a larger error than kMostPieces pieces.
std::optional<func::Lines> FitSides(const func::Real& f, int a, int bits, int scale, int slope) {
  for (int p = kLeastPieces; p <= kMostPieces && a + p < bits; ++p) {
    const func::FitResult<func::Lines> pieces = func::FitLines(f, a, p, scale, slope);
    func::FitResult<func::Lines> all = func::WithSides(f, pieces, bits);
    if (all.error <= pieces.error) return std::move(all.f);
  }
  return std::nullopt;
}

}  // namespace

int Activation::pieces() const { return lines.offset.empty() ? 0 : std::countr_zero(lines.offset.size()); }

RealArray Activation::Float(const RealCall&, std::span<const RealArray* const> x) const {
  RealArray y = *x[0];
  const func::Real& f = RealFunction(function);
  for (double& v : y.at) v = f(v);
  return y;
}

void Activation::See(const RealCall&, std::span<const RealArray* const> x, Seen* seen) const {
  std::vector<SeenRange>& range = (*seen)["input"];
  range.resize(1);
  for (double v : x[0]->at) range[0].See(v);
}

void Activation::Attributes(Visitor& v) { v.Text("function", &function, 40); }

void Activation::Choose(const Facts& c, const Edges& in) {
  const Options& o = c.options;
  const bool neighbours = o.pieces == 1;
  // The pieces of one row are as much narrower.
  const int input = in[0].one_row ? std::max(o.input, std::min(o.input + kFiner, in[0].scale)) : o.input;
  shift = neighbours ? 0 : in[0].scale - input;
  const int at = in[0].scale - shift;  // scale of x
  scale = at + o.slope;
  lowering = {neighbours ? compiler::Kind::kWindowBoth : compiler::Kind::kWindowLut};
  if (!c.seen) return;
  const SeenRange& seen = c.seen->at("input").at(0);
  const int window = std::max(1, int(std::ceil(std::log2(kWindowMargin * std::max(-seen.low, seen.high)))));
  const int width = function == "relu" ? window + input - 1 : o.piece,
            count = window + 1 + input - width;  // relu: exact lines
  const int a = width + at - input;
  const func::Real& f = RealFunction(function);
  if (count >= kLeastPieces && count <= kMostPieces) {
    lines = func::FitLines(f, a, count, at, o.slope).f;
    return;
  }
  std::optional<func::Lines> sides;
  if (count > kMostPieces) sides = FitSides(f, a, a + count, at, o.slope);
  if (!sides)
    Fail(Cause::kRefused, "the ", function, " needs 2^", count, " pieces, the limits are 2^", kLeastPieces, " and 2^",
         kMostPieces, "; change `piece`");
  lines = std::move(*sides);
  lowering = {compiler::Kind::kWindowLut};
}

RowBound Activation::Bound(const Facts&, const Edges& in, std::vector<Width>* widths) {
  widths->push_back({"input", window() - 1, nullptr, 61, true});
  const double over = Excess(lines), slope = std::ldexp(1.0, lines.slope), one = std::ldexp(1.0, shift);
  const double most = std::ldexp(1.0, window() - shift - 1);
  RowBound r{in[0].reach.dim, 0, in[0].reach.Box(), {}, {}};
  const double half = shift ? 0.5 : 0;  // added by rounding
  for (double& x : r.each) x = std::min(x / one + half, most) * slope + over;
  const double root = std::sqrt(double(r.dim));
  r.length = std::min(Length(r.each), slope * (in[0].reach.length / one + half * root) + over * root);
  return r;
}

void Activation::Fields(Visitor& v) {
  v.Int("shift", shift, 0, kRing);
  v.Lines("lines", &lines);
  v.Lowering("lowering", &lowering);
}

void Activation::Verify(const std::string& where) const {
  Wanted(func::IsWord(function), where, "its function's name is no word");
}

void Activation::Check(const Edges& in, int, const std::string& where) const {
  Wanted(lines.a >= 1 && lines.a <= kWidestPiece && pieces() >= 1 && pieces() <= kMostPieces, where,
         "its pieces are too many or too wide");
  Wanted(lines.scale == in[0].scale - shift && scale == lines.scale + lines.slope, where,
         "its scale does not follow from its input's");
  Wanted(window() < 62 && in[0].ring >= window(), where,
         "its input's ring is narrower than its shift and pieces, or these are 62 bits or more");
  if (sided()) {
    Wanted(pieces() >= kLeastPieces && lines.bits > lines.a + pieces(), where,
           "its pieces leave no room for lines on both sides");
    Wanted(compiler::WhyNotSides(Sides(), lowering).empty(), where, "its lowering does not apply");
    return;
  }
  const std::string why = compiler::WhyNotNumbers(Gate(64).f, lowering);
  Wanted(why.empty(), where, "its lowering does not apply");
  if (!summands) return;
  // the pieces are read at the un-truncated wire, with their neighbours
  const compiler::Lowering both{compiler::Kind::kWindowBoth};
  Wanted(compiler::WhyNotNumbers(Gate(64).f, both).empty(), where, "its pieces are not read with their neighbours");
}

gates::FunctionGate Activation::Gate(int to) const {
  return {compiler::Compile(func::ToSuf(lines, function, 64)), lowering, Entry(), to};
}

compiler::CutReading Activation::Entry() const {
  compiler::CutReading entry = gates::SignedEntry(window(), shift);
  entry.stages = lowering.stages;  // used if the lowering wants x as a wire of its own
  return entry;
}

// Offers to read both neighbours only if nothing is rounded away. Behind a shift WindowLut makes both cuts at once.
std::vector<Knob> Activation::Knobs() {
  std::vector<compiler::Lowering> options = compiler::AllForNumbers();
  if (sided()) {
    std::erase_if(options, [sides = Sides()](const auto& l) { return !compiler::WhyNotSides(sides, l).empty(); });
    // a name of its own, so that layers without sides are chosen separately
    return {LoweringKnob("lowering with sides", &lowering, std::move(options))};
  }
  const compiler::CompiledFunction c = Gate(64).f;
  std::erase_if(options, [&](const compiler::Lowering& l) {
    const bool kind = l.kind == compiler::Kind::kWindowLut || (shift == 0 && l.kind == compiler::Kind::kWindowBoth);
    return !kind || !compiler::WhyNotNumbers(c, l).empty();
  });
  return {LoweringKnob("lowering", &lowering, std::move(options))};
}

IntArray Activation::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  c.watch.See("input", x[0]->at);
  return {x[0]->shape, Gate(64).Spec(x[0]->at, window())};
}

AnyWire Activation::Build(const Emission& e, std::span<const AnyWire> x) const {
  Wire<kPub> z = AsOpen(x[0]);
  if (z.k() > window()) z = pfss::Map(z, [&](auto v) { return Low(v, window()); });
  if (sided()) return e.Open(compiler::LowerSides(e.t, Sides(), Entry(), z, ring));
  if (e.form != OperandForm::kSummands || shift > 0) return e.Open(Gate(ring).Build(e.t, z));
  const gates::FunctionGate f = Gate(summand_ring);
  return Summands{compiler::PieceSummands(e.t, f.f, f.entry, z, summand_ring), summand_ring, z.shape()};
}

}  // namespace suf::nn
