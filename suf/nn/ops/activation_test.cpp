#include "suf/nn/ops/activation.hpp"

#include <cmath>

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

const char* const kFunctions[] = {"gelu", "gelu_new", "silu", "tanh", "relu"};

// Returns an activation of 2^(a + p) numbers behind the shift, at scales 2^scale and 2^slope.
Activation Make(const char* function, int shift, int a, int p, int scale, int slope, int ring, int stages) {
  Activation x;
  x.function = function;
  x.shift = shift;
  x.ring = ring;
  x.lowering.stages = compiler::Stages(stages);
  x.scale = scale + slope;
  x.lines = func::FitLines(RealFunction(function), a, p, scale, slope).f;
  return x;
}

// Returns an activation of 2^(a + p) numbers around zero and one line on each side, up to `bits` bits.
Activation WithSides(const char* function, int shift, int a, int p, int bits, int scale, int slope, int ring,
                     int stages) {
  Activation x = Make(function, shift, a, p, scale, slope, ring, stages);
  const func::Real& f = RealFunction(function);
  x.lines = func::WithSides(f, func::FitLines(f, a, p, scale, slope), bits).f;
  return x;
}

// Returns the result, computed by hand.
Ints Meant(const Activation& x, const Ints& z) {
  Ints y;
  for (int64_t v : z) {
    const uint64_t half = uint64_t{1} << (x.window() - 1), mask = 2 * half - 1;
    const uint64_t round = x.shift ? uint64_t{1} << (x.shift - 1) : 0;
    uint64_t u = ((uint64_t(v) + half + round) & mask) >> x.shift;
    if (x.sided()) {
      const uint64_t middle = half >> x.shift, core = uint64_t{1} << (x.lines.a + x.pieces() - 1);
      const bool below = u < middle - core;
      if (below || u >= middle + core) {
        const func::SideLine& line = below ? x.lines.below : x.lines.above;
        const uint64_t t = below ? u : u - middle - core;
        y.push_back(gates::Number(uint64_t(line.offset) + uint64_t(line.rise) * t, x.ring));
        continue;
      }
      u -= middle - core;
    }
    const uint64_t t = u & ((uint64_t{1} << x.lines.a) - 1);
    y.push_back(
        gates::Number(uint64_t(x.lines.offset[u >> x.lines.a]) + uint64_t(x.lines.rise[u >> x.lines.a]) * t, x.ring));
  }
  return y;
}

// Every z of the window, under two masks each, in rings wider and narrower than the words inside.
TEST(Activation, Exhaustive) {
  for (const char* function : kFunctions)
    for (int stages : {1, 2, 3})
      for (OperandForm form : kForms)
        for (int ring : {5, 40}) {
          Activation x = Make(function, 2, 3, 4, 4, 3, ring, stages);
          x.form = form;
          ASSERT_EQ(x.window(), 9);
          const Ints z = gates::Range(-256, 256, 2);
          OpRig rig(1024);
          EXPECT_EQ(rig.Run(x, {{{{1024, 1}, z}, 9}}), Meant(x, z)) << function;
          EXPECT_EQ(rig.key_bits(z.size()), 1024 * x.Gate(ring).KeyBits(form != OperandForm::kOpen))
              << function << stages;
        }
}

// Every z of the window, under two masks each: few pieces around zero, and lines to both ends. Summands are not made.
TEST(Activation, ExhaustiveWithSides) {
  for (const char* function : {"gelu", "silu", "tanh"})
    for (int shift : {0, 2})
      for (int stages : {1, 2, 3})
        for (OperandForm form : kForms)
          for (int ring : {5, 40}) {
            Activation x = WithSides(function, shift, 2, 3, 8, 3, 3, ring, stages);
            x.form = form;
            ASSERT_EQ(x.window(), 8 + shift);
            EXPECT_FALSE(x.Summed({}));
            const int64_t half = int64_t{1} << (7 + shift);
            const Ints z = gates::Range(-half, half, 2);
            OpRig rig(int(z.size()));
            EXPECT_EQ(rig.Run(x, {{{{int64_t(z.size()), 1}, z}, x.window()}}), Meant(x, z)) << function;
            // no word is owed, so the rig reads the mask of an open wire without a key
            const int64_t free = form == OperandForm::kOpen ? ring : 0;
            EXPECT_EQ(rig.key_bits(z.size()),
                      int64_t(z.size()) * (compiler::SidesKeyBits(x.Sides(), x.Entry(), ring) - free))
                << function << stages;
          }
}

TEST(Activation, FlightsWithSides) {
  for (int stages : {1, 2, 3})
    for (OperandForm form : kForms) {
      Activation x = WithSides("gelu", 2, 2, 3, 8, 3, 3, 40, stages);
      x.form = form;
      EXPECT_EQ(FlightsOf(1, [&](OpRig* rig) { rig->Run(x, {{{{4, 1}, {-500, -1, 0, 100}}, 10}}); }), 3 + stages);
    }
}

TEST(Activation, Flights) {
  for (int stages : {1, 2, 3})
    for (OperandForm form : kForms) {
      Activation x = Make("silu", 2, 3, 4, 4, 3, 40, stages);
      x.form = form;
      EXPECT_EQ(FlightsOf(1, [&](OpRig* rig) { rig->Run(x, {{{{4, 1}, {-200, -1, 0, 100}}, 9}}); }), 3 + stages);
    }
}

// Returns the lowerings that read the lines of z itself.
std::vector<compiler::Lowering> AtTheWire() {
  std::vector<compiler::Lowering> all = compiler::AllForNumbers();
  std::erase_if(all,
                [](auto& l) { return l.kind != compiler::Kind::kWindowLut && l.kind != compiler::Kind::kWindowBoth; });
  return all;
}

// Every z of the window, under eight masks each, without a shift.
TEST(Activation, ExhaustiveAtTheWire) {
  ASSERT_EQ(AtTheWire().size(), 9u);
  for (const char* function : {"gelu", "silu"})
    for (const compiler::Lowering& l : AtTheWire())
      for (OperandForm form : kForms)
        for (int ring : {5, 40}) {
          Activation x = Make(function, 0, 5, 4, 6, 3, ring, 1);
          x.form = form;
          x.lowering = l;
          ASSERT_EQ(x.window(), 9);
          const Ints z = gates::Range(-256, 256, 8);
          OpRig rig(4096);
          EXPECT_EQ(rig.Run(x, {{{{4096, 1}, z}, 9}}), Meant(x, z)) << function << compiler::Name(l);
          EXPECT_EQ(rig.key_bits(z.size()), 4096 * x.Gate(ring).KeyBits(form != OperandForm::kOpen))
              << compiler::Name(l);
          const bool both = l.kind == compiler::Kind::kWindowBoth;
          EXPECT_EQ(FlightsOf(1,
                              [&](OpRig* r) {
                                r->Run(x, {{{{4, 1}, {-200, -1, 0, 100}}, 9}});
                              }),
                    (both ? 1 : 3) + int(l.stages))
              << compiler::Name(l);
        }
}

// GELU at its real size, read at the un-rounded input: 28 bits into a ring of 55. Compares key bits and sent bits an
// element, of both parties. The flights to the opening are tested in Flights.
TEST(Activation, BitsAtTheWire) {
  auto measured = [](Activation x, int window) {
    x.ring = 55;
    OpRig rig(64);
    const Ints z = Numbers(64, (int64_t{1} << (window - 1)) - 1);
    EXPECT_EQ(rig.Run(x, {{{{64, 1}, z}, window}}), Meant(x, z));
    int64_t sent = 0;
    for (const char* label : {"bits", "carry", "blocks", "low digit", "piece", "U", "V", "step"})
      sent += rig.g.sent(label) / 64;
    const std::pair<int64_t, int64_t> both{x.Gate(55).KeyBits(false), sent};
    std::printf("shift %d, %s: %d bits of key, %d sent\n", x.shift, compiler::Name(x.lowering).c_str(), int(both.first),
                int(both.second));
    return both;
  };
  for (int stages : {1, 2, 3}) measured(Make("gelu", 15, 6, 7, 9, 6, 55, stages), 28);
  std::map<std::string, std::pair<int64_t, int64_t>> at;
  for (const compiler::Lowering& l : AtTheWire()) {
    Activation x = Make("gelu", 0, 21, 7, 24, 6, 55, 1);
    x.lowering = l;
    at[compiler::Name(l)] = measured(x, 28);
  }
  // U and V and their steps: 55 bits each, or 36, 37, 9 and 10
  for (const char* l : {"WindowBoth/1", "WindowBoth/2", "WindowBoth/3"}) {
    const auto wide = at.at(l), narrow = at.at(std::string(l) + "/narrow");
    EXPECT_EQ(wide.second - narrow.second, 2 * (4 * 55 - 36 - 37 - 9 - 10)) << l;
    EXPECT_GT(narrow.first, wide.first);
  }
}

// Returns the largest error of a function alone on its window, in real units. Tries random places and the ends of
// pieces.
double ErrorOf(const Activation& x, int scale) {
  const int64_t half = int64_t{1} << (x.window() - 1), piece = int64_t{1} << (x.lines.a + x.shift);
  Ints z = Numbers(100000, half - piece, 5);
  for (int64_t at = -half + piece; at < half - piece; at += piece)
    for (int64_t d : {-1, 0, 1}) z.push_back(at + d);
  OpRig rig(1);
  const Ints y = rig.Spec(x, {{{{int64_t(z.size()), 1}, z}}}).at;
  const func::Real& f = RealFunction(x.function);
  double most = 0;
  for (size_t i = 0; i < z.size(); ++i)
    most = std::max(most, std::abs(std::ldexp(double(y[i]), -x.scale) - f(std::ldexp(double(z[i]), -scale))));
  return most;
}

TEST(Activation, WideRings) {
  for (int window : {31, 32, 33, 47, 61})
    for (int stages : {1, 2, 3})
      for (int wider : {0, 2}) {
        const int shift = window - (stages == 1 ? 17 : 11), p = 5;
        const Activation x = Make("silu", shift, window - shift - p, p, 12, 6, 50, stages);
        ASSERT_EQ(x.window(), window);
        const Ints z = Numbers(100, (int64_t{1} << (window - 1)) - 1, uint64_t(window));
        OpRig rig(100);
        EXPECT_EQ(rig.Run(x, {{{{100, 1}, z}, window + wider}}), Meant(x, z)) << window;
      }
}

TEST(Activation, FloatAndSee) {
  Checkpoint w;
  const RealArray x{{1, 3}, {-1.5, 0, 2}};
  auto apply = [&](const char* function) {
    Activation a;
    a.function = function;
    return FloatOf(a, 1, w, {x}).at;
  };
  EXPECT_EQ(apply("relu"), (Reals{0, 0, 2}));
  EXPECT_EQ(apply("tanh"), (Reals{std::tanh(-1.5), 0, std::tanh(2)}));
  EXPECT_NEAR(apply("gelu")[2], 1.9544997361036416, 1e-15);  // 2 Phi(2)
  EXPECT_NEAR(apply("gelu_new")[2], 1.954597694087775, 1e-12);
  EXPECT_NEAR(apply("silu")[0], -1.5 / (1 + std::exp(1.5)), 1e-15);
  RegisterFunction("cube_test", [](double v) { return v * v * v; });
  EXPECT_THROW(RegisterFunction("cube_test", [](double v) { return v; }), Bug);
  EXPECT_EQ(apply("cube_test"), (Reals{-3.375, 0, 8}));
  ExpectRefused([&] { apply("step"); }, "there is no function step; this program knows other ones, update it");
  Activation a;
  a.function = "relu";
  Seen seen;
  FloatOf(a, 1, w, {x}, {}, &seen);
  EXPECT_TRUE(seen.at("input")[0].low == -1.5 && seen.at("input")[0].high == 2);
}

Activation ChosenFor(const char* function, int scale, double low, double high, Options o = {}) {
  const Seen seen{{"input", {{low, high}}}};
  Activation a;
  a.function = function;
  Facts f{o};
  f.seen = &seen;
  a.Choose(f, {EdgeOf(scale, 0, 2)});
  return a;
}

TEST(Activation, Choose) {
  const Activation a = ChosenFor("gelu", 20, -5, 6);
  EXPECT_EQ(a.shift, 11);                // 20 to input
  EXPECT_EQ(a.scale, 15);                // and slope
  EXPECT_EQ(a.lines.a, 6);               // piece
  EXPECT_EQ(a.pieces(), 3 + 1 + 9 - 6);  // 1.25 times 6 is below 8
  EXPECT_EQ(a.window(), 11 + 13);
  EXPECT_EQ(a.Need(0, {}), 24);
  EXPECT_TRUE(a.Wraps());
  const Activation other = Make("gelu", 11, 6, 7, 9, 6, 0, 1);
  EXPECT_EQ(a.lines.offset, other.lines.offset);
  EXPECT_EQ(a.lines.rise, other.lines.rise);
  Options o;
  o.Set("piece", 1);
  ExpectRefused([&] { ChosenFor("gelu", 20, -5, 6, o); },
                "the gelu needs 2^12 pieces, the limits are 2^2 and 2^10; change `piece`");
  o.Set("piece", 14);
  ExpectRefused([&] { ChosenFor("gelu", 20, -5, 6, o); }, "pieces, the limits are 2^2 and 2^10; change `piece`");
  // relu has two lines a sign, exact in its whole window
  const Activation relu = ChosenFor("relu", 20, -5, 6);
  EXPECT_EQ(relu.pieces(), 2);
  OpRig rig(1);
  for (int64_t x = -(1 << 12); x < 1 << 12; ++x)
    ASSERT_EQ(rig.Spec(relu, {{{{1, 1}, {x << 11}}}}).at[0], std::max<int64_t>(x, 0) << 6);
  EXPECT_EQ(rig.witness.seen.at("input").size(), 1u);
}

// MPNet's inputs reach 98. Pieces of an eighth reach to 4, and one line on each side to the end of the window.
// Functions within the limit of pieces keep their form.
TEST(Activation, ChooseSides) {
  for (int neighbours : {0, 1}) {
    Options o;
    o.Set("pieces", neighbours);
    const Activation a = ChosenFor("gelu", 24, -30, 98, o);
    ASSERT_TRUE(a.sided());
    EXPECT_EQ(a.pieces(), 6);
    EXPECT_EQ(a.lines.a, neighbours ? 21 : 6);
    EXPECT_EQ(a.window(), 24 + 8);
    EXPECT_EQ(a.lines.below, func::SideLine{});
    EXPECT_EQ(a.lines.above.rise, 1 << 6);
    EXPECT_EQ(a.lines.above.offset, int64_t{4} << a.scale);
    EXPECT_EQ(compiler::Name(a.lowering), "WindowLut/1");
    Activation any = a;
    EXPECT_EQ(any.Knobs().at(0).options, (std::vector<std::string>{"WindowLut/1", "WindowLut/2", "WindowLut/3"}));
    const double error = ErrorOf(a, 24);
    std::printf("gelu up to 98: largest error %.2e\n", error);
    EXPECT_LT(error, neighbours ? 1.5e-3 : 2.5e-3);
    EXPECT_FALSE(ChosenFor("gelu", 24, -30, 50, o).sided());  // 2^10 pieces
  }
  EXPECT_EQ(ChosenFor("gelu_new", 24, -30, 98).pieces(), 6);
  EXPECT_EQ(ChosenFor("tanh", 24, -30, 98).pieces(), 6);
  EXPECT_EQ(ChosenFor("silu", 24, -30, 98).pieces(), 8);
  EXPECT_FALSE(ChosenFor("relu", 24, -30, 98).sided());
  RegisterFunction("wave_test", [](double v) { return std::sin(v); });
  ExpectRefused([&] { ChosenFor("wave_test", 24, -30, 98); },
                "the wave_test needs 2^11 pieces, the limits are 2^2 and 2^10; change `piece`");
}

// Lines of the un-rounded input have its scale and its ring, and as many pieces. The error of rounding is gone.
TEST(Activation, ChooseNeighbours) {
  Options o;
  o.Set("pieces", 1);
  for (const char* function : {"gelu", "gelu_new", "silu", "tanh"}) {
    const Activation slice = ChosenFor(function, 24, -5, 6), whole = ChosenFor(function, 24, -5, 6, o);
    EXPECT_EQ(whole.shift, 0);
    EXPECT_EQ(whole.scale, 24 + 6);
    EXPECT_EQ(whole.lines.a, 6 + 15);
    EXPECT_EQ(whole.pieces(), slice.pieces());
    EXPECT_EQ(whole.window(), slice.window());
    EXPECT_EQ(compiler::Name(whole.lowering), "WindowBoth/1");
    const double before = ErrorOf(slice, 24), after = ErrorOf(whole, 24);
    std::printf("%s: largest error %.2e behind a shift, %.2e at the wire\n", function, before, after);
    EXPECT_LT(after, before);
    EXPECT_LT(after, 1e-3);
    // the search may choose any of them
    Activation any = whole;
    EXPECT_EQ(any.Knobs().at(0).options.size(), 9u);
    EXPECT_EQ(any.Knobs().at(0).options.at(any.Knobs().at(0).at), "WindowBoth/1");
    any = slice;
    EXPECT_EQ(any.Knobs().at(0).options, (std::vector<std::string>{"WindowLut/1", "WindowLut/2", "WindowLut/3"}));
  }
}

// Every row inside a reach, also for a reach wider than the window.
TEST(Activation, BoundIsSound) {
  for (const char* function : kFunctions)
    for (const RowBound& reach : {BoxOf({60, 20}), RowBound{2, 40, {}, {}, {}}, BoxOf({300, 1})}) {
      for (Activation x : {Make(function, 1, 2, 4, 3, 3, 40, 1), Make(function, 0, 3, 4, 4, 3, 40, 1),
                           WithSides(function, 1, 2, 2, 6, 3, 3, 40, 1)}) {
        const Bounded b = BoundOf(x, 1, {EdgeOf(4, 0, 2, reach)});
        EXPECT_TRUE(b.widths.at("input").calibrated && b.widths.at("input").bits == x.window() - 1);
        OpRig rig(1);
        for (const Ints& z : RowsOf(reach)) ExpectWithin(rig.Spec(x, {{{{1, 2}, z}}}), b.reach);
      }
    }
}

TEST(Activation, FieldsAndCheck) {
  Activation x = Make("gelu", 4, 3, 4, 4, 3, 40, 2);
  ExpectFields(x);
  Activation wire = Make("gelu", 0, 7, 4, 8, 3, 40, 1);
  wire.lowering = {compiler::Kind::kWindowBoth};
  ExpectFields(wire);
  using F = Fault<Activation>;
  const char *scale = "its scale does not follow from its input's",
             *ring = "its input's ring is narrower than its shift and pieces, or these are 62 bits or more";
  ExpectChecked<Activation>(
      x, {EdgeOf(8, 11, 4)}, 9,
      {F{[](Activation& y, Edges&) { y.lines.a = 0; }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.a = 41; }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.offset.resize(1); }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.offset.resize(2048); }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { ++y.scale; }, scale}, F{[](Activation&, Edges& e) { ++e[0].scale; }, scale},
       F{[](Activation&, Edges& e) { e[0].ring = 10; }, ring},
       F{[](Activation& y, Edges& e) {
           y.shift = 55;
           e[0].scale = 59;
           e[0].ring = 62;
         },
         ring},
       F{[](Activation& y, Edges&) { y.lowering = {compiler::Kind::kRowLut}; }, "its lowering does not apply"}});
}

TEST(Activation, FieldsAndCheckWithSides) {
  const Activation x = WithSides("gelu", 4, 3, 4, 10, 4, 3, 40, 2);
  ExpectFields(x);
  using F = Fault<Activation>;
  const char *room = "its pieces leave no room for lines on both sides", *lowering = "its lowering does not apply";
  ExpectChecked<Activation>(
      x, {EdgeOf(8, 14, 4)}, 9,
      {F{[](Activation& y, Edges&) { y.lines.a = 0; }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.offset.resize(2048); }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) {
           y.lines.offset.resize(2);
           y.lines.rise.resize(2);
         },
         room},
       F{[](Activation& y, Edges&) { y.lines.bits = 7; }, room}, F{[](Activation& y, Edges&) { y.lines.a = 6; }, room},
       F{[](Activation&, Edges& e) { e[0].ring = 13; },
         "its input's ring is narrower than its shift and pieces, or these are 62 bits or more"},
       F{[](Activation& y, Edges&) { y.lines.bits = 60; },
         "its input's ring is narrower than its shift and pieces, or these are 62 bits or more"},
       F{[](Activation& y, Edges&) { y.lowering = {compiler::Kind::kWindowBoth}; }, lowering},
       F{[](Activation& y, Edges&) { y.lowering = {compiler::Kind::kIndex}; }, lowering},
       F{[](Activation& y, Edges&) {  // pieces that continue their sides
           y.lines.offset.assign(16, 0);
           y.lines.rise.assign(16, 0);
           y.lines.below = y.lines.above = {};
         },
         lowering}});
}

}  // namespace
}  // namespace suf::nn
