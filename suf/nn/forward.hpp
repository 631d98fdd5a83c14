// The float model, in double: the yardstick for an integer result, and what calibration sees.
#pragma once
#include <functional>
#include <span>

#include "suf/exec/pool.hpp"
#include "suf/nn/graph.hpp"

namespace suf::nn {

// A graph, folded or not, with its weights evaluated once. From one thread at a time.
class RealModel {
 public:
  // graph and weights must outlive it.
  RealModel(const Graph& graph, const Weights& weights, exec::Pool& pool = exec::Default());
  ~RealModel();
  RealModel(const RealModel&) = delete;
  RealModel& operator=(const RealModel&) = delete;
  // Run: the last node's rows. ids: each below the vocabulary. see: by node, gets what operators record of their
  // inputs. each: gets every node's value.
  using Each = std::function<void(const Node&, const RealArray&)>;
  RealArray Run(std::span<const int32_t> ids, std::vector<Seen>* see = nullptr, const Each& each = {}) const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Cosine of two vectors of one length.
double Cosine(std::span<const double> a, std::span<const double> b);

}  // namespace suf::nn
