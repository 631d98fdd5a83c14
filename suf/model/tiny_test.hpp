// For tests of other rooms: a small random encoder of any shape, and texts of its vocabulary, the same from a seed.
#pragma once
#include <stdlib.h>

#include <random>

#include "suf/base/error.hpp"
#include "suf/model/family.hpp"
#include "suf/model/random.hpp"
#include "suf/nn/compile.hpp"

namespace suf::model {

// Small: an encoder's shape; the vocabulary has at most 128 entries.
struct Small {
  int64_t d = 16, heads = 2, ff = 32, vocab = 8, layers = 2, positions = 16;
};

inline Model SmallModel(uint64_t seed, const Small& s = {}) {
  const std::string config =
      Str(R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": )", s.d, R"(, "num_attention_heads": )",
          s.heads, R"(, "intermediate_size": )", s.ff, R"(, "vocab_size": )", s.vocab, R"(, "num_hidden_layers": )",
          s.layers, R"(, "max_position_embeddings": )", s.positions, "}");
  std::string dir = (std::filesystem::temp_directory_path() / "suf_small_XXXXXX").string();
  if (!mkdtemp(dir.data())) throw std::runtime_error("no temporary folder");
  WriteRandomModel(dir, Preset{"small", config.c_str()}, seed);
  Model m = Load(dir);
  std::filesystem::remove_all(dir);
  return m;
}

// SmallTexts: `count` texts of 3 to `longest` tokens.
inline std::vector<std::vector<int32_t>> SmallTexts(uint64_t seed, int count, int longest,
                                                    int64_t vocab = Small{}.vocab) {
  std::mt19937_64 rng(seed);
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < count; ++i) {
    std::vector<int32_t>& t = texts.emplace_back();
    for (uint64_t n = 3 + rng() % uint64_t(longest - 2); n > 0; --n) t.push_back(int32_t(rng() % uint64_t(vocab)));
  }
  return texts;
}

// SmallPlan: for texts of up to max_tokens.
inline nn::Plan SmallPlan(const Model& m, int max_tokens, const nn::Options& policy = {}) {
  nn::CompileOptions o;
  o.policy = policy, o.min_tokens = m.min_tokens, o.max_tokens = max_tokens;
  return nn::Compile(m.graph, m.weights, SmallTexts(2, 24, max_tokens, m.graph.leaves().at(0).shape[0]), o);
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
