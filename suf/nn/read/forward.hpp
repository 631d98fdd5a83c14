// The float model, in double. Integer results are measured against it, and calibration reads its values.
#pragma once
#include <functional>
#include <span>

#include "suf/exec/pool.hpp"
#include "suf/nn/graph/graph.hpp"

namespace suf::nn {

// A graph, folded or not, with its weights evaluated once. Only one thread at a time may use it.
class RealModel {
 public:
  // Keeps references: `graph` and `weights` must outlive it.
  RealModel(const Graph& graph, const Checkpoint& weights, exec::Pool& pool = exec::Default());
  ~RealModel();
  RealModel(const RealModel&) = delete;
  RealModel& operator=(const RealModel&) = delete;
  using RealVisitor = std::function<void(const GraphNode&, const RealArray&)>;
  // Returns the last node's rows. Each id must be below the vocabulary. `see` receives, by node, the ranges that
  // operators record of their inputs. `each` receives every node's value, which has its wanted rows (Operator::wanted).
  RealArray Run(std::span<const int32_t> ids, std::vector<Seen>* see = nullptr, const RealVisitor& each = {}) const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Returns the cosine of the angle between two vectors of one length.
double Cosine(std::span<const double> a, std::span<const double> b);

}  // namespace suf::nn
