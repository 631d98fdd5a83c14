// Passes from graph to graph. Each keeps the real function. After all of them every norm is a plain one, and products
// read narrow wires. Every affine part of a norm is then in its readers' weights. (docs/mathematics.md#folding)
#pragma once
#include <functional>

#include "suf/nn/graph/graph.hpp"

namespace suf::nn {

struct Pass {
  const char* name;
  void (*run)(Graph&);
  const char* what;  // the effect, in a sentence
};

// Returns the passes in order: centre, residual, gamma, bias, rotate, merge, rescale.
std::span<const Pass> Passes();

// Runs all passes and calls after(pass, graph) after each. The result is numbered.
Graph Fold(const Graph& g, const std::function<void(const Pass&, const Graph&)>& after = {});

}  // namespace suf::nn
