// The quantised weights of a graph while a plan is made or checked, and their norms, each measured once.
#pragma once
#include <memory>

#include "suf/exec/pool.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

// Of all nodes. Thread: one.
class Measures {
 public:
  explicit Measures(exec::Pool& pool) : pool_(pool) {}
  // A node's weight; another value only at another scale, as a length class may choose it.
  void Set(const Node& n, const Slot& s, const Weights& weights);
  void Set(const Node& n, const Slot& s, const Tensor& values);
  const NodeWeights& Of(const Node& n) const;

 private:
  class One;
  exec::Pool& pool_;
  std::map<int, std::shared_ptr<One>> nodes_;
};

}  // namespace suf::nn
