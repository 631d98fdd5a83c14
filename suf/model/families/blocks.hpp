// Blocks that builders of transformers share: a linear layer, a norm, attention between the projections.
#pragma once
#include <string>

#include "suf/compiler/digits.hpp"
#include "suf/model/family.hpp"
#include "suf/nn/ops.hpp"

namespace suf::model {

using nn::Expr;
using nn::Graph;
using nn::GraphNode;
using nn::Leaf;

// Preset::query_key of a preset with the scores of a trained encoder. Windows calibrated for 128 tokens then have 6 or
// 7 bits of levels, like most of all-MiniLM-L6-v2's. With 1 they have 2 to 4. With 2 they have 5 in deep layers, whose
// rows grow alike.
inline constexpr double kTrained = 3;
// Preset::query_key of a preset whose accuracy is measured. With kTrained, nearly every row of a deep softmax is one
// token. Rounding errors then grow from layer to layer, unlike those of a trained model.
inline constexpr double kSteady = 2;
// Preset::outliers of a preset with the outlier channels of a trained model. all-mpnet-base-v2 has three.
inline constexpr int kOutliers = 3;

// Adds x W + b. `key` is one of a plan's options.
inline GraphNode* Linear(Graph& g, GraphNode* x, Expr weight, Expr bias, const char* key, const char* label) {
  nn::LinearMap m;
  m.terms = {{nn::LinearMap::kFull, 0, std::move(weight)}};
  m.bias = std::move(bias);
  m.key = key;
  return g.Add(std::move(m), {x}, label);
}

// Adds x W^T + b by the tensors `at`.weight (out, in) and `at`.bias (out), or without the bias.
inline GraphNode* NamedLinear(Graph& g, GraphNode* x, const std::string& at, int64_t in, int64_t out, bool bias,
                              const char* key, const char* label) {
  const Expr w = g.Tensor(at + ".weight", {out, in}, Leaf::kProjection);
  return Linear(g, x, w.Transposed(), bias ? g.Tensor(at + ".bias", {out}, Leaf::kBias) : Expr(), key, label);
}

// Adds LayerNorm if there is a beta, or if rows lose their mean without one (`centre`); otherwise RMSNorm.
inline GraphNode* Normalised(Graph& g, GraphNode* x, Expr gamma, Expr beta, double eps, const char* key = "layer",
                             bool centre = false) {
  nn::Norm n;
  n.dim = gamma.cols();
  n.centre = centre || beta;
  n.gamma = std::move(gamma);
  n.beta = std::move(beta);
  n.eps = eps;
  n.key = key;
  return g.Add(std::move(n), {x}, "normalised");
}

inline GraphNode* Activated(Graph& g, GraphNode* x, const std::string& function,
                            compiler::Stages stages = compiler::kOnPath) {
  nn::Activation a;
  a.function = function;
  a.lowering.stages = stages;
  return g.Add(std::move(a), {x}, function);
}

// The heads of q, those of k and v, and the width of one. `band` is that of nn::Scores.
struct Heads {
  int own = 1, serving = 1;
  int64_t dim = 1;
  bool causal = false;
  int64_t band = 0;
};

// Adds softmax(q k^T) v over heads, before the output map.
// `relative`, if set, is added to the scores (nn::Scores).
inline GraphNode* Attended(Graph& g, const Heads& h, GraphNode* q, GraphNode* k, GraphNode* v, Expr relative = {}) {
  nn::Scores s;
  s.heads = h.own;
  s.serving = h.serving;
  s.head_dim = h.dim;
  s.causal = h.causal;
  s.band = h.band;
  s.relative = std::move(relative);
  GraphNode* scores = g.Add(std::move(s), {q, k}, "scores");
  nn::Softmax e;
  e.head_dim = h.dim;
  e.causal = h.causal;
  GraphNode* softmax = g.Add(std::move(e), {scores}, "e");
  nn::WeightedSum w;
  w.heads = h.own;
  w.serving = h.serving;
  w.head_dim = h.dim;
  return g.Add(std::move(w), {softmax, v}, "eV*recip");
}

// Turns every head of x by its position, with this base of the angles.
inline GraphNode* Rotated(Graph& g, GraphNode* x, int64_t heads, double base, const char* label = "rotated") {
  nn::Rotary r;
  r.heads = int(heads);
  r.base = base;
  return g.Add(std::move(r), {x}, label);
}

// Adds attention whose queries and keys are rotated. The tensor `at`.weight (3 d, d) has the maps of queries, keys and
// values below each other, without biases.
inline GraphNode* PackedAttention(Graph& g, GraphNode* x, const std::string& at, int64_t d, int64_t heads, double base,
                                  int64_t band = 0) {
  const Expr all = g.Tensor(at + ".weight", {3 * d, d}, Leaf::kProjection).Transposed();
  auto part = [&](int64_t i, const char* key, const char* label) {
    return Linear(g, x, all.Columns(i * d, (i + 1) * d), {}, key, label);
  };
  GraphNode* q = Rotated(g, part(0, "query_key", "z_q"), heads, base);
  GraphNode* k = Rotated(g, part(1, "query_key", "z_k"), heads, base);
  return Attended(g, {int(heads), int(heads), d / heads, false, band}, q, k, part(2, "value", "z_v"));
}

// Adds f(gate) * up.
inline GraphNode* Gated(Graph& g, GraphNode* gate, GraphNode* up, const std::string& function) {
  return g.Add(nn::WireProduct{}, {Activated(g, gate, function, compiler::kBeside), up}, "product");
}

inline GraphNode* Sum(Graph& g, GraphNode* x, GraphNode* y) { return g.Add(nn::Add{}, {x, y}, "stream"); }

inline GraphNode* Pooled(Graph& g, GraphNode* x, nn::PoolRows::Kind kind) {
  nn::PoolRows p;
  p.kind = kind;
  return g.Add(std::move(p), {x}, "pooled");
}

}  // namespace suf::model
