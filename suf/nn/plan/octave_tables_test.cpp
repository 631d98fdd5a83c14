// Norms of weights, and the numbers of tables that bounds use.
#include "suf/nn/plan/octave_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/plan/norms.hpp"

namespace suf::nn {
namespace {

TEST(Norms, LargestEigenvalueIsATightUpperBound) {
  const Reals a = {4, 1, 0, 1, 3, 1, 0, 1, 2};  // 3 + sqrt(3)
  const double bound = LargestEigenvalue(a, 3, exec::Default());
  EXPECT_GE(bound, 3 + std::sqrt(3.0));
  EXPECT_LE(bound, (3 + std::sqrt(3.0)) * 1.001);
  EXPECT_EQ(LargestEigenvalue(Reals(9, 0.0), 3, exec::Default()), 0);
}

// Compares with many vectors: no x with |x| = 1 is stretched further, and one comes near.
TEST(Norms, SingularValuesBoundEveryStretch) {
  Draws r(3);
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{5, 9}, {9, 5}, {1, 4}, {4, 1}}) {
    Reals a(size_t(rows * cols));
    for (double& x : a) x = r.Normal(0, 1);
    const double bound = Singular(a, cols, exec::Default());
    Reals x(size_t(rows), 1.0);
    double most = 0;
    for (int step = 0; step < 200; ++step) {  // the power method on A A^T
      Reals y(size_t(cols), 0.0), z(size_t(rows), 0.0);
      for (size_t i = 0; i < a.size(); ++i) y[i % size_t(cols)] += x[i / size_t(cols)] * a[i];
      most = std::max(most, Length(y) / Length(x));
      for (size_t i = 0; i < a.size(); ++i) z[i / size_t(cols)] += y[i % size_t(cols)] * a[i];
      const double by = Length(z);
      for (size_t i = 0; i < z.size(); ++i) x[i] = z[i] / by;
    }
    EXPECT_GE(bound * (1 + 1e-12), most);
    EXPECT_LE(bound, most * 1.06);
  }
}

// If both factors are one matrix, each pair of rows is multiplied once. The bound is that of all products, word for
// word.
TEST(Norms, HalfOfAGramMatrixIsAllOfIt) {
  Draws r(5);
  const auto times = [](const Reals& a, const Reals& b, int64_t k) {
    Reals c(a.size() / size_t(k) * (b.size() / size_t(k)));
    AddTimesTransposed(a, b, k, c, exec::Default());
    return c;
  };
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 3}, {6, 9}, {37, 41}, {70, 33}}) {
    Reals a(size_t(rows * cols));
    for (double& x : a) x = r.Normal(0, 1);
    const bool wide = rows <= cols;
    const int64_t n = wide ? rows : cols;
    Reals gram = wide ? times(a, a, cols) : times(Transposed(a, cols), Transposed(a, cols), rows);
    const Reals first = gram;
    double log = 0, trace = 0;
    for (int i = 0; i < 5; ++i) {
      const double top = std::abs(
          *std::max_element(gram.begin(), gram.end(), [](double x, double y) { return std::abs(x) < std::abs(y); }));
      for (double& x : gram) x /= top;
      log += std::log(top) / double(1 << i);
      gram = times(gram, Transposed(gram, n), n);
    }
    for (int64_t i = 0; i < n; ++i) trace += gram[size_t(i * n + i)];
    const double bound = std::exp(log + std::log(trace) / 32) * (1 + 1e-9);
    EXPECT_EQ(LargestEigenvalue(first, n, exec::Default()), bound);
    EXPECT_EQ(Singular(a, cols, exec::Default()), std::sqrt(bound));
  }
}

TEST(Norms, PathsAreThoseOfTheProduct) {
  Draws r(4);
  const int64_t in = 7, m = 3, out = 5;
  Reals a(size_t(in * m)), b(size_t(m * out)), ab(size_t(in * out), 0.0);
  for (double& x : a) x = r.Normal(0, 1);
  for (double& x : b) x = r.Normal(0, 1);
  for (int64_t i = 0; i < in; ++i)
    for (int64_t j = 0; j < out; ++j)
      for (int64_t k = 0; k < m; ++k) ab[size_t(i * out + j)] += a[size_t(i * m + k)] * b[size_t(k * out + j)];
  const Path p = PathOf(a, b, m, exec::Default());
  const Reals want = ColumnNorms(ab, out);
  for (size_t j = 0; j < want.size(); ++j) EXPECT_NEAR(p.column[j], want[j], 1e-9);
  EXPECT_NEAR(p.largest / Singular(ab, out, exec::Default()), 1, 0.06);
  EXPECT_EQ(Part({1, 2, 3, 4, 5, 6}, 3, 1, 2), (Reals{2, 3, 5, 6}));
}

TEST(Norms, BitLengthAndRing) {
  EXPECT_EQ(BitLength(0), 1);
  EXPECT_EQ(BitLength(1.9), 1);
  EXPECT_EQ(BitLength(2), 2);
  EXPECT_EQ(BitLength(255.5), 8);
  EXPECT_EQ(BitLength(256), 9);
  EXPECT_EQ(RingOf(255), 10);     // a sign and a gap
  EXPECT_EQ(RingOf(255, 1), 11);  // 1 is added before the shift
}

TEST(Tables, OctavesCoverTheirRangeWithinTheirError) {
  const double scale = 0x1p30;
  const func::Real f = [&](double v) { return scale / std::sqrt(v); };
  const auto table = Octaves(f, 6, 13, 20, 5, 4);
  const double excess = Excess(table, f);
  int64_t end = 0;
  double most = 0;
  for (const func::Octave& g : table) {
    ASSERT_EQ(g.lo << g.w, end);
    end = g.hi << g.w;
    for (int64_t x = std::max<int64_t>(1, g.lo << g.w); x < end; ++x) {
      const double t = double(g.values[size_t((x >> g.w) - g.lo)]) / f(double(x)) - 1;
      most = std::max(most, t);
      EXPECT_LT(x >= 64 && x < 1 << 13 ? std::abs(t) : 0, 1.0 / 64 / 2 * 1.02);
      EXPECT_LE(x >= 1 << 13 ? t : 0, 0);
    }
  }
  EXPECT_EQ(end, 1 << 20);
  EXPECT_DOUBLE_EQ(excess, most);
}

// The table has the requested number of pieces, the narrowest where most values were seen, beside any others.
TEST(Tables, StepsAreNarrowWhereArgumentsWere) {
  constexpr int kFloor = 6, kTop = 13, kHard = 20, kPieces = 96;
  const func::Real f = [](double v) { return 0x1p30 / std::sqrt(v); };
  Reals seen(50, 5000.0);
  for (int i = 0; i < 50; ++i) seen.push_back(300 + i);
  const auto table = Steps(f, kFloor, kTop, kHard, kPieces, seen);
  int64_t end = 0;
  int pieces = 0;
  double at_seen = 0, most = 0;
  for (const func::Octave& g : table) {
    ASSERT_EQ(g.lo << g.w, end);
    end = g.hi << g.w;
    for (int64_t x = std::max<int64_t>(1, g.lo << g.w); x < end; ++x) {
      const double t = double(g.values[size_t((x >> g.w) - g.lo)]) / f(double(x)) - 1;
      if (x >= 1 << kFloor && x < 1 << kTop) most = std::max(most, std::abs(t));
      if ((x >= 300 && x < 350) || x == 5000) at_seen = std::max(at_seen, std::abs(t));
      EXPECT_LE(x >= 1 << kTop ? t : 0, 0) << x;
    }
    if (g.lo << g.w >= 1 << kFloor && g.lo << g.w < 1 << kTop) pieces += int(g.hi - g.lo);
  }
  EXPECT_EQ(end, 1 << kHard);
  EXPECT_EQ(pieces, kPieces);
  EXPECT_LT(most, 1.0 / 8 / 4 * 1.02);  // 2^3 pieces an octave
  EXPECT_LT(at_seen, most / 3);
  EXPECT_FALSE(std::is_sorted(table.begin(), table.end(), [](auto& a, auto& b) { return a.w < b.w; }));
  // no values seen: pieces are spread over all octaves, and none is narrower than 1
  EXPECT_LT(Excess(Steps(f, kFloor, kTop, kHard, 16 * 7, {}), f), 1.0 / 16);
  EXPECT_EQ(Steps(f, 1, 3, 3, 4096, {}).back().w, 0);
}

TEST(Tables, ExcessOfLines) {
  for (const char* name : {"gelu", "gelu_new", "silu", "tanh", "relu"}) {
    const int x = 9, a = 5, p = 8, b = 7;
    const func::Lines t = func::FitLines(RealFunction(name), a, p, x, b).f;
    const double excess = Excess(t);
    EXPECT_LT(excess, 64) << name;
    for (int64_t i = -(1 << (a + p - 1)); i < 1 << (a + p - 1); ++i) {
      const int64_t u = i + (1 << (a + p - 1)), line = t.offset[size_t(u >> a)] + t.rise[size_t(u >> a)] * (u & 31);
      EXPECT_LE(double(std::abs(line)), std::ldexp(double(std::abs(i)), b) + excess) << name;
    }
  }
}

TEST(Tables, ExcessOfSides) {
  for (int64_t above : {-300, 40, 500})
    for (int64_t rise : {-9, 0, 8, 9}) {
      func::Lines t{2, 0, 3, {0, 0, 0, 0}, {0, 0, 0, 0}};
      t.bits = 8;
      t.below = {-above, rise};
      t.above = {above, rise};
      const double excess = Excess(t);
      double most = 0;
      for (int64_t i = 0; i < 120; ++i) {
        most = std::max(most, double(std::abs(above + rise * i) - 8 * (8 + i)));
        most = std::max(most, double(std::abs(-above + rise * i) - 8 * (128 - i)));
      }
      EXPECT_EQ(excess, most) << above << " " << rise;
    }
}

TEST(Tables, FunctionsHaveNames) {
  EXPECT_NEAR(RealFunction("gelu")(1), 0.8413447460685429, 1e-15);  // the normal distribution at 1
  EXPECT_NEAR(RealFunction("gelu_new")(1), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(RealFunction("silu")(1), 0.7310585786300049, 1e-15);
  EXPECT_EQ(RealFunction("relu")(-3), 0);
  EXPECT_EQ(Refusal([] { RealFunction("sine"); }),
            "there is no function sine; this program knows other ones, update it");
  RegisterFunction("sine", [](double x) { return std::sin(x); });
  EXPECT_EQ(RealFunction("sine")(0), 0);
  EXPECT_THROW(RegisterFunction("sine", [](double x) { return x; }), Bug);
}

}  // namespace
}  // namespace suf::nn
