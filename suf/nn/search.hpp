// The search for a cheaper plan: in how many stages values are cut and how functions are lowered, by class of operator
// and length, such that the scheduled trace costs least under a profile's prices. A stage on a slack branch costs
// nothing, and stages on the critical path come in pairs, which only the schedule of the whole trace shows.
// (docs/mathematics.md#cost-model)
#pragma once
#include <functional>

#include "suf/compiler/choose.hpp"
#include "suf/nn/plan.hpp"

namespace suf::nn {

// Search: sets the knobs of class `which`, and says what was chosen and what came next. Coordinate descent, by single
// classes of operators and by pairs; at most kMostTraces traces. Deterministic.
inline constexpr int kMostTraces = 1000;
// WithSteps: a flight also ends a program at either party and begins another: as the search, and who compares the
// plans that it made, counts a flight.
compiler::Prices WithSteps(compiler::Prices p);
void Search(Plan* plan, size_t which, const compiler::Prices& prices, const std::function<void(double)>& progress = {});

}  // namespace suf::nn
