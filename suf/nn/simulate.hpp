// The specification: what an inference of a plan computes, in clear. The protocol's result equals it bit for bit,
// inside the calibrated windows and outside (rings and slices wrap as the protocol's do). No gate's build, no protocol,
// no backend.
#pragma once
#include <memory>
#include <span>

#include "suf/exec/pool.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

// The smallest and largest value of a wire, "class/scope/label" or "class/scope/label.width".
struct Spread {
  std::string wire;
  int64_t low = 0, high = 0;
};

// A wire that left its certificate. hard: the certificate was claimed for every text, so the plan does not fit
// the weights; else the text is unlike the calibration text and the result may be less accurate.
struct Outside {
  std::string wire;
  int64_t value = 0, limit = 0;  // the worst value and the limit that it passed
  bool hard = false;
};

struct Simulation {
  Ints y;  // the last node's, at the plan's scale
  std::vector<Outside> outside;
  std::vector<Spread> seen;
};

// "wire .. reached .., its .. limit is ..".
std::string Sentence(const Outside& o);

// Prepares the weights once; Run may be called again and again, from one thread at a time.
class Simulator {
 public:
  // weights: Quantise(.., plan); both must outlive the simulator.
  Simulator(const Plan& plan, const Quantised& weights, exec::Pool& pool = exec::Default());
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  // Run: of a variant; throws Cause::kInput for a length that Plan::For refuses or an id outside the vocabulary. each:
  // gets every node's value.
  using Each = std::function<void(const Node&, const IntArray&)>;
  Simulation Run(std::span<const int32_t> ids, const Each& each = {}, int variant = 0) const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::nn
