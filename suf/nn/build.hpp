// Build: the whole inference of a plan as one trace.
#pragma once
#include "suf/nn/plan.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::nn {

// Check accepted the plan, and yet an operator's emission broke a promise: a fault of Check. The plan is refused
// all the same.
class Unbuilt : public Error {
 public:
  Unbuilt(const std::string& where, const std::string& why);
};

// Emits and closes a variant's trace for a text of exactly n tokens. P1 learns the result, P0 nothing. Inputs
// (64-bit words, row-major): "tokens" (n) of P1; for each weight "<node>.<slot>" that is masked "W.." of P0, "Wh.." = W
// - B of P1 and "B.." of the dealer; the other weights "W.." of P0 (weights.hpp). Throws Cause::kRefused, naming the
// node, if a cut needs more digits than its stages have, or if the trace would be too large.
void Build(pfss::Trace& t, const Plan& plan, int n, int variant = 0);

}  // namespace suf::nn
