// The emitted inference against the simulator, bit for bit; its rounds and key bits against closed forms.
#include "suf/nn/build.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "suf/backends/clear.hpp"
#include "suf/backends/packed.hpp"
#include "suf/gates/testing.hpp"
#include "suf/nn/compile.hpp"
#include "suf/nn/layers.hpp"
#include "suf/nn/masked.hpp"
#include "suf/nn/quantise.hpp"
#include "suf/nn/simulate.hpp"

namespace suf::nn {
namespace {

// Random weights with the spreads of a trained encoder.
Weights RandomWeights(Dims dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  auto fill = [&](std::vector<float>& v, int64_t n, double spread, double mean = 0) {
    std::normal_distribution<float> d{float(mean), float(spread)};
    v.resize(size_t(n));
    for (float& x : v) x = d(rng);
  };
  Weights w;
  w.dims = dims;
  int64_t d = dims.d, ff = dims.ff;
  fill(w.word, dims.vocab * d, 0.05), fill(w.position, dims.positions * d, 0.03), fill(w.type, d, 0.02);
  fill(w.gamma, d, 0.2, 1), fill(w.beta, d, 0.1);
  for (int64_t l = 0; l < dims.layers; ++l) {
    Weights::Layer y;
    double in = 1 / std::sqrt(double(d));
    for (auto* m : {&y.wq, &y.wk, &y.wv, &y.wo}) fill(*m, d * d, 1.2 * in);
    for (auto* b : {&y.bq, &y.bk, &y.bv, &y.bo, &y.b1, &y.b_out, &y.b2}) fill(*b, d, 0.1);
    fill(y.w_in, ff * d, in), fill(y.w_out, d * ff, 1 / std::sqrt(double(ff))), fill(y.b_in, ff, 0.1);
    fill(y.g1, d, 0.2, 1), fill(y.g2, d, 0.2, 1);
    w.layers.push_back(std::move(y));
  }
  return w;
}

std::vector<std::vector<int32_t>> RandomTexts(const Dims& dims, int count, int longest, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < count; ++i) {
    std::vector<int32_t> ids(size_t(3 + rng() % uint64_t(longest - 2)));
    for (auto& id : ids) id = int32_t(rng() % uint64_t(dims.vocab));
    texts.push_back(ids);
  }
  return texts;
}

struct Model {
  Weights weights;
  Plan plan;
  Quantised q;
  Model(Dims dims, int max_tokens, uint64_t seed = 1, CompileOptions o = {}) : weights(RandomWeights(dims, seed)) {
    o.max_tokens = max_tokens;
    plan = Compile(weights, RandomTexts(dims, 24, max_tokens, seed + 1), o);
    q = Quantise(weights, plan.scales, max_tokens);
  }
};

// SetInputs: of both parties and the dealer, B fresh from `rng`.
void SetInputs(const Plan& plan, const Quantised& q, const std::vector<int32_t>& ids, std::mt19937_64& rng, proto::Inputs (&in)[3]) {
  int64_t n = int64_t(ids.size()), d = plan.dims.d;
  for (auto& [name, tensor] : q) {
    std::vector<uint64_t> words = tensor.Words();
    if (name == "pos") words.resize(size_t(n * d));
    if (name == "bp")
      for (uint64_t& w : words) w *= uint64_t(n);
    in[0].Set("W." + name, words);
  }
  for (const Masked& m : MaskedTensors(plan)) {
    std::vector<uint64_t> b(size_t(m.size())), w = q.at(m.name).Words();
    for (size_t i = 0; i < b.size(); ++i) b[i] = rng(), w[i] -= b[i];
    in[2].Set("B." + m.name, b);
    in[1].Set("Wh." + m.name, w);
  }
  in[1].Set("tokens", ids);
}

struct Outcome {
  std::vector<int64_t> y;
  int rounds;
};
Outcome RunProtocol(const Plan& plan, const Quantised& q, const std::vector<int32_t>& ids, pfss::Backend& backend, uint8_t serial) {
  pfss::Trace t;
  Build(t, plan, int(ids.size()));
  pfss::Schedule s(t);
  pfss::AuditReport audit = pfss::Audit(s);
  EXPECT_TRUE(audit.faults.empty()) << audit.faults[0];
  EXPECT_EQ(audit.results, 1);
  std::mt19937_64 rng(serial);
  proto::Inputs in[3];
  SetInputs(plan, q, ids, rng, in);
  pfss::Material material{{Hash{1, serial}, Hash{2, serial}}, Hash{serial}};
  proto::PairRun run = proto::RunPair({s, {&backend, &backend, &backend}, {&in[0], &in[1], &in[2]}, material});
  EXPECT_TRUE(run.result[0].empty());
  for (int p : {0, 1}) {
    EXPECT_EQ(run.online[size_t(p)], s.sent(p, true));
    EXPECT_EQ(run.offline[size_t(p)], s.sent(p, false));
  }
  EXPECT_EQ(run.offline[0], 0);
  Outcome out{{}, s.rounds()};
  for (uint64_t v : run.result[1]) out.y.push_back(suf::Signed(v, plan.For(int(ids.size())).result.out));
  return out;
}

// The parties' backends differ from run to run; every run has weights of its own B.
TEST(Build, EqualsTheSimulator) {
  exec::Pool pool(2);
  for (int layers : {1, 2}) {
    Model m({.d = 16, .heads = 2, .ff = 32, .vocab = 23, .layers = layers, .positions = 12}, 12, uint64_t(layers));
    Simulator simulator(m.plan, m.q);
    uint8_t serial = 0;
    for (auto& ids : RandomTexts(m.plan.dims, 8, 12, 99)) {
      ++serial;
      auto backend = serial % 2 ? backends::MakePacked(pool) : backends::MakeClear();
      Outcome got = RunProtocol(m.plan, m.q, ids, *backend, serial);
      EXPECT_EQ(got.y, simulator.Run(ids).y) << ids.size() << " tokens";
      // to the first normalised rows 6, a layer 34 with the attention's own rescale, pooling 8
      EXPECT_EQ(got.rounds, 6 + 34 * layers + 8);
    }
  }
}

// Merge: the attention's output goes un-rescaled into W_o: o at one more fractional bit instead of being shifted by one.
Plan Merge(Plan plan) {
  ++plan.scales.o;
  for (Class& c : plan.classes)
    for (Layer& y : c.layers) {
      EXPECT_EQ(y.shift_o, 1);
      y.shift_o = 0, ++y.proj, ++y.attention.kz, ++y.attention.cut;
      y.diag_o = DiagO(plan.scales), y.mean_o = MeanO(plan.scales);
    }
  return plan;
}

TEST(Build, MergedRescale) {
  for (int layers : {1, 2}) {
    Dims dims{.d = 16, .heads = 2, .ff = 32, .vocab = 23, .layers = layers, .positions = 8};
    CompileOptions o;
    o.exp_high = 9, o.exp_low = 4, o.recip_bits = 6, o.scales.v = 8, o.scales.w_o = 10;  // rings below 64 bits
    Model probe(dims, 8, 5, o);
    int most = 0;
    for (const Layer& y : probe.plan.classes[0].layers) most = std::max(most, y.shift_o);
    o.scales.o += most - 1;
    bool even = true;
    for (const Layer& y : probe.plan.classes[0].layers) even = even && y.shift_o == most;
    ASSERT_TRUE(even);  // the seed's layers have row sums of one size
    Model m(dims, 8, 5, o);
    Plan plan = Merge(m.plan);
    Quantised q = Quantise(m.weights, plan.scales, 8);
    Simulator simulator(plan, q);
    auto clear = backends::MakeClear();
    for (auto& ids : RandomTexts(dims, 4, 8, 7)) {
      Outcome got = RunProtocol(plan, q, ids, *clear, uint8_t(ids.size()));
      EXPECT_EQ(got.y, simulator.Run(ids).y) << ids.size() << " tokens";
      EXPECT_EQ(got.rounds, 6 + 32 * layers + 8);  // 46, 78
    }
  }
}

TEST(Build, SameNodesEveryTime) {
  Model m({.d = 16, .heads = 2, .ff = 32, .vocab = 23, .layers = 2, .positions = 12}, 12);
  pfss::Trace a, b, c;
  Build(a, m.plan, 7), Build(b, m.plan, 7), Build(c, m.plan, 8);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), c.digest());
}

}  // namespace
}  // namespace suf::nn
