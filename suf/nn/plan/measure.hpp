// The quantised weights of a graph, while a plan is made or checked, and their norms. Each norm is measured once.
#pragma once
#include <memory>

#include "suf/exec/pool.hpp"
#include "suf/nn/read/weights.hpp"

namespace suf::nn {

// The weights and norms of all nodes. Only one thread may use them.
class Measures {
 public:
  explicit Measures(exec::Pool& pool) : pool_(pool) {}
  // Evaluates and sets a weight of a node, unless it has one at this scale. A length class may choose another scale.
  void Set(const GraphNode& n, const WeightSlot& s, const Checkpoint& weights);
  // Sets a weight of a node to these values, unless it has one at this scale.
  void Set(const GraphNode& n, const WeightSlot& s, const Tensor& values);
  const NodeWeights& Of(const GraphNode& n) const;

 private:
  class One;
  exec::Pool& pool_;
  std::map<int, std::shared_ptr<One>> nodes_;
};

}  // namespace suf::nn
