// For tests of other modules: a small random encoder of any shape, and texts of its vocabulary, by a seed.
#pragma once
#include <algorithm>
#include <random>

#include "suf/base/folder_test.hpp"
#include "suf/model/family.hpp"
#include "suf/model/random.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/plan/knob_search.hpp"

namespace suf::model {

using Text = std::vector<int32_t>;

// Returns the random model of a preset, through its files.
inline LoadedModel Written(const Preset& preset, uint64_t seed) {
  const Scratch dir;
  WriteRandomModel(dir.path, preset, seed);
  return Load(dir.path);
}

// The shape of an encoder. The vocabulary has at most 128 entries.
struct Small {
  int64_t d = 16, heads = 2, ff = 32, vocab = 8, layers = 2, positions = 16;
};

inline LoadedModel SmallModel(uint64_t seed, const Small& s = {}) {
  const std::string config =
      Str(R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": )", s.d, R"(, "num_attention_heads": )",
          s.heads, R"(, "intermediate_size": )", s.ff, R"(, "vocab_size": )", s.vocab, R"(, "num_hidden_layers": )",
          s.layers, R"(, "max_position_embeddings": )", s.positions, "}");
  return Written(Preset{"small", config.c_str()}, seed);
}

// Returns `count` texts of least to longest tokens below `vocabulary`.
inline std::vector<Text> Texts(uint64_t seed, int count, int least, int longest, int64_t vocabulary = 128) {
  std::mt19937_64 rng(seed);
  std::vector<Text> texts(size_t(count), Text{});
  for (Text& t : texts)
    for (int n = least + int(rng() % uint64_t(longest - least + 1)); n > 0; --n)
      t.push_back(int32_t(rng() % uint64_t(vocabulary)));
  return texts;
}

// Returns a plan for texts of up to max_tokens. Without texts it is calibrated on random ones.
inline nn::Plan SmallPlan(const LoadedModel& m, int max_tokens, const nn::Options& policy = {},
                          std::vector<Text> texts = {}) {
  nn::CompileOptions o;
  o.policy = policy;
  o.min_tokens = m.min_tokens;
  o.max_tokens = max_tokens;
  if (texts.empty()) texts = Texts(2, 24, m.min_tokens, max_tokens, m.graph.leaves().at(0).shape[0]);
  return nn::Compile(m.graph, m.weights, texts, o);
}

// Gives every softmax a shift that a map of the queries' input predicts, with small weights. `own`: heads use their own
// scores.
inline LoadedModel Shifted(LoadedModel m, bool own) {
  std::mt19937_64 rng(7);
  std::vector<nn::GraphNode*> all;
  for (auto& n : m.graph.nodes()) all.push_back(n.get());
  for (nn::GraphNode* n : all) {
    nn::Softmax* s = n->As<nn::Softmax>();
    if (!s) continue;
    nn::GraphNode* from = n->in[0]->in[0];
    while (!from->As<nn::Norm>()) from = from->in[0];
    const nn::Norm& norm = *from->As<nn::Norm>();
    const int64_t heads = n->in[0]->As<nn::Scores>()->heads, width = norm.groups * norm.dim;
    const std::string name = Str("shift", all.size(), ".", m.graph.leaves().size());
    nn::LinearMap shift;
    shift.terms = {{nn::LinearMap::kFull, 0, m.graph.Tensor(name, {width, heads}, nn::Leaf::kProjection)}};
    shift.key = "shift";
    nn::Checkpoint::CheckpointTensor t{{width, heads}, {}};
    for (int64_t i = 0; i < width * heads; ++i) t.values.push_back(float(int64_t(rng() % 200) - 100) / 500);
    m.weights.Set(name, std::move(t));
    s->by = nn::Softmax::kShift;
    for (int64_t h = 0; own && h < 2 * heads; ++h) s->own.push_back(h % 3 == 0 ? 0 : h - 2);
    n->in.push_back(m.graph.After(from, std::make_unique<nn::LinearMap>(std::move(shift)), {from}, "shift"));
  }
  m.graph.Number();
  return m;
}

// Sets every operator's knobs, in every class of a plan, to the first of these names that they have.
inline void Prefer(nn::Plan* plan, std::initializer_list<const char*> names) {
  for (nn::Class& c : plan->classes) {
    for (nn::OperatorPtr& op : c.ops)
      for (nn::Knob& k : op->Knobs())
        for (const char* name : names)
          if (auto at = std::find(k.options.begin(), k.options.end(), name); at != k.options.end()) {
            k.set(size_t(at - k.options.begin()));
            break;
          }
    nn::Derive(plan->graph, c.ops);
  }
}
inline constexpr std::initializer_list<const char*> kFewestFlights{"dcf",          "StepDcf",  "payload", "summands",
                                                                   "WindowBoth/1", "RowLut/1", "1"};

// Returns a plan as for a far link. It has the segments with the fewest flights, and every choice inside them that
// saves one. Its tables have few pieces, each of which is a read of a DCF. `m` is a Shifted model.
inline nn::Plan FarPlan(const LoadedModel& m, int max_tokens) {
  nn::Options policy;
  for (const nn::Segment& s : nn::Segments()) policy.*s.field = 1;
  policy.recip_pieces = policy.rsqrt_pieces = policy.unit_pieces = 2;
  nn::Plan plan = SmallPlan(m, max_tokens, policy);
  Prefer(&plan, kFewestFlights);
  nn::Check(plan);
  return plan;
}

// Calls set(party, name, words) for every input of a trace of these ids. P0 has the weights, P1 has W - B under a fresh
// B, and the dealer (party 2) has B. P1 also has the token ids.
template <class F>
void ForInputs(const nn::Plan& plan, const nn::QuantisedWeights& q, const std::vector<int32_t>& ids,
               std::mt19937_64& rng, F set) {
  auto own = [&](const std::string& name, const nn::Tensor& t) { set(0, name, t.Words()); };
  nn::ModelInputs(plan, q, own);
  nn::LengthInputs(plan, q, int(ids.size()), own);
  for (const nn::MaskedWeight& m : nn::MaskedWeights(plan)) {
    std::vector<uint64_t> hat(size_t(m.size())), b = q.at(m.name).Words();
    for (size_t i = 0; i < b.size(); ++i) {
      hat[i] = rng();
      b[i] -= hat[i];
    }
    set(1, "Wh." + m.name, hat);
    set(2, "B." + m.name, b);
  }
  const auto [tokens, types] = nn::SplitTypes(ids, plan.vocabulary(), plan.types());
  set(1, nn::kTokensInput, std::vector<uint64_t>(tokens.begin(), tokens.end()));
  if (plan.types() > 1) set(1, nn::kTypesInput, std::vector<uint64_t>(types.begin(), types.end()));
}

}  // namespace suf::model
