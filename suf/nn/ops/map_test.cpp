#include "suf/nn/ops/map.hpp"

#include <cmath>

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

constexpr int64_t kIn = 2, kOut = 3;

Expr W(const char* name, Shape s) { return Expr::Leaf(name, std::move(s)); }

LinearMap Full(int ring, bool bias) {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, W("w", {kIn, kOut})}};
  if (bias) m.bias = W("b", {kOut});
  m.full = 4;
  m.scale = 20;
  m.ring = ring;
  return m;
}
// Returns the diagonal term of a folded norm with its mean term, for three columns.
LinearMap Normed(int ring, bool mean) {
  LinearMap m;
  m.terms = {{LinearMap::kDiag, 0, W("g", {kOut})}};
  if (mean) m.terms.push_back({LinearMap::kMean, 0, W("u", {kOut})});
  m.gamma = 3;
  m.diag = 2;
  m.mean = 1;
  m.scale = 20;
  m.ring = ring;
  return m;
}

std::map<std::string, Tensor> Small(int64_t most, uint64_t seed = 3) {
  return {{"full", Tensor({kIn, kOut}, Numbers(kIn * kOut, most, seed))},
          {"diag", Tensor({kOut}, Numbers(kOut, most, seed + 1))},
          {"mean", Tensor({kOut}, Numbers(kOut, most, seed + 2))},
          {"bias", Tensor({kOut}, Numbers(kOut, most, seed + 3))}};
}

int64_t Key(OperandForm form, size_t results, int ring) {
  return form == OperandForm::kOpen ? 0 : int64_t(results) * ring;
}

// Every value of an 8-bit ring as input, and results in rings as wide and narrower. Sums are computed by hand.
TEST(Map, FullExhaustive) {
  for (OperandForm from : {OperandForm::kMap, OperandForm::kProduct})
    for (OperandForm form : kForms)
      for (int ring : {3, 8}) {
        for (bool bias : {false, true}) {
          LinearMap m = Full(ring, bias);
          m.form = form;
          m.up = bias ? 2 : 0;
          OpRig rig(128);
          rig.weights = Small(100);
          const Given x{{{128, kIn}, gates::Range(-128, 128)}, 8, from};
          const Ints got = rig.Run(m, {x});
          for (size_t i = 0; i < got.size(); ++i) {
            const size_t row = i / size_t(kOut), j = i % size_t(kOut);
            int64_t sum = bias ? rig.weights["bias"][int64_t(j)] * 4 : 0;
            for (size_t k = 0; k < size_t(kIn); ++k)
              sum += x.x.at[row * size_t(kIn) + k] * rig.weights["full"][int64_t(k * size_t(kOut) + j)];
            ASSERT_EQ(got[i], gates::Number(uint64_t(sum), ring));
          }
          EXPECT_EQ(rig.ring, ring);
          EXPECT_EQ(rig.key_bits(got.size()), Key(form, got.size(), ring));
          EXPECT_EQ(rig.g.flights(), 2);  // x, P0's half
        }
      }
}

// A diagonal term reads ring - diag + mean bits of its input.
TEST(Map, DiagAndMeanExhaustive) {
  for (OperandForm form : kForms)
    for (bool mean : {false, true}) {
      LinearMap m = Normed(8, mean);
      m.form = form;
      const int k = m.Need(0, {});
      EXPECT_EQ(k, 7);
      OpRig rig(128);
      rig.weights = Small(30);
      const Given x{{{128, kOut}, gates::Range(-64, 64, 3)}, k, OperandForm::kMap};
      const Ints got = rig.Run(m, {x});
      for (size_t i = 0; i < got.size(); ++i) {
        const size_t row = i / 3 * 3;
        int64_t y = x.x.at[i] * rig.weights["diag"][int64_t(i % 3)] * 4;
        for (size_t k2 = 0; k2 < 3 && mean; ++k2) y -= x.x.at[row + k2] * rig.weights["mean"][int64_t(k2)] * 2;
        ASSERT_EQ(got[i], gates::Number(uint64_t(y), 8));
      }
      EXPECT_EQ(rig.key_bits(got.size()), Key(form, got.size(), 8));
    }
}

// Both inputs of a residual branch: x W, and a norm's row times gamma less its mean. The bias counts tokens.
TEST(Map, SeveralInputs) {
  for (int k : {8, 31, 32, 33, 47, 62, 64})
    for (bool by_length : {false, true})
      for (OperandForm form : kForms) {
        LinearMap m = Full(k, true);
        for (const LinearMap::MapTerm& t : Normed(k, true).terms) m.terms.push_back({t.kind, 1, t.weight});
        m.diag = 2;
        m.mean = 1;
        m.up = 1;
        m.by_length = by_length;
        m.form = form;
        EXPECT_EQ(m.Need(0, {}), k);
        EXPECT_EQ(m.Need(1, {}), k - 1);
        OpRig rig(by_length ? 5 : 4);
        rig.weights = Small(1000);
        const int64_t rows = by_length ? 1 : 4, top = k < 12 ? 60 : int64_t{1} << (k - 3);
        const Ints got =
            rig.Run(m, {{{{rows, kIn}, Numbers(size_t(rows * kIn), top, 8)}, k, OperandForm::kMap},
                        {{{rows, kOut}, Numbers(size_t(rows * kOut), top / 4, 9)}, k - 1, OperandForm::kProduct}});
        EXPECT_EQ(rig.key_bits(got.size()), Key(form, got.size(), k));
      }
}

// The bias counts the tokens: five times, computed by hand.
TEST(Map, BiasByLength) {
  LinearMap m = Full(20, true);
  m.by_length = true;
  m.up = 1;
  OpRig rig(5);
  rig.weights = Small(100);
  const Ints got = rig.Run(m, {{{{1, kIn}, {0, 0}}, 20, OperandForm::kMap}});
  for (size_t j = 0; j < 3; ++j) EXPECT_EQ(got[j], 10 * rig.weights["bias"][int64_t(j)]);
}

// (heads, n, head_dim) is read as rows.
TEST(Map, JoinsHeads) {
  const int64_t heads = 3, n = 4, of = 2, d = heads * of;
  LinearMap m = Full(16, false);
  m.terms[0].weight = W("w", {d, kOut});
  OpRig rig(n);
  rig.weights["full"] = Tensor({d, kOut}, Numbers(size_t(d * kOut), 9));
  Given x{{{n, d}, Numbers(size_t(n * d), 30)}, 16, OperandForm::kMap, {{heads, n, of}, {}}};
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < of; ++k) x.wire.at.push_back(x.x.at[size_t(i * d + h * of + k)]);
  rig.Run(m, {x});
}

LinearMap Turning(int ring, int heads, int64_t dim, int n) {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, W("w", {kIn, dim})}};
  m.rotary = heads;
  m.base = 100;
  m.ring = ring;
  Facts f{Options{}};
  f.n = n;
  m.Choose(f, {EdgeOf(8, ring, kIn)});
  return m;
}

// Every head is turned by its position, row base^(-pair / half), computed by hand from the plan's constants.
TEST(Map, Rotary) {
  for (int k : {24, 33, 62})
    for (OperandForm form : kForms) {
      const int heads = 2, n = 5;
      const int64_t dim = 8, half = 2;
      LinearMap m = Turning(k, heads, dim, 7);
      m.form = form;
      OpRig rig(n);
      rig.weights["full"] = Tensor({kIn, dim}, Numbers(size_t(kIn * dim), 50));
      const Given x{{{n, kIn}, Numbers(size_t(n * kIn), 20)}, k, OperandForm::kMap};
      const Ints got = rig.Run(m, {x});
      EXPECT_EQ(rig.key_bits(got.size()), Key(form, got.size(), k));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t j = 0; j < half; ++j) {
            auto product = [&](int64_t column) {
              return x.x.at[size_t(2 * i)] * rig.weights["full"][column] +
                     x.x.at[size_t(2 * i + 1)] * rig.weights["full"][dim + column];
            };
            const int64_t a = product(h * 4 + j), b = product(h * 4 + 2 + j);
            const double angle = double(i) * std::pow(100, -double(j) / double(half));
            const int64_t c = m.cosines[size_t(i * half + j)], s = m.sines[size_t(i * half + j)];
            EXPECT_EQ(c, int64_t(std::floor(std::cos(angle) * 1024 + 0.5)));
            EXPECT_EQ(s, int64_t(std::floor(std::sin(angle) * 1024 + 0.5)));
            ASSERT_EQ(got[size_t(i * dim + h * 4 + j)], a * c - b * s);
            ASSERT_EQ(got[size_t(i * dim + h * 4 + 2 + j)], b * c + a * s);
          }
    }
}

// A diagonal term is turned like a full one: the heads of a norm's row times gamma.
TEST(Map, RotaryOfADiagonal) {
  for (int k : {24, 33, 62})
    for (OperandForm form : kForms) {
      constexpr int kHeads = 3, kRows = 5;
      constexpr int64_t kDim = 12, kHalf = 2;
      LinearMap m;
      m.terms = {{LinearMap::kDiag, 0, W("g", {kDim})}};
      m.rotary = kHeads;
      m.base = 100;
      m.ring = k;
      m.form = form;
      Facts f{Options{}};
      f.n = 7;
      m.Choose(f, {EdgeOf(8, k, kDim)});
      EXPECT_EQ(m.scale, 8 + Options{}.gamma + Options{}.rotation);
      EXPECT_EQ(m.Need(0, {}), k);
      OpRig rig(kRows);
      rig.weights["diag"] = Tensor({kDim}, Numbers(size_t(kDim), 50));
      const Given x{{{kRows, kDim}, Numbers(size_t(kRows * kDim), 100)}, k, OperandForm::kMap};
      const Ints got = rig.Run(m, {x});
      EXPECT_EQ(rig.key_bits(got.size()), Key(form, got.size(), k));
      EXPECT_EQ(rig.g.flights(), 2);
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t h = 0; h < kHeads; ++h)
          for (int64_t j = 0; j < kHalf; ++j) {
            const auto product = [&](int64_t column) {
              return x.x.at[size_t(i * kDim + column)] * rig.weights["diag"][column];
            };
            const int64_t a = product(h * 4 + j), b = product(h * 4 + 2 + j);
            const int64_t c = m.cosines[size_t(i * kHalf + j)], s = m.sines[size_t(i * kHalf + j)];
            ASSERT_EQ(got[size_t(i * kDim + h * 4 + j)], a * c - b * s);
            ASSERT_EQ(got[size_t(i * kDim + h * 4 + 2 + j)], b * c + a * s);
          }
    }
}

TEST(Map, Float) {
  LinearMap m = Full(0, true);
  m.terms.push_back({LinearMap::kDiag, 1, W("g", {kOut})});
  m.terms.push_back({LinearMap::kMean, 1, W("u", {kOut})});
  m.by_length = true;
  Checkpoint w;
  const Reals full{1, 2, 3, 4, 5, 6}, g{0.5, 2, -1}, u{0.25, 0.5, 1}, b{10, 20, 30};
  Store(&w, m.terms[0].weight, full);
  Store(&w, m.terms[1].weight, g);
  Store(&w, m.terms[2].weight, u);
  Store(&w, m.bias, b);
  const RealArray x{{1, kIn}, {7, -1}}, z{{1, kOut}, {4, 8, 2}};
  const RealArray y = FloatOf(m, 3, w, {x, z});
  const double mean = 4 * 0.25 + 8 * 0.5 + 2 * 1;
  EXPECT_EQ(y.at, (Reals{7 - 4 + 2 - mean + 30, 14 - 5 + 16 - mean + 60, 21 - 6 - 2 - mean + 90}));
  // before folding: x itself, with or without its mean
  LinearMap stream;
  stream.terms = {{LinearMap::kFull, 0, W("w", {kIn, kOut})}, {LinearMap::kOne, 1, {}}};
  EXPECT_EQ(FloatOf(stream, 1, w, {x, z}).at, (Reals{7 - 4 + 4, 14 - 5 + 8, 21 - 6 + 2}));
  stream.terms[1].kind = LinearMap::kCentred;
  const double less = 14.0 / 3;
  const RealArray c = FloatOf(stream, 1, w, {x, z});
  for (size_t j = 0; j < 3; ++j) EXPECT_DOUBLE_EQ(c.at[j], Reals({3, 9, 15})[j] + z.at[j] - less);
}

TEST(Map, FloatRotary) {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, W("w", {2, 4})}};
  m.rotary = 1;
  m.base = 16;
  Checkpoint w;
  Store(&w, m.terms[0].weight, {1, 0, 0, 0, 0, 1, 0, 0});
  const RealArray y = FloatOf(m, 2, w, {{{2, 2}, {3, 5, 3, 5}}});
  const double c = std::cos(1), s = std::sin(1), c4 = std::cos(0.25), s4 = std::sin(0.25);
  const Reals want{3, 5, 0, 0, 3 * c, 5 * c4, 3 * s, 5 * s4};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(y.at[i], want[i]);
  Rotary r;
  r.heads = 1;
  r.base = 16;
  const RealArray turned = FloatOf(r, 2, w, {{{2, 4}, {3, 5, 0, 0, 3, 5, 0, 0}}});
  for (size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(turned.at[i], want[i]);
  std::vector<Width> widths;
  EXPECT_THROW(r.Bound({Options{}}, {}, &widths), Bug);
}

}  // namespace
}  // namespace suf::nn
