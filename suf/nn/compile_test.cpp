#include "suf/nn/compile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "suf/nn/certify.hpp"
#include "suf/nn/forward.hpp"
#include "suf/nn/quantise.hpp"
#include "suf/nn/tables.hpp"
#include "suf/nn/tiny.hpp"

namespace suf::nn {
namespace {

// PermuteRows: rows of a (rows, cols) matrix; PermuteColumns: its columns.
std::vector<float> PermuteRows(const std::vector<float>& a, const std::vector<size_t>& order) {
  const size_t cols = a.size() / order.size();
  std::vector<float> b;
  for (size_t i : order) b.insert(b.end(), a.begin() + int64_t(i * cols), a.begin() + int64_t((i + 1) * cols));
  return b;
}

std::vector<float> PermuteColumns(const std::vector<float>& a, const std::vector<size_t>& order) {
  std::vector<float> b;
  for (size_t row = 0; row < a.size(); row += order.size())
    for (size_t j : order) b.push_back(a[row + j]);
  return b;
}

// Shuffled: [0, count), permuted within blocks of `block`.
std::vector<size_t> Shuffled(size_t count, size_t block, uint64_t seed) {
  Draws r(seed);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t at = 0; at < count; at += block)
    for (size_t i = block - 1; i > 0; --i) std::swap(order[at + i], order[at + size_t(r.Below(int64_t(i + 1)))]);
  return order;
}

TEST(Compile, HiddenUnitsMayBePermuted) {
  const Weights w = TinyWeights(1);
  const auto texts = TinyTexts(2, 40, 16);
  Weights v = w;
  for (Weights::Layer& y : v.layers) {
    const auto hidden = Shuffled(size_t(kTiny.ff), size_t(kTiny.ff), 3);
    y.w_in = PermuteRows(y.w_in, hidden), y.b_in = PermuteRows(y.b_in, hidden),
    y.w_out = PermuteColumns(y.w_out, hidden);
    const size_t d = size_t(kTiny.d), dh = d / size_t(kTiny.heads);
    const auto values = Shuffled(d, dh, 4), keys = Shuffled(d, dh, 5);
    y.wv = PermuteRows(y.wv, values), y.bv = PermuteRows(y.bv, values), y.wo = PermuteColumns(y.wo, values);
    y.wq = PermuteRows(y.wq, keys), y.bq = PermuteRows(y.bq, keys);
    y.wk = PermuteRows(y.wk, keys), y.bk = PermuteRows(y.bk, keys);
  }
  EXPECT_EQ(Serialize(Compile(v, texts, TinyOptions())), Serialize(Compile(w, texts, TinyOptions())));
}

// Compile opens each table's values in the least ring that has room for them, and Check refuses the one below it.
TEST(Compile, RingsOfOpenedTablesAreTheLeastThatCheckAccepts) {
  const Plan plan = Compile(TinyWeights(1), TinyTexts(2, 40, 16), TinyOptions());
  EXPECT_NO_THROW(Check(plan));
  const std::pair<int Layer::*, const char*> rings[] = {
      {&Layer::gelu_u, ".gelu_u: a line of GELU leaves the gap of its ring"},
      {&Layer::gelu_v, ".gelu_v: an entry leaves the gap of its ring"},
      {&Layer::elo_bits, ".elo_bits: an entry leaves the gap of its ring"},
      {&Layer::ehi_bits, ".ehi_bits: an entry leaves the gap of its ring"}};
  for (auto [ring, sentence] : rings)
    for (size_t c = 0; c < plan.classes.size(); ++c)
      for (size_t l = 0; l < plan.classes[c].layers.size(); ++l) {
        Plan narrow = plan;
        --(narrow.classes[c].layers[l].*ring);
        try {
          Check(narrow);
          ADD_FAILURE() << "accepted in classes[" << c << "].layers[" << l << "]" << sentence;
        } catch (const Error& e) {
          EXPECT_EQ(e.cause(), Cause::kRefused);
          EXPECT_THAT(e.what(), testing::HasSubstr(Str("classes[", c, "].layers[", l, "]", sentence)));
        }
      }
}

TEST(Compile, ReportsProgressAndCutsLongTexts) {
  CompileOptions o = TinyOptions();
  o.max_tokens = 9;
  std::vector<std::string> stages;
  o.progress = [&](const std::string& stage, double done) {
    if (done == 1) stages.push_back(stage);
  };
  Plan p = Compile(TinyWeights(1), TinyTexts(2, 40, 16), o);
  EXPECT_THAT(stages, testing::ElementsAre("calibrate", "certify", "simulate"));
  ASSERT_EQ(p.classes.size(), 2u);
  EXPECT_EQ(p.classes[0].max_n, 8);
  EXPECT_EQ(p.classes[1].max_n, 9);
}

std::string Refusal(const std::function<void(Weights&, CompileOptions&)>& change, bool texts = true) {
  Weights w = TinyWeights(1);
  CompileOptions o = TinyOptions();
  change(w, o);
  try {
    Compile(w, texts ? TinyTexts(2, 10, 16) : std::vector<std::vector<int32_t>>{}, o);
  } catch (const Error& e) {
    return e.what();
  }
  return "(no refusal)";
}

TEST(Compile, RefusesWithASentence) {
  EXPECT_THAT(Refusal([](Weights&, CompileOptions&) {}, false), testing::HasSubstr("there is no calibration text"));
  EXPECT_THAT(Refusal([](Weights&, CompileOptions& o) { o.max_tokens = 17; }),
              "a limit of 17 tokens is outside the model's 3 to 16");
  EXPECT_THAT(
      Refusal([](Weights&, CompileOptions& o) { o.scales.embedding = 20; }),
      testing::MatchesRegex("wire 8/embedding needs .. bits, the limit is 16; lower the scale of the embedding"));
  EXPECT_THAT(Refusal([](Weights&, CompileOptions& o) { o.scales.w_o = 5, o.scales.o = 6; }),
              testing::HasSubstr("the scale 2^11 of the attention's output map is below 2^20"));
  EXPECT_THAT(Refusal([](Weights&, CompileOptions& o) { o.gelu_piece = 1; }), testing::HasSubstr("GELU of layer 0"));
  EXPECT_THAT(Refusal([](Weights& w, CompileOptions&) { w.layers[1].b_in[3] = 1e12f; }),
              testing::HasSubstr("a weight of 1.b1 exceeds 2^50"));
  EXPECT_THAT(Refusal([](Weights& w, CompileOptions& o) {
                for (float& x : w.layers[0].w_out) x *= 1e7f;
                o.scales.w_2 = 16;
              }),
              testing::HasSubstr("lower the"));
}

// The folded integer maps equal the float ones: gamma, beta, means and value biases are where they belong.
TEST(Quantise, FoldsExactly) {
  const Weights w = TinyWeights(3);
  Scales s = CompileOptions().scales;
  s.w_qk = s.w_1 = s.w_v = 24, s.gamma = 24, s.w_o = 30, s.w_2 = 30;
  const Quantised q = Quantise(w, s, 4);
  const size_t d = size_t(kTiny.d), ff = size_t(kTiny.ff);
  EXPECT_THAT(q.at("0.Wqk").shape(), testing::ElementsAre(d, 2 * d));
  EXPECT_THAT(q.at("1.W1").shape(), testing::ElementsAre(d, ff));
  EXPECT_THAT(q.at("1.W2").shape(), testing::ElementsAre(ff, d));
  EXPECT_THAT(q.at("pos").shape(), testing::ElementsAre(4, d));
  EXPECT_THAT(q.at("bp").shape(), testing::ElementsAre(d));
  Draws r(4);
  const std::vector<float> n = r.Normals(int64_t(d), 0, 1);
  auto read = [&](const char* map, const char* bias, size_t cols, size_t j, int scale) {
    double z = double(q.at(bias)[int64_t(j)]) * std::ldexp(1.0, -scale - s.f);
    for (size_t i = 0; i < d; ++i) z += n[i] * double(q.at(map)[int64_t(i * cols + j)]) * std::ldexp(1.0, -scale);
    return z;
  };
  const Weights::Layer &y = w.layers[0], &y1 = w.layers[1];
  for (size_t j = 0; j < d; ++j) {
    double query = y.bq[j];
    for (size_t i = 0; i < d; ++i) query += (n[i] * w.gamma[i] + w.beta[i]) * y.wq[j * d + i];
    EXPECT_NEAR(read("0.Wqk", "0.bqk", 2 * d, j, s.w_qk), query, 1e-4);
    EXPECT_EQ(q.at("0.bqk")[int64_t(d + j)], 0);
  }
  for (size_t j = 0; j < ff; ++j) {
    double hidden = y1.b_in[j];
    for (size_t i = 0; i < d; ++i) hidden += (n[i] * y1.g1[i] + y1.b1[i]) * y1.w_in[j * d + i];
    EXPECT_NEAR(read("1.W1", "1.b1", ff, j, s.w_1), hidden, 1e-4);
  }
  for (const char* name : {"E", "0.Wo", "1.W2", "0.bo"}) {
    const Tensor& t = q.at(name);
    for (int64_t i = 0; i < t.rows(); ++i) {
      const auto row = t.Row(i);
      EXPECT_LE(std::abs(std::accumulate(row.begin(), row.end(), int64_t{0})), t.cols()) << name;
    }
  }
}

TEST(Tensor, TakesTheNarrowestStorage) {
  auto width = [](std::vector<int64_t> v) {
    return Tensor({int64_t(v.size())}, v).Visit([](const auto* p) { return sizeof *p; });
  };
  EXPECT_EQ(width({-32768, 32767}), 2u);
  EXPECT_EQ(width({32768}), 4u);
  EXPECT_EQ(width({-2147483649}), 8u);
  EXPECT_EQ(Tensor({2, 2}, {1, -2, 3, -4}).Row(1), (std::vector<int64_t>{3, -4}));
  EXPECT_EQ(Tensor({1}, {-1}).Words()[0], ~uint64_t{0});
}

TEST(Certify, LargestEigenvalueIsATightUpperBound) {
  const Reals a = {4, 1, 0, 1, 3, 1, 0, 1, 2};  // 3 + sqrt(3)
  const double bound = LargestEigenvalue(a, 3, exec::Default());
  EXPECT_GE(bound, 3 + std::sqrt(3.0));
  EXPECT_LE(bound, (3 + std::sqrt(3.0)) * 1.001);
  EXPECT_EQ(LargestEigenvalue(Reals(9, 0.0), 3, exec::Default()), 0);
}

TEST(Certify, BitLength) {
  EXPECT_EQ(BitLength(0), 1);
  EXPECT_EQ(BitLength(1.9), 1);
  EXPECT_EQ(BitLength(2), 2);
  EXPECT_EQ(BitLength(255.5), 8);
  EXPECT_EQ(BitLength(256), 9);
}

TEST(Tables, OctavesCoverTheirRangeWithinTheirError) {
  const double scale = 0x1p30;
  const func::Real f = [&](double v) { return scale / std::sqrt(v); };
  const auto table = Octaves(f, 6, 13, 20, 5, 4);
  const double excess = Excess(table, f);
  int64_t end = 0;
  double most = 0;
  for (const Group& g : table) {
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

TEST(Tables, ExcessOfLines) {
  const int x = 9, a = 5, p = 8, b = 7;
  const func::Lines t = func::FitLines(Gelu, a, p, x, b).f;
  const double excess = Excess(t);
  EXPECT_LT(excess, 64);
  for (int64_t i = -(1 << (a + p - 1)); i < 1 << (a + p - 1); ++i) {
    const int64_t u = i + (1 << (a + p - 1)), line = t.offset[size_t(u >> a)] + t.rise[size_t(u >> a)] * (u & 31);
    EXPECT_LE(double(std::abs(line)), std::ldexp(double(std::abs(i)), b) + excess);
  }
}

}  // namespace
}  // namespace suf::nn
