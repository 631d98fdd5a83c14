#include "suf/nn/read/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::nn {
namespace {

using Wide = __int128;
using Row = std::vector<Wide>;
using Rows = std::vector<Row>;

// The meaning of the plans of both small graphs, computed again, slowly and by hand. It uses unbounded integers, one
// scalar at a time, and reduces only if the plan says so.
Wide Floor(Wide x, Wide by) { return x >= 0 ? x / by : -((by - 1 - x) / by); }
Wide Round(Wide x, int s) { return s ? Floor(x + (Wide{1} << (s - 1)), Wide{1} << s) : x; }
Wide Mod(Wide x, int bits) { return x - Floor(x, Wide{1} << bits) * (Wide{1} << bits); }

Wide Piece(const std::vector<func::Octave>& table, Wide x) {
  for (const func::Octave& g : table)
    if (x >= Wide(g.lo) << g.w && x < Wide(g.hi) << g.w) return g.values[size_t((x >> g.w) - g.lo)];
  return 0;
}

struct Naive {
  const Plan& p;
  const QuantisedWeights& q;
  const Class& c;
  size_t n;

  template <class T>
  const T& Op(int i) const {
    return dynamic_cast<const T&>(*c.ops[size_t(i)]);
  }
  Wide At(int node, const char* slot, size_t i) const { return q.at(std::to_string(node) + "." + slot)[int64_t(i)]; }

  Rows Embedded(const std::vector<int32_t>& ids, bool positions) const {
    Rows x(n, Row(size_t(kWidth)));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < size_t(kWidth); ++j)
        x[i][j] = At(0, "table", size_t(ids[i]) * size_t(kWidth) + j) +
                  (positions ? At(0, "positions", i * size_t(kWidth) + j) : 0);
    return x;
  }
  Rows Normed(int node, Rows z) const {
    const Norm& o = Op<Norm>(node);
    for (Row& r : z) {
      Wide v = o.epsilon;
      for (Wide& e : r) {
        e = Round(e, o.cut);
        v += e * e;
      }
      for (Wide& e : r) e = Round(e * Piece(o.rsqrt, Mod(v, o.square)), o.shift);
    }
    return z;
  }
  // Returns x W + b, with every head turned if the map is rotated. `residual` adds its diagonal and mean terms.
  Rows Mapped(int node, const Rows& x, bool bias, const Rows* residual = nullptr) const {
    const LinearMap& m = Op<LinearMap>(node);
    const size_t cols = size_t(q.at(std::to_string(node) + ".full").cols());
    Rows y(x.size(), Row(cols, 0));
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < cols; ++j) {
        for (size_t k = 0; k < x[i].size(); ++k) y[i][j] += x[i][k] * At(node, "full", k * cols + j);
        if (bias) y[i][j] += At(node, "bias", j) * (Wide{1} << m.up);
      }
      if (residual) AddResidual(y[i], node, (*residual)[i]);
      if (m.rotary) Turn(y[i], m, i);
    }
    return y;
  }
  void AddResidual(Row& z, int node, const Row& x) const {
    const LinearMap& m = Op<LinearMap>(node);
    Wide s = 0;
    for (size_t i = 0; i < x.size(); ++i) s += x[i] * At(node, "mean", i);
    for (size_t i = 0; i < x.size(); ++i)
      z[i] += x[i] * At(node, "diag", i) * (Wide{1} << m.diag) - s * (Wide{1} << (m.diag - m.mean));
  }
  static void Turn(Row& z, const LinearMap& m, size_t i) {
    const size_t of = z.size() / size_t(m.rotary), half = of / 2;
    const Row was = z;
    for (size_t h = 0; h < z.size(); h += of)
      for (size_t c = 0; c < half; ++c) {
        const Wide cos = m.cosines[i * half + c], sin = m.sines[i * half + c];
        z[h + c] = was[h + c] * cos - was[h + half + c] * sin;
        z[h + half + c] = was[h + half + c] * cos + was[h + c] * sin;
      }
  }
  Rows Rescaled(int node, Rows x) const {
    const Rescale& r = Op<Rescale>(node);
    for (Row& row : x)
      for (Wide& e : row) {
        e = Round(e, r.shift);
        if (r.window) e = Mod(e + (Wide{1} << (r.window - 1)), r.window) - (Wide{1} << (r.window - 1));
      }
    return x;
  }
  // Returns softmax and weighted sum at nodes `e` and `e + 1`, and the rescale behind them at `e + 2`.
  Rows Attended(int e, const Rows& qk, const Rows& v, int serving, bool causal, int scores = -1) const {
    const Softmax& y = Op<Softmax>(e);
    const SoftmaxByMaximum& m = y.maximum;
    const WeightedSum& w = Op<WeightedSum>(e + 1);
    const size_t of = size_t(kWidth) / kHeads;
    Rows o(n, Row(size_t(kWidth)));
    for (size_t h = 0; h < size_t(kHeads); ++h)
      for (size_t i = 0; i < n; ++i) {
        const size_t served = h / size_t(kHeads / serving) * of, count = causal ? i + 1 : n;
        Row x, weight;
        Wide most = m.floor, sum = 0;
        for (size_t j = 0; j < count; ++j) {
          Wide s = y.offset[h];
          if (scores >= 0)
            s += At(scores, "relative", (h + 1) * size_t(2 * kPositions - 1) - size_t(kPositions) + j - i);
          for (size_t t = 0; t < of; ++t) s += qk[i][h * of + t] * qk[j][size_t(kWidth) + served + t];
          x.push_back(Mod(Round(s, y.shift), m.low + m.level));
          most = std::max(most, x.back() >> m.low);
        }
        for (const Wide& s : x) {
          weight.push_back(Wide(m.high_table[size_t(most - (s >> m.low))]) * m.low_table[size_t(Mod(s, m.low))]);
          sum += weight.back();
        }
        for (size_t t = 0; t < of; ++t) {
          Wide mixed = 0;
          for (size_t j = 0; j < count; ++j) mixed += weight[j] * v[j][served + t];
          o[i][h * of + t] = mixed * Piece(w.recip, Mod(sum, w.row_sum));
        }
      }
    return Rescaled(e + 2, o);
  }
  Rows Activated(int node, Rows x) const {
    const Activation& a = Op<Activation>(node);
    const int bits = a.lines.a + a.pieces();
    for (Row& r : x)
      for (Wide& e : r) {
        const Wide u = Mod(Round(e, a.shift) + (Wide{1} << (bits - 1)), bits);
        e = a.lines.offset[size_t(u >> a.lines.a)] + a.lines.rise[size_t(u >> a.lines.a)] * Mod(u, a.lines.a);
      }
    return x;
  }
  Rows Added(int node, Rows x, const Rows& y) const {
    const Add& a = Op<Add>(node);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < x[i].size(); ++j)
        x[i][j] = x[i][j] * (Wide{1} << a.up[0]) + y[i][j] * (Wide{1} << a.up[1]);
    return x;
  }
  static Ints Words(const Row& y) { return Ints(y.begin(), y.end()); }
};

Ints NaiveAfter(const Plan& p, const QuantisedWeights& q, const std::vector<int32_t>& ids) {
  const Naive a{p, q, p.For(int(ids.size())), ids.size()};
  Rows x = a.Normed(1, a.Embedded(ids, true));
  const bool relative = bool(a.Op<Scores>(6).relative);
  const Rows o = a.Attended(7, a.Rescaled(3, a.Mapped(2, x, true)), a.Rescaled(5, a.Mapped(4, x, false)), kHeads, false,
                            relative ? 6 : -1);
  x = a.Normed(11, a.Mapped(10, o, true, &x));
  x = a.Normed(15, a.Mapped(14, a.Activated(13, a.Mapped(12, x, true)), true, &x));
  Row z(size_t(kWidth), 0);
  for (size_t j = 0; j < z.size(); ++j) {
    for (const Row& r : x) z[j] += r[j];
    z[j] = z[j] * a.At(17, "diag", j) + Wide(ids.size()) * a.At(17, "bias", j);
  }
  return Naive::Words(a.Normed(18, {z})[0]);
}

Ints NaiveBefore(const Plan& p, const QuantisedWeights& q, const std::vector<int32_t>& ids) {
  const Naive a{p, q, p.For(int(ids.size())), ids.size()};
  Rows stream = a.Embedded(ids, false);
  Rows x = a.Normed(2, stream);
  Rows qk = a.Rescaled(4, a.Mapped(3, x, false));
  const Rows k = a.Rescaled(6, a.Mapped(5, x, false));
  for (size_t i = 0; i < qk.size(); ++i) qk[i].insert(qk[i].end(), k[i].begin(), k[i].end());
  const Rows o = a.Attended(10, qk, a.Rescaled(8, a.Mapped(7, x, false)), 1, true);
  stream = a.Added(14, stream, a.Mapped(13, o, false));
  x = a.Normed(16, a.Rescaled(15, stream));
  Rows h = a.Activated(18, a.Mapped(17, x, false));
  const Rows up = a.Rescaled(20, a.Mapped(19, x, false));
  for (size_t i = 0; i < h.size(); ++i)
    for (size_t j = 0; j < h[i].size(); ++j) h[i][j] *= up[i][j];
  stream = a.Added(23, stream, a.Mapped(22, h, false));
  Row y = a.Mapped(27, a.Normed(26, {a.Rescaled(24, stream).back()}), false)[0];
  for (Wide& e : y) e = Round(e, a.Op<RevealResult>(28).shift);
  return Naive::Words(y);
}

struct Case {
  const char* name;
  Graph graph;
  Ints (*naive)(const Plan&, const QuantisedWeights&, const std::vector<int32_t>&);
  CompileOptions options;
};
std::vector<Case> Cases() {
  std::vector<Case> all;
  for (int i : {0, 1}) {
    CompileOptions o = SmallOptions();
    o.policy.merge = i ? 16 : 0;
    o.policy.clamp = i;
    all.push_back({"after", After(), NaiveAfter, o});
    all.push_back({"relative", After(true), NaiveAfter, o});
    all.push_back({"before", Before(), NaiveBefore, o});
  }
  return all;
}

TEST(Simulate, EqualsANaiveEvaluation) {
  for (const Case& c : Cases())
    for (uint64_t seed : {1, 2}) {
      const Small m(c.graph, seed, c.options);
      const PlanSimulator s(m.plan, m.q);
      for (const auto& ids : SmallTexts(seed + 200, 12, 16))
        EXPECT_EQ(s.Run(ids).y, c.naive(m.plan, m.q, ids)) << c.name << ", seed " << seed;
    }
}

TEST(Simulate, IsCloseToTheFloatModel) {
  for (const Case& c : Cases()) {
    CompileOptions o = c.options;
    o.policy.norm["layer"] = 14;  // the default is for rows of size one; the stream begins with a table's small numbers
    const Small m(c.graph, 4, o);
    const PlanSimulator s(m.plan, m.q);
    const RealModel real(m.graph, m.weights);
    for (const auto& ids : SmallTexts(5, 20, 16)) {
      const Simulation r = s.Run(ids);
      const Reals y(r.y.begin(), r.y.end()), want = real.Run(ids).at;
      EXPECT_GT(Cosine(y, want), c.naive == NaiveAfter ? 0.9999 : 0.999) << c.name;
      double square = 0, wanted = 0;
      for (double x : y) square += x * x;
      for (double x : want) wanted += x * x;
      EXPECT_NEAR(std::ldexp(std::sqrt(square), -m.plan.scale()) / std::sqrt(wanted), 1, 0.02) << c.name;
    }
  }
}

// Takes every text of three tokens, and every one of up to three tokens between two fixed ones. No hard certificate is
// ever left, and every seen wire has one or wraps.
TEST(Simulate, HardCertificatesHoldForEveryShortText) {
  for (const Graph& g : {After(), Before()}) {
    const Small m(g, 6);
    const PlanSimulator s(m.plan, m.q);
    auto run = [&](const std::vector<int32_t>& ids) {
      const Simulation r = s.Run(ids);
      for (const Outside& o : r.outside) EXPECT_FALSE(o.hard) << Sentence(o);
      EXPECT_GE(r.seen.size(), m.plan.graph.size());
    };
    for (int32_t a = 0; a < kWords; ++a)
      for (int32_t b = 0; b < kWords; ++b) {
        run({0, a, b, 1});
        for (int32_t c = 0; c < kWords; ++c) {
          run({a, b, c});
          run({0, a, b, c, 1});
        }
      }
  }
}

// Makes windows too narrow: rings wrap, tables are read outside their calibrated part, and the wires are named.
void Narrow(Plan& plan) {
  for (Class& c : plan.classes)
    for (size_t i = 0; i < c.ops.size(); ++i) {
      Operator* op = c.ops[i].get();
      const int less = 3;
      if (auto* y = dynamic_cast<Softmax*>(op)) {
        y->offset[0] += int64_t{1} << (y->window() - 1);
        y->maximum.floor = int64_t(y->maximum.high_table.size()) - 2;
      }
      if (auto* norm = dynamic_cast<Norm*>(op)) norm->top = norm->floor + 1;
      if (auto* a = dynamic_cast<Activation*>(op)) {
        for (Ints* t : {&a->lines.offset, &a->lines.rise}) {
          const size_t drop = (t->size() - (t->size() >> less)) / 2;
          *t = {t->begin() + int64_t(drop), t->end() - int64_t(drop)};
        }
        c.ops[i - 1]->ring -= less;
        for (Certificate& x : c.certificates[i])
          if (!x.hard) x.bits -= less;
      }
    }
}

TEST(Simulate, WrapsOutsideCalibratedWindows) {
  for (const Case& c : Cases()) {
    CompileOptions o = c.options;
    o.policy.piece = 4;
    Small m(c.graph, 8, o);
    Narrow(m.plan);
    Check(m.plan);
    const PlanSimulator s(m.plan, m.q);
    std::set<std::string> named;
    for (const auto& ids : SmallTexts(9, 10, 16)) {
      const Simulation r = s.Run(ids);
      EXPECT_EQ(r.y, c.naive(m.plan, m.q, ids)) << c.name;
      for (const Outside& x : r.outside) {
        EXPECT_FALSE(x.hard) << Sentence(x);
        named.insert(x.wire.substr(x.wire.rfind('/') + 1));
      }
    }
    EXPECT_THAT(named, testing::IsSupersetOf({"e.score", "e.row_max", "normalised.square"})) << c.name;
    EXPECT_TRUE(named.count("gelu.input") + named.count("silu.input")) << c.name;
  }
}

TEST(Simulate, KnownAnswer) {
  const std::vector<int32_t> ids = {0, 3, 5, 2, 7, 1};
  const Small after(After()), before(Before());
  EXPECT_THAT(PlanSimulator(after.plan, after.q).Run(ids).y,
              testing::ElementsAre(-20622, 13599, -36710, 20362, 11537, 8955, 7041, -9493, -2415, 18764, -13042, 2564,
                                   -8527, -14565, -19024, 19637));
  EXPECT_THAT(PlanSimulator(before.plan, before.q).Run(ids).y,
              testing::ElementsAre(515, -700, 463, -1392, -2256, 1249, -1316, 994));
}

TEST(Simulate, ShowsEveryNodeInOrder) {
  const Small m(Before());
  int next = 0;
  Ints last;
  const std::vector<int32_t> ids{1, 2, 3, 4};
  const Simulation r = PlanSimulator(m.plan, m.q).Run(ids, [&](const GraphNode& n, const IntArray& y) {
    EXPECT_EQ(n.index, next++);
    EXPECT_EQ(int64_t(y.at.size()), pfss::Size(y.shape)) << Graph::Where(n);
    last = y.at;
  });
  EXPECT_EQ(next, int(m.plan.graph.size()));
  EXPECT_EQ(last, r.y);
}

TEST(Simulate, SentenceNamesWireValueAndLimit) {
  EXPECT_EQ(Sentence({"8/0/attention/e.score", 70, 64, false}),
            "wire 8/0/attention/e.score reached 70, its calibrated limit is 64; the result may be less accurate, "
            "calibrate with texts like "
            "this one");
  EXPECT_EQ(Sentence({"8/0/proj/z_proj", -70, -64, true}),
            "wire 8/0/proj/z_proj reached -70, its hard limit is -64; compile the plan again from these weights");
}

// A hard certificate that is left is reported with its sign, limit and wire.
TEST(Simulate, TellsOfABrokenCertificate) {
  Small m(After());
  for (Certificate& c : m.plan.classes[0].certificates[2]) c.bits = 3;
  std::set<std::string> said;
  for (const Outside& o : PlanSimulator(m.plan, m.q).Run(std::vector<int32_t>{1, 2, 3}).outside) {
    EXPECT_TRUE(o.hard);
    EXPECT_EQ(std::abs(o.limit), 8);
    EXPECT_EQ(o.value < 0, o.limit < 0);
    said.insert(o.wire);
  }
  EXPECT_THAT(said, testing::ElementsAre("8/0/attention/z_qk"));
}

TEST(Simulate, RefusesTokensOutsideTheVocabulary) {
  const Small m(After());
  const PlanSimulator s(m.plan, m.q);
  const std::vector<int32_t> above = {0, 8, 1}, below = {0, -1, 1}, two = {0, 1};
  EXPECT_EQ(Refusal([&] { s.Run(above); }, Cause::kInput),
            "token 2 has the id 8, and the vocabulary has the ids 0 to 7; use the tokenizer of the plan's model");
  EXPECT_EQ(Refusal([&] { s.Run(below); }, Cause::kInput),
            "token 2 has the id -1, and the vocabulary has the ids 0 to 7; use the tokenizer of the plan's model");
  EXPECT_THAT(Refusal([&] { s.Run(two); }, Cause::kInput), testing::HasSubstr("below the limit of 3"));
}

}  // namespace
}  // namespace suf::nn
