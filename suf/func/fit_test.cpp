#include "suf/func/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "suf/func/suf.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {
namespace {

double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

// The reported error is the largest one over all points.
TEST(Fit, LinesReportTheirError) {
  for (int a : {2, 4})
    for (int slope : {3, 7}) {
      auto fit = FitLines(Gelu, a, 6, 5, slope);
      Suf f = ToSuf(fit.f, "gelu", 32);
      double worst = 0;
      for (uint64_t u = 0; u < uint64_t{1} << (a + 6); ++u) {
        double x = std::ldexp(double(int64_t(u) - (int64_t{1} << (a + 5))), -5);
        worst = std::max(worst, std::abs(std::ldexp(double(Channels(f, u)[0]), -5 - slope) - Gelu(x)));
      }
      EXPECT_DOUBLE_EQ(worst, fit.error);
      EXPECT_LT(fit.error, a == 2 ? 0.03 : 0.06);
    }
}

// Lines on both sides reach to the ends of the ring, and the reported error includes theirs. Outside a few units GELU
// is 0 or x, and tanh is -1 or 1.
TEST(Fit, SidesReportTheirError) {
  for (int p : {3, 5}) {
    const auto pieces = FitLines(Gelu, 3, p, 5, 4), all = WithSides(Gelu, pieces, 12);
    EXPECT_EQ(all.f.offset, pieces.f.offset);
    const Suf f = ToSuf(all.f, "gelu", 40);
    EXPECT_EQ(f.n, 12);
    EXPECT_EQ(f.pieces.size(), (size_t{1} << p) + 2);
    double worst = 0;
    for (uint64_t u = 0; u < uint64_t{1} << 12; ++u) {
      const double x = std::ldexp(double(int64_t(u) - (int64_t{1} << 11)), -5);
      worst = std::max(worst, std::abs(std::ldexp(double(Channels(f, u)[0]), -9) - Gelu(x)));
    }
    EXPECT_DOUBLE_EQ(worst, all.error);
    EXPECT_EQ(all.error == pieces.error, p == 5);  // 2^3 pieces end at 1, where GELU still bends
  }
  const Lines gelu = WithSides(Gelu, FitLines(Gelu, 3, 5, 5, 4), 12).f;
  EXPECT_EQ(gelu.below, (SideLine{0, 0}));
  EXPECT_EQ(gelu.above, (SideLine{4 << 9, 1 << 4}));
  const Real tanh = [](double x) { return std::tanh(x); };
  const Lines flat = WithSides(tanh, FitLines(tanh, 3, 5, 5, 4), 12).f;
  EXPECT_EQ(flat.below, (SideLine{-512, 0}));
  EXPECT_EQ(flat.above, (SideLine{512, 0}));
  // a domain too large to visit whole
  const auto wide = WithSides(Gelu, FitLines(Gelu, 21, 6, 24, 6), 32);
  EXPECT_FALSE(wide.exact);
  EXPECT_EQ(wide.f.below, (SideLine{0, 0}));
  EXPECT_EQ(wide.f.above, (SideLine{int64_t{4} << 30, 1 << 6}));
}

TEST(Fit, OctavesReportTheirError) {
  Real recip = [](double v) { return std::ldexp(1, 20) / v; };
  auto fit = FitOctaves(recip, 4, 12, 4, 3);
  Suf f = FromGroups("recip", fit.f, 12, 32);
  double worst = 0, relative = 0;
  for (uint64_t x = 16; x < 4096; ++x) {
    double got = double(Evaluate(f, x).poly[0]);
    worst = std::max(worst, std::abs(got - recip(double(x))));
    relative = std::max(relative, std::abs(got / recip(double(x)) - 1));
  }
  EXPECT_DOUBLE_EQ(worst, fit.error);
  EXPECT_DOUBLE_EQ(relative, fit.relative);
  EXPECT_LT(fit.relative, 0.04);
  for (uint64_t x = 0; x < 16; ++x) EXPECT_EQ(Evaluate(f, x).poly[0], Evaluate(f, 16).poly[0]);
  auto below = FitOctavesBelow(recip, 4, 12, 1, 8);
  Suf g = FromGroups("below", below.f, 12, 32);
  for (uint64_t x = 16; x < 4096; ++x) EXPECT_LE(double(Evaluate(g, x).poly[0]), recip(double(x)));
}

// Errors inside the pieces count. These functions have extremes there, in pieces of up to 512 points.
TEST(Fit, OctavesReportTheErrorInside) {
  const Real turning[] = {[](double v) { return 1000 + 400 * std::sin(v / 61); },
                          [](double v) { return 5000 - std::abs(v - 2600.0); },
                          [](double v) { return 40 + std::pow((v - 3000) / 256, 2); },
                          [](double v) { return std::ldexp(1, 20) / v + 3 * std::cos(v / 3); }};
  for (const Real& f : turning)
    for (int p : {2, 3, 7}) {
      auto fit = FitOctaves(f, 4, 12, p, 8);
      double worst = 0, relative = 0;
      const Evaluator e(fit.f, 12, 40);
      for (uint64_t x = 16; x < 4096; ++x) {
        double got = double(ring::Signed(e.At(x), 40)), want = f(double(x));
        worst = std::max(worst, std::abs(got - want));
        relative = std::max(relative, std::abs(got / want - 1));
      }
      EXPECT_TRUE(fit.exact);
      EXPECT_DOUBLE_EQ(worst, fit.error) << p;
      EXPECT_DOUBLE_EQ(relative, fit.relative) << p;
    }
}

// In domains of more than 2^24 points the error is a bound. It covers the errors of all sampled points closely.
TEST(Fit, OctavesBoundTheErrorOfWideDomains) {
  const Real turning[] = {[](double v) { return std::ldexp(1, 40) / v; },
                          [](double v) { return 1e7 + 1e6 * std::sin(std::log2(v) * 3); },
                          [](double v) { return 3e7 + std::abs(v - 54321012); }};
  for (const Real& f : turning) {
    auto fit = FitOctaves(f, 10, 28, 4, 3);
    EXPECT_FALSE(fit.exact);
    double worst = 0, relative = 0;
    const Evaluator e(fit.f, 28, 40);
    for (uint64_t x = 1024; x < uint64_t{1} << 28; x += 1 + x / 50000) {
      double got = double(ring::Signed(e.At(x), 40)), want = f(double(x));
      worst = std::max(worst, std::abs(got - want));
      relative = std::max(relative, std::abs(got / want - 1));
    }
    EXPECT_LE(worst, fit.error);
    EXPECT_LE(relative, fit.relative);
    EXPECT_LT(fit.error, 1.02 * worst);
    EXPECT_LT(fit.relative, 1.02 * relative);
  }
}

TEST(Fit, Tables) {
  auto fit = FitTable([](double i) { return std::exp(-i / 8); }, 5, 10);
  ASSERT_EQ(fit.f.size(), 32u);
  for (int i = 0; i < 32; ++i) EXPECT_LE(std::abs(double(fit.f[size_t(i)]) / 1024 - std::exp(-i / 8.0)), fit.error);
  EXPECT_LE(fit.error, 0.5 / 1024 + 1e-12);
}

}  // namespace
}  // namespace suf::func
