// For tests: a model whose softmaxes are about shifts that nobody fitted.
#pragma once
#include <random>

#include "suf/model/rig_test.hpp"

namespace suf::model {

// Shifted: every softmax about a shift that a map of the queries' input predicts, of small weights; own: heads take
// scores of their own.
inline Model Shifted(Model m, bool own) {
  std::mt19937_64 rng(7);
  std::vector<nn::Node*> all;
  for (auto& n : m.graph.nodes()) all.push_back(n.get());
  for (nn::Node* n : all) {
    nn::Softmax* s = n->As<nn::Softmax>();
    if (!s) continue;
    nn::Node* from = n->in[0]->in[0];
    while (!from->As<nn::Norm>()) from = from->in[0];
    const int64_t heads = n->in[0]->As<nn::Scores>()->heads, width = from->As<nn::Norm>()->dim;
    const std::string name = Str("shift", all.size(), ".", m.graph.leaves().size());
    nn::Map shift;
    shift.terms = {{nn::Map::kFull, 0, m.graph.Tensor(name, {width, heads}, nn::Leaf::kProjection)}};
    shift.key = "shift";
    nn::Weights::Tensor t{{width, heads}, {}};
    for (int64_t i = 0; i < width * heads; ++i) t.values.push_back(float(int64_t(rng() % 200) - 100) / 500);
    m.weights.Set(name, std::move(t));
    s->by = nn::Softmax::kShift;
    for (int64_t h = 0; own && h < 2 * heads; ++h) s->own.push_back(h % 3 == 0 ? 0 : h - 2);
    n->in.push_back(m.graph.After(from, std::make_unique<nn::Map>(std::move(shift)), {from}, "shift"));
  }
  m.graph.Number();
  return m;
}

}  // namespace suf::model
