// For tests of families: compiled random models of presets, and both parties with the dealer in one process.
#pragma once
#include <gtest/gtest.h>

#include <random>

#include "suf/backends/every_test.hpp"
#include "suf/model/random.hpp"
#include "suf/model/testing.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/forward.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::model {

// Returns a configuration with one number changed: `name` "n_layer", `was` "2", `now` "1".
inline std::string Replaced(std::string config, const std::string& name, const std::string& was,
                            const std::string& now) {
  const std::string field = "\"" + name + "\": " + was;
  const size_t at = config.find(field);
  if (at == config.npos) throw Bug("the configuration has no " + field);
  return config.replace(at, field.size(), "\"" + name + "\": " + now);
}

// Returns a random model of a preset's configuration, or of `config` derived from it.
inline LoadedModel RandomModel(const char* preset, uint64_t seed = 1, const std::string& config = "") {
  Preset p = FindPreset(preset);
  if (!config.empty()) p.config = config.c_str();
  return Written(p, seed);
}

// A model with its plan for `longest` tokens and its quantised weights.
struct Compiled {
  LoadedModel model;
  nn::Plan plan;
  nn::QuantisedWeights q;
};
inline Compiled CompileFor(LoadedModel m, int longest, const nn::Options& policy = {}, std::vector<Text> texts = {}) {
  Compiled c{std::move(m), {}, {}};
  c.plan = SmallPlan(c.model, longest, policy, std::move(texts));
  c.q = nn::Quantise(c.model.weights, c.plan);
  return c;
}

struct Outcome {
  nn::Ints y;
  int flights = 0;
};

// Expects that each message of the trace, except the result's, has a pad of its own. Expects that all are needed.
inline void ExpectSound(const pfss::Schedule& s) {
  const pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
  EXPECT_EQ(lint.results, 1);
  EXPECT_TRUE(pfss::UnusedMessages(s).empty()) << "a message that no result needs";
}

// Sets the inputs of P0, P1 and the dealer by ForInputs.
inline void SetInputs(const nn::Plan& plan, const nn::QuantisedWeights& q, const Text& ids, std::mt19937_64& rng,
                      run::Inputs* in) {
  ForInputs(plan, q, ids, rng,
            [&](int role, const std::string& name, const std::vector<uint64_t>& words) { in[role].Set(name, words); });
}

// Runs both parties and the dealer under the keys of `serial`. Checks lint and the counters of the channel.
inline run::PairRun RunCounted(const pfss::Schedule& s, run::Inputs (&in)[3], pfss::Backend& backend, uint8_t serial) {
  ExpectSound(s);
  const pfss::BundleSecrets secrets{{Secret(Hash{1, serial}), Secret(Hash{2, serial})}, Hash{serial}};
  run::PairRun run = run::RunPair({s, {&backend, &backend, &backend}, {&in[0], &in[1], &in[2]}, secrets});
  EXPECT_TRUE(run.result[0].empty());
  // A chain of frames: in two tiles a frame also follows those of the other tile.
  EXPECT_GE(run.flights, s.flights());
  EXPECT_LE(run.flights, s.frames().back().tick + 1);
  for (int p : {0, 1}) {
    EXPECT_EQ(run.online[size_t(p)], s.sent(p, true));
    EXPECT_EQ(run.offline[size_t(p)], s.sent(p, false));
    EXPECT_EQ(run.frames[size_t(p)], s.frame_count(p, true));
    EXPECT_EQ(int64_t(run.key[size_t(p)].size()), s.key_bytes(p));
  }
  return run;
}

// Runs the protocol on a batch of texts of one length, under a B and masks of `serial`.
inline Outcome RunBatch(const nn::Plan& plan, const nn::QuantisedWeights& q, std::span<const Text> texts,
                        pfss::Backend& backend, uint8_t serial) {
  const int n = int(texts[0].size());
  pfss::Trace t;
  nn::Build(t, plan, n, 0, int(texts.size()));
  const pfss::Schedule s(t);
  std::mt19937_64 rng(serial);
  run::Inputs in[3];
  SetInputs(plan, q, texts[0], rng, in);
  const auto [tokens, types] = nn::SplitTypes(nn::BatchIds(texts, nn::kMostTexts), plan.vocabulary(), plan.types());
  in[1].Set(nn::kTokensInput, tokens);
  if (plan.types() > 1) in[1].Set(nn::kTypesInput, types);
  const run::PairRun run = RunCounted(s, in, backend, serial);
  EXPECT_EQ(run.offline[0], 0);
  Outcome out{{}, s.flights()};
  for (uint64_t v : run.result[1]) out.y.push_back(ring::Signed(v, plan.For(n).ops.back()->ring));
  return out;
}

// Runs the protocol on one text.
inline Outcome RunProtocol(const nn::Plan& plan, const nn::QuantisedWeights& q, const Text& ids, pfss::Backend& backend,
                           uint8_t serial) {
  return RunBatch(plan, q, {&ids, 1}, backend, serial);
}

// Returns the plan with another kind of pool.
inline nn::Plan WithPool(nn::Plan plan, nn::PoolRows::Kind kind) {
  for (nn::Class& one : plan.classes)
    for (nn::OperatorPtr& op : one.ops)
      if (auto* pool = dynamic_cast<nn::PoolRows*>(op.get())) pool->kind = kind;
  for (auto& n : plan.graph.nodes())
    if (auto* pool = n->As<nn::PoolRows>()) pool->kind = kind;
  for (nn::Class& one : plan.classes) nn::Derive(plan.graph, one.ops);
  return plan;
}

// Compares protocol and specification, with every backend in turn. Returns the specification's report of every text.
inline std::vector<nn::Simulation> ExpectSameWords(const nn::Plan& plan, const nn::QuantisedWeights& q,
                                                   const std::vector<Text>& texts,
                                                   const std::function<int(int n)>& flights) {
  exec::Pool pool(2);
  const auto every = backends::Every(pool);
  const nn::PlanSimulator simulator(plan, q);
  std::vector<nn::Simulation> out;
  for (const Text& ids : texts) {
    const uint8_t serial = uint8_t(out.size() + 1);
    const Outcome got = RunProtocol(plan, q, ids, *every[serial % every.size()], serial);
    out.push_back(simulator.Run(ids));
    EXPECT_EQ(got.y, out.back().y) << ids.size() << " tokens";
    EXPECT_EQ(got.flights, flights(int(ids.size()))) << ids.size() << " tokens";
  }
  return out;
}

}  // namespace suf::model
