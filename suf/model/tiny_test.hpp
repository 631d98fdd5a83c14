// For tests of other rooms: a small random encoder of any shape, and texts of its vocabulary, the same from a seed.
#pragma once
#include <random>

#include "suf/base/folder_test.hpp"
#include "suf/model/family.hpp"
#include "suf/model/random.hpp"
#include "suf/nn/compile.hpp"

namespace suf::model {

using Text = std::vector<int32_t>;

// Written: the random model of a preset, through its files.
inline Model Written(const Preset& preset, uint64_t seed) {
  const Scratch dir;
  WriteRandomModel(dir.path, preset, seed);
  return Load(dir.path);
}

// Small: an encoder's shape; the vocabulary has at most 128 entries.
struct Small {
  int64_t d = 16, heads = 2, ff = 32, vocab = 8, layers = 2, positions = 16;
};

inline Model SmallModel(uint64_t seed, const Small& s = {}) {
  const std::string config =
      Str(R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": )", s.d, R"(, "num_attention_heads": )",
          s.heads, R"(, "intermediate_size": )", s.ff, R"(, "vocab_size": )", s.vocab, R"(, "num_hidden_layers": )",
          s.layers, R"(, "max_position_embeddings": )", s.positions, "}");
  return Written(Preset{"small", config.c_str()}, seed);
}

// Texts: `count` ones of least to longest tokens below `vocabulary`.
inline std::vector<Text> Texts(uint64_t seed, int count, int least, int longest, int64_t vocabulary = 128) {
  std::mt19937_64 rng(seed);
  std::vector<Text> texts(size_t(count), Text{});
  for (Text& t : texts)
    for (int n = least + int(rng() % uint64_t(longest - least + 1)); n > 0; --n)
      t.push_back(int32_t(rng() % uint64_t(vocabulary)));
  return texts;
}

// SmallPlan: for texts of up to max_tokens; calibrated on random ones where none are given.
inline nn::Plan SmallPlan(const Model& m, int max_tokens, const nn::Options& policy = {},
                          std::vector<Text> texts = {}) {
  nn::CompileOptions o;
  o.policy = policy, o.min_tokens = m.min_tokens, o.max_tokens = max_tokens;
  if (texts.empty()) texts = Texts(2, 24, m.min_tokens, max_tokens, m.graph.leaves().at(0).shape[0]);
  return nn::Compile(m.graph, m.weights, texts, o);
}

// ForInputs: set(party, name, words) of every input of a trace of these ids: P0's weights, W - B of P1 under a fresh B,
// B of the dealer (party 2); "tokens" of P1.
template <class F>
void ForInputs(const nn::Plan& plan, const nn::Quantised& q, const std::vector<int32_t>& ids, std::mt19937_64& rng,
               F set) {
  auto own = [&](const std::string& name, const nn::Tensor& t) { set(0, name, t.Words()); };
  nn::ModelInputs(plan, q, own);
  nn::LengthInputs(plan, q, int(ids.size()), own);
  for (const nn::MaskedWeight& m : nn::MaskedWeights(plan)) {
    std::vector<uint64_t> hat(size_t(m.size())), b = q.at(m.name).Words();
    for (size_t i = 0; i < b.size(); ++i) hat[i] = rng(), b[i] -= hat[i];
    set(1, "Wh." + m.name, hat), set(2, "B." + m.name, b);
  }
  set(1, "tokens", std::vector<uint64_t>(ids.begin(), ids.end()));
}

}  // namespace suf::model
