// The specification: an inference of a plan, computed in clear. The protocol's result equals it bit for bit, inside the
// calibrated windows and outside. Rings and slices wrap like the protocol's. It uses no gate's build, no protocol and
// no backend.
#pragma once
#include <memory>
#include <span>

#include "suf/exec/pool.hpp"
#include "suf/nn/read/weights.hpp"

namespace suf::nn {

// The smallest and the largest value of a wire, "class/scope/label" or "class/scope/label.width".
struct Spread {
  std::string wire;
  int64_t low = 0, high = 0;
};

// A wire that left its certificate. If `hard`, the certificate was claimed for every text, so the plan does not fit the
// weights. Otherwise the text is unlike the calibration texts, and the result may be less accurate.
struct Outside {
  std::string wire;
  int64_t value = 0, limit = 0;  // the worst value and the limit that it passed
  bool hard = false;
};

struct Simulation {
  Ints y;  // the last node's values, at the plan's scale
  std::vector<Outside> outside;
  std::vector<Spread> seen;
};

// Returns the message "wire .. reached .., its .. limit is ..".
std::string Sentence(const Outside& o);

// A plan with its weights prepared once. Run may be called repeatedly, from one thread at a time.
class PlanSimulator {
 public:
  // `weights` is Quantise(.., plan). Both must outlive the simulator.
  PlanSimulator(const Plan& plan, const QuantisedWeights& weights, exec::Pool& pool = exec::Default());
  ~PlanSimulator();
  PlanSimulator(const PlanSimulator&) = delete;
  PlanSimulator& operator=(const PlanSimulator&) = delete;
  using IntVisitor = std::function<void(const GraphNode&, const IntArray&)>;
  // Runs a variant. Throws Cause::kInput for a length that Plan::For refuses or an id outside the vocabulary. `each`
  // receives every node's value, which has its wanted rows.
  Simulation Run(std::span<const int32_t> ids, const IntVisitor& each = {}, int variant = 0) const;
  // Runs each text of a batch. Returns the values of all, one text behind the other, and the wires that left their
  // certificates. A wire's range is that of all texts. Throws as Run and BatchIds do.
  Simulation RunBatch(std::span<const std::vector<int32_t>> texts, int variant = 0) const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::nn
