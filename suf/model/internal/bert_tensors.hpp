// The tensors of a Hugging Face BERT encoder: names, shapes, and where they live in nn::Weights. Loading and random
// models walk the same list.
#pragma once
#include <string>
#include <vector>

#include "suf/model/safetensors.hpp"
#include "suf/nn/weights.hpp"

namespace suf::model {

enum class Kind { kTable, kProjection, kBias, kGamma };

// VisitTensors: f(name, shape, values, kind) for every tensor of w.dims; names without the "bert." prefix. The
// token-type table is visited with all its `types` rows.
template <class F>
void VisitTensors(nn::Weights& w, int64_t types, F f) {
  const int64_t d = w.dims.d, ff = w.dims.ff;
  const auto linear = [&](const std::string& name, int64_t out, int64_t in, std::vector<float>& weight,
                          std::vector<float>& bias) {
    f(name + ".weight", Shape{out, in}, weight, Kind::kProjection);
    f(name + ".bias", Shape{out}, bias, Kind::kBias);
  };
  const auto norm = [&](const std::string& name, std::vector<float>& gamma, std::vector<float>& beta) {
    f(name + ".weight", Shape{d}, gamma, Kind::kGamma);
    f(name + ".bias", Shape{d}, beta, Kind::kBias);
  };
  f(std::string("embeddings.word_embeddings.weight"), Shape{w.dims.vocab, d}, w.word, Kind::kTable);
  f(std::string("embeddings.position_embeddings.weight"), Shape{w.dims.positions, d}, w.position, Kind::kTable);
  f(std::string("embeddings.token_type_embeddings.weight"), Shape{types, d}, w.type, Kind::kTable);
  norm("embeddings.LayerNorm", w.gamma, w.beta);
  w.layers.resize(size_t(w.dims.layers));
  for (size_t i = 0; i < w.layers.size(); ++i) {
    nn::Weights::Layer& l = w.layers[i];
    const std::string at = "encoder.layer." + std::to_string(i) + ".";
    linear(at + "attention.self.query", d, d, l.wq, l.bq);
    linear(at + "attention.self.key", d, d, l.wk, l.bk);
    linear(at + "attention.self.value", d, d, l.wv, l.bv);
    linear(at + "attention.output.dense", d, d, l.wo, l.bo);
    norm(at + "attention.output.LayerNorm", l.g1, l.b1);
    linear(at + "intermediate.dense", ff, d, l.w_in, l.b_in);
    linear(at + "output.dense", d, ff, l.w_out, l.b_out);
    norm(at + "output.LayerNorm", l.g2, l.b2);
  }
}

}  // namespace suf::model
