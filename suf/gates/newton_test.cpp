#include "suf/gates/newton.hpp"

#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/func/suf.hpp"
#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

// Returns a table of 2^scale F(X / 2^x_scale) on [2^low, 2^high), with at least 2^p pieces an octave.
std::vector<func::Octave> Coarse(Newton::Of of, int low, int high, int p, int x_scale, int scale) {
  auto f = [=](double x) {
    const double v = std::ldexp(x, -x_scale);
    return std::ldexp(of == Newton::Of::kRecip ? 1 / v : 1 / std::sqrt(v), scale);
  };
  return func::FitOctaves(f, low, high, p, 2, func::Measure::kNone).f;
}

// Every x below a quarter of rings of 8 and 10 bits, under 8 masks each, in one to three stages.
TEST(Newton, Exhaustive) {
  for (Newton::Of of : {Newton::Of::kRecip, Newton::Of::kRsqrt})
    for (int k : {8, 10})
      for (int steps : {1, 2})
        for (Stages stages : {Stages::kOne, Stages::kTwo, Stages::kThree})
          for (int ring : {5, 12, 40}) {
            Newton gate{of, Coarse(of, 2, k - 3, 1, 4, 8), 4, 8, 6, 1, steps, ring, stages};
            Rig g;
            Ints x = Range(0, 1 << (k - 2), 8);
            EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k))), gate.Spec(x, k))
                << int(of) << " " << k << " " << steps << " " << int(stages) << " " << ring;
            EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(k)) << int(of) << " " << steps << " " << ring;
            EXPECT_EQ(g.sent("E"), 2 * int64_t(x.size()) * steps * (6 + 4));
          }
}

// A step squares the relative error of the table, up to two units in the last place.
TEST(Newton, ConvergesAndFits) {
  const int k = 32, x_scale = 12, scale = 16;
  for (Newton::Of of : {Newton::Of::kRecip, Newton::Of::kRsqrt}) {
    const bool root = of == Newton::Of::kRsqrt;
    const std::vector<func::Octave> coarse = Coarse(of, 12, 22, 3, x_scale, scale);
    const func::Evaluator table(coarse, k, 64);
    const Ints x = Some(1 << 12, (1 << 22) - 1, 300, 7);
    auto real = [&](int64_t v) {
      const double r = std::ldexp(double(v), -x_scale);
      return std::ldexp(root ? 1 / std::sqrt(r) : 1 / r, scale);
    };
    double relative = 0;
    for (int64_t v : x) relative = std::max(relative, std::abs(double(table.At(uint64_t(v))) / real(v) - 1));
    EXPECT_GT(relative, 0.01);
    for (int steps : {1, 2}) {
      relative *= root ? 1.5 * relative * (1 + relative) : relative;
      Newton gate{of, coarse, x_scale, scale, 20, 8, steps, 40, Stages::kThree};
      Rig g;
      Ints y = g.Run(gate.Build(g.t, g.Both(x, k)));
      EXPECT_EQ(y, gate.Spec(x, k));
      EXPECT_EQ(g.key_bits(), 300 * gate.KeyBits(k));
      EXPECT_EQ(g.flights(), root ? 2 + 16 * steps : 4 + 10 * steps);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(std::abs(double(y[i]) - real(x[i])), relative * real(x[i]) + 2)
            << int(of) << " " << steps << " " << x[i];
    }
  }
}

TEST(Newton, RefusesWhatLeavesItsRings) {
  Rig g;
  auto x = g.Give({5}, 12);
  const std::vector<func::Octave> coarse = Coarse(Newton::Of::kRecip, 2, 8, 2, 4, 8);
  EXPECT_NO_THROW((void)(Newton{Newton::Of::kRecip, coarse, 4, 8, 8}.Build(g.t, x)));
  std::vector<func::Octave> high = coarse;
  high.back().values.back() *= 3;
  EXPECT_THROW((void)(Newton{Newton::Of::kRecip, high, 4, 8, 8}.Build(g.t, x)), Error);
  EXPECT_THROW((void)(Newton{Newton::Of::kRecip, coarse, 40, 30, 8}.Build(g.t, x)), Error);
  EXPECT_THROW((void)(Newton{Newton::Of::kRecip, coarse, 4, 8, 12}.Build(g.t, x)), Error);
  EXPECT_THROW((void)(Newton{Newton::Of::kRecip, coarse, 4, 8, 5}.Build(g.t, x)), Error);
}

}  // namespace
}  // namespace suf::gates
