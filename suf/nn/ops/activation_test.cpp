#include "suf/nn/ops/activation.hpp"

#include <cmath>

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

const char* const kFunctions[] = {"gelu", "gelu_new", "silu", "tanh", "relu"};

// Make: of 2^(a + p) numbers behind the shift, at scales 2^scale and 2^slope.
Activation Make(const char* function, int shift, int a, int p, int scale, int slope, int ring, int stages) {
  Activation x;
  x.function = function, x.shift = shift, x.ring = ring, x.lowering.stages = compiler::Stages(stages),
  x.scale = scale + slope;
  x.lines = func::FitLines(RealFunction(function), a, p, scale, slope).f;
  return x;
}

// Meant: by hand.
Ints Meant(const Activation& x, const Ints& z) {
  Ints y;
  for (int64_t v : z) {
    const uint64_t half = uint64_t{1} << (x.window() - 1), mask = 2 * half - 1;
    const uint64_t u = ((uint64_t(v) + half + (uint64_t{1} << (x.shift - 1))) & mask) >> x.shift;
    const uint64_t t = u & ((uint64_t{1} << x.lines.a) - 1);
    y.push_back(
        gates::Number(uint64_t(x.lines.offset[u >> x.lines.a]) + uint64_t(x.lines.rise[u >> x.lines.a]) * t, x.ring));
  }
  return y;
}

// Every z of the window, two masks each, in rings wider and narrower than the words inside.
TEST(Activation, Exhaustive) {
  for (const char* function : kFunctions)
    for (int stages : {1, 2, 3})
      for (Form form : kForms)
        for (int ring : {5, 40}) {
          Activation x = Make(function, 2, 3, 4, 4, 3, ring, stages);
          x.form = form;
          ASSERT_EQ(x.window(), 9);
          const Ints z = gates::Range(-256, 256, 2);
          OpRig rig(1024);
          EXPECT_EQ(rig.Run(x, {{{{1024, 1}, z}, 9}}), Meant(x, z)) << function;
          EXPECT_EQ(rig.key_bits(z.size()), 1024 * x.Gate(ring).KeyBits(form != Form::kOpen)) << function << stages;
        }
}

TEST(Activation, Flights) {
  for (int stages : {1, 2, 3})
    for (Form form : kForms) {
      Activation x = Make("silu", 2, 3, 4, 4, 3, 40, stages);
      x.form = form;
      EXPECT_EQ(FlightsOf(1, [&](OpRig* rig) { rig->Run(x, {{{{4, 1}, {-200, -1, 0, 100}}, 9}}); }), 3 + stages);
    }
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
  Weights w;
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

Activation Chosen(const char* function, int scale, double low, double high, Options o = {}) {
  const Seen seen{{"input", {{low, high}}}};
  Activation a;
  a.function = function;
  Facts f{o};
  f.seen = &seen;
  a.Choose(f, {EdgeOf(scale, 0, 2)});
  return a;
}

TEST(Activation, Choose) {
  const Activation a = Chosen("gelu", 20, -5, 6);
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
  ExpectRefused([&] { Chosen("gelu", 20, -5, 6, o); },
                "the gelu needs 2^12 pieces, the limits are 2^2 and 2^10; change `piece`");
  o.Set("piece", 14);
  ExpectRefused([&] { Chosen("gelu", 20, -5, 6, o); }, "pieces, the limits are 2^2 and 2^10; change `piece`");
  // relu is two lines a sign, exact in its whole window
  const Activation relu = Chosen("relu", 20, -5, 6);
  EXPECT_EQ(relu.pieces(), 2);
  OpRig rig(1);
  for (int64_t x = -(1 << 12); x < 1 << 12; ++x)
    ASSERT_EQ(rig.Spec(relu, {{{{1, 1}, {x << 11}}}}).at[0], std::max<int64_t>(x, 0) << 6);
  EXPECT_EQ(rig.witness.seen.at("input").size(), 1u);
}

// Every row inside a reach, also one wider than the window.
TEST(Activation, BoundIsSound) {
  for (const char* function : kFunctions)
    for (const Reach& reach : {BoxOf({60, 20}), Reach{2, 40, {}, {}, {}}, BoxOf({300, 1})}) {
      Activation x = Make(function, 1, 2, 4, 3, 3, 40, 1);
      const Bounded b = BoundOf(x, 1, {EdgeOf(4, 0, 2, reach)});
      EXPECT_TRUE(b.widths.at("input").calibrated && b.widths.at("input").bits == x.window() - 1);
      OpRig rig(1);
      for (const Ints& z : RowsOf(reach)) ExpectWithin(rig.Spec(x, {{{{1, 2}, z}}}), b.reach);
    }
}

TEST(Activation, FieldsAndCheck) {
  Activation x = Make("gelu", 4, 3, 4, 4, 3, 40, 2);
  ExpectFields(x);
  using F = Fault<Activation>;
  const char *scale = "its scale does not follow from its input's",
             *ring = "its input's ring is not its shift and pieces";
  ExpectChecked<Activation>(
      x, {EdgeOf(8, 11, 4)}, 9,
      {F{[](Activation& y, Edges&) { y.lines.a = 0; }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.a = 31; }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.offset.resize(1); }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { y.lines.offset.resize(2048); }, "its pieces are too many or too wide"},
       F{[](Activation& y, Edges&) { ++y.scale; }, scale}, F{[](Activation&, Edges& e) { ++e[0].scale; }, scale},
       F{[](Activation&, Edges& e) { e[0].ring = 12; }, ring},
       F{[](Activation& y, Edges& e) { y.shift = 55, e[0].scale = 59, e[0].ring = 62; }, ring},
       F{[](Activation& y, Edges&) { y.lowering = {compiler::Kind::kRowLut}; }, "its lowering does not apply"}});
}

}  // namespace
}  // namespace suf::nn
