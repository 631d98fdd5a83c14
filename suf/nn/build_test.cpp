// The emitted inference against the simulator, bit for bit; its flights and key bits against closed forms.
#include "suf/nn/build.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "suf/backends/clear.hpp"
#include "suf/backends/packed.hpp"
#include "suf/gates/rig_test.hpp"
#include "suf/nn/compile.hpp"
#include "suf/nn/layers.hpp"
#include "suf/nn/masked.hpp"
#include "suf/nn/quantise.hpp"
#include "suf/nn/simulate.hpp"
#include "suf/nn/tiny.hpp"

namespace suf::nn {
namespace {

struct Model {
  Weights weights;
  Plan plan;
  Quantised q;
  Model(Dims dims, CompileOptions o) : weights(TinyWeights(uint64_t(dims.layers), dims)) {
    plan = Compile(weights, TinyTexts(2, 24, o.max_tokens, dims), o);
    q = Quantise(weights, plan.scales, o.max_tokens);
  }
};

// SetInputs: of both parties and the dealer, B fresh from `rng`.
void SetInputs(const Plan& plan, const Quantised& q, const std::vector<int32_t>& ids, std::mt19937_64& rng,
               run::Inputs (&in)[3]) {
  int64_t n = int64_t(ids.size()), d = plan.dims.d;
  for (auto& [name, tensor] : q) {
    std::vector<uint64_t> words = tensor.Words();
    if (name == "pos") words.resize(size_t(n * d));
    if (name == "bp")
      for (uint64_t& w : words) w *= uint64_t(n);
    in[0].Set("W." + name, words);
  }
  for (const MaskedWeight& m : MaskedWeights(plan)) {
    std::vector<uint64_t> b(size_t(m.size())), w = q.at(m.name).Words();
    for (size_t i = 0; i < b.size(); ++i) b[i] = rng(), w[i] -= b[i];
    in[2].Set("B." + m.name, b);
    in[1].Set("Wh." + m.name, w);
  }
  in[1].Set("tokens", ids);
}

struct Outcome {
  std::vector<int64_t> y;
  int flights;
};
Outcome RunProtocol(const Plan& plan, const Quantised& q, const std::vector<int32_t>& ids, pfss::Backend& backend,
                    uint8_t serial) {
  pfss::Trace t;
  Build(t, plan, int(ids.size()));
  pfss::Schedule s(t);
  pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
  EXPECT_EQ(lint.results, 1);
  std::mt19937_64 rng(serial);
  run::Inputs in[3];
  SetInputs(plan, q, ids, rng, in);
  pfss::Material material{{Secret(Hash{1, serial}), Secret(Hash{2, serial})}, Hash{serial}};
  run::PairRun run = run::RunPair({s, {&backend, &backend, &backend}, {&in[0], &in[1], &in[2]}, material});
  EXPECT_TRUE(run.result[0].empty());
  for (int p : {0, 1}) {
    EXPECT_EQ(run.online[size_t(p)], s.sent(p, true));
    EXPECT_EQ(run.offline[size_t(p)], s.sent(p, false));
  }
  EXPECT_EQ(run.offline[0], 0);
  Outcome out{{}, s.flights()};
  for (uint64_t v : run.result[1]) out.y.push_back(func::Signed(v, plan.For(int(ids.size())).result.out));
  return out;
}

// Both variants of the attention's output, in classes of several lengths; every run has weights of its own B.
TEST(Build, EqualsTheSimulator) {
  exec::Pool pool(2);
  for (int64_t layers : {1, 2})
    for (int merge : {0, 8}) {
      Dims dims = kTiny;
      dims.layers = layers;
      CompileOptions o = TinyOptions();
      o.merge = merge;
      Model m(dims, o);
      Simulator simulator(m.plan, m.q);
      uint8_t serial = 0;
      for (auto& ids : TinyTexts(5, 8, o.max_tokens, dims)) {
        ++serial;
        auto backend = serial % 2 ? backends::MakePacked(pool) : backends::MakeClear();
        Outcome got = RunProtocol(m.plan, m.q, ids, *backend, serial);
        EXPECT_EQ(got.y, simulator.Run(ids).y) << ids.size() << " tokens";
        // to the first normalised rows 6, a layer 32 and two for a rescale of its own before W_o, pooling 8
        bool merged = m.plan.For(int(ids.size())).layers[0].shift_o == 0;
        EXPECT_EQ(merged, ids.size() <= size_t(merge));
        EXPECT_EQ(got.flights, 6 + (merged ? 32 : 34) * layers + 8);
      }
    }
}

// A pooled sum of zero has no direction: the protocol gives the zero vector, as the simulator does; P1 alone sees it
// and says so (apps).
TEST(Build, AZeroNormGivesZeros) {
  exec::Pool pool(2);
  Model m(kTiny, TinyOptions());
  for (const char* name : {"gp", "bp"}) m.q[name] = Tensor({kTiny.d}, std::vector<int64_t>(size_t(kTiny.d), 0));
  std::vector<int32_t> ids{1, 2, 3, 4};
  auto packed = backends::MakePacked(pool);
  Outcome out = RunProtocol(m.plan, m.q, ids, *packed, 7);
  EXPECT_EQ(out.y, std::vector<int64_t>(size_t(kTiny.d), 0));
  EXPECT_EQ(out.y, Simulator(m.plan, m.q).Run(ids).y);
}

TEST(Build, SameNodesEveryTime) {
  Model m(kTiny, TinyOptions());
  pfss::Trace a, b, c;
  Build(a, m.plan, 7), Build(b, m.plan, 7), Build(c, m.plan, 8);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), c.digest());
}

// Scopes: a layer's linear maps take no key, its norms what the closed form says.
TEST(Build, KeyBitsByScope) {
  Model m(kTiny, TinyOptions());
  int n = 7;
  pfss::Trace t;
  Build(t, m.plan, n);
  pfss::Schedule s(t);
  pfss::Cost cost = pfss::CostOf(s);
  const Class& c = m.plan.For(n);
  std::map<std::string, int64_t> want{{"embed", NormaliseKeyBits(c.embedding, compiler::Stages::kTwo, n, 16, true)},
                                      {"pool", NormaliseKeyBits(c.result, compiler::Stages::kOne, 1, 16, true)}};
  for (int l : {0, 1}) {
    const Layer& y = c.layers[size_t(l)];
    want[Str(l, "/proj")] = want[Str(l, "/ffn2")] = 0;
    want[Str(l, "/norm1")] = NormaliseKeyBits(y.attention, compiler::Stages::kTwo, n, 16, true);
    want[Str(l, "/norm2")] = NormaliseKeyBits(y.output, compiler::Stages::kTwo, n, 16, true);
    func::Suf gelu = func::Uniform("gelu", y.piece_width, y.gelu_a, y.gelu_b, 64);
    want[Str(l, "/gelu")] =
        n * 32 * compiler::WindowLut{gelu, y.shift_ffn1, y.gelu_u, y.gelu_v, y.ffn2}.KeyBits(y.ffn1);
  }
  for (auto& row : cost.rows) {
    if (row.scope.ends_with("attention")) continue;
    EXPECT_EQ(row.key[0] + row.key[1], want.at(row.scope)) << row.scope;
  }
}

}  // namespace
}  // namespace suf::nn
