#include "suf/nn/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "suf/nn/forward.hpp"
#include "suf/nn/tiny.hpp"

namespace suf::nn {
namespace {

using Wide = __int128;
using Row = std::vector<Wide>;
using Rows = std::vector<Row>;

// The plan's meaning once more, slowly: unbounded integers, one scalar at a time, reductions only where the plan says
// so.
Wide Floor(Wide x, Wide by) { return x >= 0 ? x / by : -((by - 1 - x) / by); }
Wide Round(Wide x, int s) { return s ? Floor(x + (Wide{1} << (s - 1)), Wide{1} << s) : x; }
Wide Mod(Wide x, int bits) { return x - Floor(x, Wide{1} << bits) * (Wide{1} << bits); }

Wide Piece(const std::vector<Group>& table, Wide x) {
  for (const Group& g : table)
    if (x >= Wide(g.lo) << g.w && x < Wide(g.hi) << g.w) return g.values[size_t((x >> g.w) - g.lo)];
  return 0;
}

Row Norm1(const Row& z, const Norm& o) {
  Row x;
  Wide v = o.eps;
  for (Wide e : z) x.push_back(Round(e, o.cut)), v += x.back() * x.back();
  for (Wide& e : x) e = Round(e * Piece(o.rsqrt, Mod(v, o.square)), o.shift);
  return x;
}

struct Naive {
  const Plan& p;
  const Quantised& q;
  Wide At(const std::string& name, int64_t i) const { return q.at(name)[i]; }
  Row Times(const Row& x, const std::string& w) const {
    Row y(size_t(q.at(w).cols()), 0);
    for (size_t j = 0; j < y.size(); ++j)
      for (size_t i = 0; i < x.size(); ++i) y[j] += x[i] * At(w, int64_t(i * y.size() + j));
    return y;
  }
  void AddResidual(Row& z, const Row& n, const std::string& g, const std::string& u, int diag, int mean) const {
    Wide s = 0;
    for (size_t i = 0; i < n.size(); ++i) s += n[i] * At(u, int64_t(i));
    for (size_t i = 0; i < n.size(); ++i)
      z[i] += n[i] * At(g, int64_t(i)) * (Wide{1} << diag) - s * (Wide{1} << (diag - mean));
  }
  Rows Attend(const Rows& n, int64_t l, const Layer& y) const;
  std::vector<int64_t> Run(const std::vector<int32_t>& ids) const;
};

Rows Naive::Attend(const Rows& n, int64_t l, const Layer& y) const {
  const size_t d = size_t(p.dims.d), dh = d / size_t(p.dims.heads);
  Rows qk, v, o(n.size(), Row(d));
  for (const Row& r : n) {
    qk.push_back(Times(r, Str(l, ".Wqk"))), v.push_back(Times(r, Str(l, ".Wv")));
    for (size_t j = 0; j < 2 * d; ++j) qk.back()[j] = Round(qk.back()[j] + At(Str(l, ".bqk"), int64_t(j)), y.shift_qk);
    for (Wide& e : v.back()) e = Round(e, y.shift_v);
  }
  for (size_t c = 0; c < d; ++c)
    for (size_t i = 0; i < n.size(); ++i) {
      const size_t h = c / dh;
      Row x;
      Wide most = y.floor, sum = 0, ev = 0;
      for (size_t j = 0; j < n.size(); ++j) {
        Wide s = y.offset[h];
        for (size_t t = h * dh; t < (h + 1) * dh; ++t) s += qk[i][t] * qk[j][d + t];
        x.push_back(Mod(Round(s, y.shift_score), y.score - y.shift_score));
        most = std::max(most, x.back() >> y.low);
      }
      for (size_t j = 0; j < n.size(); ++j) {
        Wide e = Wide(y.ehi[size_t(most - (x[j] >> y.low))]) * y.elo[size_t(Mod(x[j], y.low))];
        sum += e, ev += e * v[j][c];
      }
      o[i][c] = Round(ev * Piece(y.recip, Mod(sum, y.row_sum)), y.shift_o);
    }
  return o;
}

std::vector<int64_t> Naive::Run(const std::vector<int32_t>& ids) const {
  const Class& c = p.For(int(ids.size()));
  const size_t d = size_t(p.dims.d);
  Rows n;
  for (size_t i = 0; i < ids.size(); ++i) {
    Row z;
    for (size_t j = 0; j < d; ++j)
      z.push_back(At("E", int64_t(size_t(ids[i]) * d + j)) + At("pos", int64_t(i * d + j)));
    n.push_back(Norm1(z, c.embedding));
  }
  for (int64_t l = 0; l < p.dims.layers; ++l) {
    const Layer& y = c.layers[size_t(l)];
    Rows o = Attend(n, l, y);
    for (size_t i = 0; i < n.size(); ++i) {
      Row z = Times(o[i], Str(l, ".Wo"));
      AddResidual(z, n[i], Str(l, ".go"), Str(l, ".uo"), y.diag_o, y.mean_o);
      for (size_t j = 0; j < d; ++j) z[j] += At(Str(l, ".bo"), int64_t(j)) * (Wide{1} << y.bias_o);
      n[i] = Norm1(z, y.attention);
      Row h = Times(n[i], Str(l, ".W1"));
      for (size_t j = 0; j < h.size(); ++j) {
        Wide x = Round(h[j] + At(Str(l, ".b1"), int64_t(j)), y.shift_ffn1) + (Wide{1} << (y.piece_width + y.piece - 1));
        x = Mod(x, y.piece_width + y.piece);
        h[j] = y.gelu_a[size_t(x >> y.piece_width)] + y.gelu_b[size_t(x >> y.piece_width)] * Mod(x, y.piece_width);
      }
      z = Times(h, Str(l, ".W2"));
      AddResidual(z, n[i], Str(l, ".g2"), Str(l, ".u2"), y.diag_2, y.mean_2);
      for (size_t j = 0; j < d; ++j) z[j] += At(Str(l, ".b2"), int64_t(j));
      n[i] = Norm1(z, y.output);
    }
  }
  Row z(d, 0);
  for (size_t j = 0; j < d; ++j) {
    for (const Row& r : n) z[j] += r[j];
    z[j] = z[j] * At("gp", int64_t(j)) + Wide(ids.size()) * At("bp", int64_t(j));
  }
  Row y = Norm1(z, c.result);
  return {y.begin(), y.end()};
}

struct Model {
  Weights weights;
  Plan plan;
  Quantised q;
  explicit Model(uint64_t seed, const CompileOptions& options = TinyOptions())
      : weights(TinyWeights(seed)),
        plan(Compile(weights, TinyTexts(seed + 100, 40, 16), options)),
        q(Quantise(weights, plan.scales, plan.max_tokens)) {}
};

TEST(Simulate, EqualsANaiveEvaluation) {
  for (uint64_t seed : {1, 2, 3, 4}) {
    CompileOptions o = TinyOptions();
    o.merge = seed % 2 ? 16 : 0;
    Model m(seed, o);
    EXPECT_EQ(m.plan.classes[0].layers[0].shift_o == 0, o.merge > 0);
    Simulator s(m.plan, m.q);
    for (const auto& ids : TinyTexts(seed + 200, 12, 16))
      EXPECT_EQ(s.Run(ids).y, (Naive{m.plan, m.q}.Run(ids))) << "seed " << seed;
  }
}

TEST(Simulate, IsCloseToTheFloatModel) {
  Model m(4);
  Simulator s(m.plan, m.q);
  for (const auto& ids : TinyTexts(5, 20, 16)) {
    Simulation r = s.Run(ids);
    std::vector<double> y(r.y.begin(), r.y.end());
    EXPECT_GT(Cosine(y, FloatForward(m.weights, ids)), 0.9999);
    double square = 0;
    for (double x : y) square += x * x;
    EXPECT_NEAR(std::sqrt(square), 65536, 600);
  }
}

// Every text of three tokens, and every one of up to three tokens between two fixed ones: no hard certificate is ever
// left.
TEST(Simulate, HardCertificatesHoldForEveryShortText) {
  for (uint64_t seed : {6, 7}) {
    Model m(seed);
    Simulator s(m.plan, m.q);
    auto run = [&](const std::vector<int32_t>& ids) {
      Simulation r = s.Run(ids);
      for (const Outside& o : r.outside) EXPECT_FALSE(o.hard) << Sentence(o);
      for (const Seen& w : r.seen) EXPECT_TRUE(m.plan.certificates.count(w.wire)) << w.wire;
    };
    const int32_t v = int32_t(kTiny.vocab);
    for (int32_t a = 0; a < v; ++a) {
      run({0, a, 1});
      for (int32_t b = 0; b < v; ++b) {
        run({0, a, b, 1});
        for (int32_t c = 0; c < v; ++c) run({a, b, c}), run({0, a, b, c, 1});
      }
    }
  }
}

// Windows that are too narrow: rings wrap, tables are read outside their calibrated part, the wires are named, the
// result is still the deterministic one.
TEST(Simulate, WrapsOutsideCalibratedWindows) {
  Model m(8);
  for (Class& c : m.plan.classes)
    for (Layer& y : c.layers) {
      y.offset[0] += int64_t{1} << (y.score - 1), y.floor = int64_t(y.ehi.size()) - 2;
      const int less = 3;
      y.piece -= less, y.ffn1 -= less;
      for (auto* t : {&y.gelu_a, &y.gelu_b}) {
        const size_t drop = (t->size() - (t->size() >> less)) / 2;
        *t = {t->begin() + int64_t(drop), t->end() - int64_t(drop)};
      }
      y.attention.top = y.attention.floor + 1;
    }
  for (auto& [wire, c] : m.plan.certificates)
    if (!c.hard && wire.ends_with("z_1")) c.bits -= 3;
  Simulator s(m.plan, m.q);
  std::set<std::string> named;
  for (const auto& ids : TinyTexts(9, 10, 16)) {
    Simulation r = s.Run(ids);
    EXPECT_EQ(r.y, (Naive{m.plan, m.q}.Run(ids)));
    for (const Outside& o : r.outside) {
      EXPECT_FALSE(o.hard) << Sentence(o);
      named.insert(o.wire.substr(o.wire.rfind('/') + 1));
    }
  }
  EXPECT_THAT(named, testing::IsSupersetOf({"score", "row_max", "z_1", "attention.square"}));
}

TEST(Simulate, KnownAnswer) {
  Model m(1);
  const std::vector<int32_t> ids = {0, 3, 5, 2, 7, 1};
  EXPECT_THAT(Simulator(m.plan, m.q).Run(ids).y,
              testing::ElementsAre(-4136, -14690, -6355, -2824, 29619, -12912, 12925, -1210, 21285, -2295, 7124, -19835,
                                   9646, -22268, 35899, 4918));
}

TEST(Simulate, SentenceNamesWireValueAndLimit) {
  EXPECT_EQ(Sentence({"8/0/score", 70, 64, false}),
            "wire 8/0/score reached 70, its calibrated limit is 64; the result may be less accurate, calibrate with "
            "texts like this one");
  EXPECT_EQ(Sentence({"8/0/z_o", 70, 64, true}),
            "wire 8/0/z_o reached 70, its hard limit is 64; compile the plan again from these weights");
}

TEST(Simulate, RefusesTokensOutsideTheVocabulary) {
  Model m(1);
  Simulator s(m.plan, m.q);
  const std::vector<int32_t> above = {0, 8, 1}, below = {0, -1, 1}, two = {0, 1};
  EXPECT_THROW(s.Run(above), Error);
  EXPECT_THROW(s.Run(below), Error);
  EXPECT_THROW(s.Run(two), Error);
}

}  // namespace
}  // namespace suf::nn
