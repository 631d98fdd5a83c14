// The specification: what an inference of a plan computes, in clear. The protocol's result equals it bit for bit,
// inside the calibrated windows and outside (rings and slices wrap as the protocol's do). No gate's build, no protocol,
// no backend. (DESIGN 3, 9, 10.)
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/quantise.hpp"

namespace suf::nn {

// Seen: the smallest and largest value of a wire ("class/layer/wire", as in Plan::certificates).
struct Seen {
  std::string wire;
  int64_t low = 0, high = 0;
};

// Outside: a wire that left its certificate. hard: the certificate was claimed for every text, so the plan does not fit
// the weights; else the text is unlike the calibration text and the result may be less accurate.
struct Outside {
  std::string wire;
  int64_t value = 0, limit = 0;  // the worst value and the limit that it passed
  bool hard = false;
};

struct Simulation {
  std::vector<int64_t> y;  // (d) at the plan's result scale
  std::vector<Outside> outside;
  std::vector<Seen> seen;
};

// Sentence: "wire .. reached .., its .. limit is ..".
std::string Sentence(const Outside& o);

// Simulator: prepares the weights once; Run may be called again and again, from one thread at a time.
class Simulator {
 public:
  // weights: Quantise(.., plan.scales, plan.max_tokens); both must outlive the simulator.
  Simulator(const Plan& plan, const Quantised& weights, exec::Pool& pool = exec::Default());
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  // Run: ids with [CLS] and [SEP]. Throws Cause::kInput for a length that Plan::For refuses or an id outside the
  // vocabulary.
  Simulation Run(std::span<const int32_t> ids) const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::nn
