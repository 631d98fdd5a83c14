// Passes: graph to graph. Each keeps the real function; after all of them every norm is a plain one, every affine part
// of a norm is in its readers' weights, and products read narrow wires. (docs/mathematics.md#folding)
#pragma once
#include <functional>

#include "suf/nn/graph.hpp"

namespace suf::nn {

struct Pass {
  const char* name;
  void (*run)(Graph&);
  const char* what;  // a sentence
};

// In order. centre, residual, gamma, bias, rotate, merge, rescale.
std::span<const Pass> Passes();

// All passes; after(pass, graph) is called after each. The result is numbered.
Graph Fold(const Graph& g, const std::function<void(const Pass&, const Graph&)>& after = {});

}  // namespace suf::nn
