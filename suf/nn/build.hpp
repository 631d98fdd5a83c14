// Build: the whole inference of a plan as one trace.
#pragma once
#include "suf/nn/plan.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::nn {

// Build: emits and closes a variant's trace for a text of exactly n tokens. P1 learns the result, P0 nothing. Inputs
// (64-bit words, row-major): "tokens" (n) of P1; for each weight "<node>.<slot>" that is masked "W.." of P0, "Wh.." = W
// - B of P1 and "B.." of the dealer; the other weights "W.." of P0 (weights.hpp).
void Build(pfss::Trace& t, const Plan& plan, int n, int variant = 0);

}  // namespace suf::nn
