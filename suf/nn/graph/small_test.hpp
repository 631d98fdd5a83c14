// For tests of this module: two small graphs, written by hand, that together hold every operator. Their random weights
// and texts are the same from a seed on every machine.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "suf/nn/ops.hpp"
#include "suf/nn/plan/compile.hpp"

namespace suf::nn {

// A fixed generator (splitmix64) of words and of near-normal numbers, which are sums of twelve uniform ones.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t Word() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  int64_t Below(int64_t n) { return int64_t(Word() % uint64_t(n)); }
  float Normal(double mean, double deviation) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += double(Word() >> 11) * 0x1p-53;
    return float(mean + deviation * sum);
  }

 private:
  uint64_t state_;
};

inline constexpr int64_t kWidth = 16, kHidden = 32, kWords = 8, kPositions = 16;
inline constexpr int kHeads = 2;

inline GraphNode* FullMap(Graph& g, GraphNode* x, const std::string& name, int64_t in, int64_t out, bool bias,
                          const char* key, const char* label) {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, g.Tensor(name, {in, out}, Leaf::kProjection)}};
  m.key = key;
  if (bias) m.bias = g.Tensor(name + ".bias", {out}, Leaf::kBias);
  return g.Add(std::move(m), {x}, label);
}

inline GraphNode* NormOf(Graph& g, GraphNode* x, const std::string& name, bool centre) {
  Norm n;
  n.dim = kWidth;
  n.centre = centre;
  n.eps = 1e-5;
  n.gamma = g.Tensor(name + ".gamma", {kWidth}, Leaf::kGamma);
  if (centre) n.beta = g.Tensor(name + ".beta", {kWidth}, Leaf::kBias);
  return g.Add(std::move(n), {x}, "normalised");
}

inline GraphNode* Attend(Graph& g, GraphNode* q, GraphNode* k, GraphNode* v, int serving, bool causal,
                         Expr relative = {}) {
  Scores s;
  s.heads = kHeads;
  s.serving = serving;
  s.head_dim = kWidth / kHeads;
  s.causal = causal;
  s.relative = std::move(relative);
  Softmax e;
  e.head_dim = s.head_dim;
  e.causal = causal;
  WeightedSum w;
  w.heads = kHeads;
  w.serving = serving;
  w.head_dim = s.head_dim;
  GraphNode* scores = g.Add(std::move(s), {q, k}, "scores");
  GraphNode* softmax = g.Add(std::move(e), {scores}, "e");
  return g.Add(std::move(w), {softmax, v}, "mixed");
}

inline GraphNode* Embedding(Graph& g, bool positions) {
  g.Scope("embed");
  Lookup l;
  l.table = g.Tensor("table", {kWords, kWidth}, Leaf::kTable);
  if (positions) l.positions = g.Tensor("positions", {kPositions, kWidth}, Leaf::kTable);
  return g.Add(std::move(l), {}, "z_embed");
}

// Returns a graph with norms behind the sums, full attention and the mean's direction at the end. `relative` adds a
// table of relative positions.
inline Graph After(bool relative = false) {
  Graph g;
  GraphNode* x = NormOf(g, Embedding(g, true), "n0", true);
  g.Scope("0/attention");
  GraphNode* q = FullMap(g, x, "q", kWidth, kWidth, true, "query_key", "z_q");
  GraphNode* k = FullMap(g, x, "k", kWidth, kWidth, true, "query_key", "z_k");
  GraphNode* v = FullMap(g, x, "v", kWidth, kWidth, true, "value", "z_v");
  Expr buckets = relative ? Expr::Relative(g.Tensor("relative", {6, kHeads}, Leaf::kTable), kPositions) : Expr();
  GraphNode* o = Attend(g, q, k, v, kHeads, false, std::move(buckets));
  g.Scope("0/proj");
  o = g.Add(Add{}, {FullMap(g, o, "o", kWidth, kWidth, true, "attended", "z_proj"), x}, "stream");
  x = NormOf(g, o, "n1", true);
  g.Scope("0/inner");
  Activation a;
  a.function = "gelu";
  GraphNode* h = g.Add(std::move(a), {FullMap(g, x, "w1", kWidth, kHidden, true, "linear", "z_1")}, "gelu");
  g.Scope("0/outer");
  x = NormOf(g, g.Add(Add{}, {FullMap(g, h, "w2", kHidden, kWidth, true, "linear", "z_2"), x}, "stream"), "n2", true);
  g.Scope("pool");
  Norm unit;
  unit.dim = kWidth;
  unit.unit = unit.by_length = true;
  unit.key = "unit";
  g.Add(std::move(unit), {g.Add(PoolRows{}, {x}, "pooled")}, "unit");
  g.Number();
  return g;
}

// Returns a graph with norms before the branches of a stream. It has rotary positions, gated activation and numbers of
// the last row. Its attention is causal, with one head of keys and values.
inline Graph Before() {
  Graph g;
  GraphNode* x = Embedding(g, false);
  const int64_t of = kWidth / kHeads;
  auto rotated = [&](GraphNode* m, int heads) {
    Rotary r;
    r.heads = heads;
    r.base = 100;
    return g.Add(std::move(r), {m}, "rotated");
  };
  g.Scope("0/attention");
  GraphNode* n = NormOf(g, x, "n1", false);
  GraphNode* q = rotated(FullMap(g, n, "q", kWidth, kWidth, false, "query_key", "z_q"), kHeads);
  GraphNode* k = rotated(FullMap(g, n, "k", kWidth, of, false, "query_key", "z_k"), 1);
  GraphNode* v = FullMap(g, n, "v", kWidth, of, false, "value", "z_v");
  GraphNode* o = Attend(g, q, k, v, 1, true);
  g.Scope("0/proj");
  x = g.Add(Add{}, {x, FullMap(g, o, "o", kWidth, kWidth, false, "attended", "z_proj")}, "stream");
  g.Scope("0/inner");
  n = NormOf(g, x, "n2", false);
  Activation a;
  a.function = "silu";
  a.lowering.stages = compiler::Stages::kTwo;
  GraphNode* gate = g.Add(std::move(a), {FullMap(g, n, "w1", kWidth, kHidden, false, "linear", "z_gate")}, "silu");
  GraphNode* h = g.Add(WireProduct{}, {gate, FullMap(g, n, "w3", kWidth, kHidden, false, "linear", "z_up")}, "product");
  g.Scope("0/outer");
  x = g.Add(Add{}, {x, FullMap(g, h, "w2", kHidden, kWidth, false, "linear", "z_2")}, "stream");
  g.Scope("head");
  PoolRows last;
  last.kind = PoolRows::kLast;
  x = NormOf(g, g.Add(std::move(last), {x}, "last"), "n3", false);
  g.Add(RevealResult{}, {FullMap(g, x, "head", kWidth, kWords, false, "head", "z_head")}, "logits");
  g.Number();
  return g;
}

// Returns a graph whose heads of queries and keys have a norm of their own before the rotation. Its attention is full,
// with one head of keys and values, and the mean's direction is at the end.
inline Graph HeadNorms() {
  Graph g;
  const int64_t of = kWidth / kHeads;
  auto scored = [&](GraphNode* x, const std::string& name, int heads) {
    Norm n;
    n.dim = of;
    n.groups = heads;
    n.eps = 1e-5;
    n.gamma = g.Tensor(name + ".gamma", {of}, Leaf::kGamma).Repeated(heads);
    x = FullMap(g, x, name, kWidth, heads * of, false, "query_key", (name + "_map").c_str());
    x = g.Add(std::move(n), {x}, name + "_norm");
    Rotary r;
    r.heads = heads;
    r.base = 100;
    return g.Add(std::move(r), {x}, "z_" + name);
  };
  GraphNode* n = NormOf(g, Embedding(g, false), "n1", false);
  g.Scope("0/attention");
  GraphNode *q = scored(n, "q", kHeads), *k = scored(n, "k", 1);
  GraphNode* o = Attend(g, q, k, FullMap(g, n, "v", kWidth, of, false, "value", "z_v"), 1, false);
  g.Scope("0/proj");
  o = FullMap(g, o, "o", kWidth, kWidth, false, "attended", "z_proj");
  g.Scope("pool");
  Norm unit;
  unit.dim = kWidth;
  unit.unit = unit.by_length = true;
  unit.key = "unit";
  g.Add(std::move(unit), {g.Add(PoolRows{}, {o}, "pooled")}, "unit");
  g.Number();
  return g;
}

inline Checkpoint RandomWeights(const Graph& g, uint64_t seed) {
  Draws r(seed);
  Checkpoint w;
  for (const Leaf& leaf : g.leaves()) {
    const double rows = leaf.shape.size() == 2 ? double(leaf.shape[0]) : 1;
    const double spread = leaf.kind == Leaf::kTable        ? 0.05
                          : leaf.kind == Leaf::kProjection ? 1.1 / std::sqrt(rows)
                          : leaf.kind == Leaf::kGamma      ? 0.2
                                                           : 0.1;
    Checkpoint::CheckpointTensor t{leaf.shape, {}};
    for (int64_t i = 0; i < pfss::Size(leaf.shape); ++i)
      t.values.push_back(r.Normal(leaf.kind == Leaf::kGamma, spread));
    w.Set(leaf.name, std::move(t));
  }
  return w;
}

// Returns `count` texts of 3 to `longest` tokens.
inline std::vector<std::vector<int32_t>> SmallTexts(uint64_t seed, int count, int longest) {
  Draws r(seed);
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < count; ++i) {
    std::vector<int32_t>& t = texts.emplace_back();
    for (int64_t n = 3 + r.Below(longest - 2); n > 0; --n) t.push_back(int32_t(r.Below(kWords)));
  }
  return texts;
}

inline CompileOptions SmallOptions() {
  CompileOptions o;
  o.max_tokens = int(kPositions);
  return o;
}

// A graph compiled with the weights of a seed.
struct Small {
  Graph graph;
  Checkpoint weights;
  Plan plan;
  QuantisedWeights q;
  explicit Small(Graph g, uint64_t seed = 1, const CompileOptions& options = SmallOptions())
      : graph(std::move(g)),
        weights(RandomWeights(graph, seed)),
        plan(Compile(graph, weights, SmallTexts(seed + 100, 40, options.max_tokens), options)),
        q(Quantise(weights, plan)) {}
};

// Returns the error message with which f ends.
inline std::string Refusal(const std::function<void()>& f, Cause code = Cause::kRefused) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), code) << e.what();
    return e.what();
  }
  return "(no refusal)";
}

}  // namespace suf::nn
