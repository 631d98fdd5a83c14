// Builds the whole inference of a plan as one trace.
#pragma once
#include "suf/nn/plan/plan.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::nn {

// The error that an operator's emission broke a promise of a plan that Check accepted. The fault is Check's, but the
// plan is refused all the same.
class Unbuilt : public Error {
 public:
  Unbuilt(const std::string& where, const std::string& why);
};

// The nodes [begin, end) of a trace that an operator emitted. `wires` are those of its result, without masks.
struct OperatorNodes {
  int begin = 0, end = 0;
  std::vector<int> wires;
};

// Emits and closes a variant's trace for a batch of `texts` texts of exactly n tokens each. P1 learns the result, and
// P0 learns nothing. One text's result becomes (texts, d), or (texts n, d), one text behind the other. Inputs are
// 64-bit words, row-major. P1 has kTokensInput (texts n). All others are those of one text. A masked weight
// "<node>.<slot>" has three inputs: "W.." of P0, "Wh.." = W - B of P1 and "B.." of the dealer. Every other weight has
// only "W.." of P0 (weights.hpp). Throws Cause::kRefused, naming the node, if a cut needs more digits than its stages
// have. Throws it also if the trace would be too large. Throws Cause::kInput if `texts` is outside 1 to kMostTexts.
// Throws Cause::kRefused for several texts if an operator takes one text alone.
//
// If `emitted` is given, the trace is for prices alone. Each operator balances its own corrections, so that its nodes
// do not depend on other operators. Appends an entry for each node that is built.
void Build(pfss::Trace& t, const Plan& plan, int n, int variant = 0, int texts = 1,
           std::vector<OperatorNodes>* emitted = nullptr);

}  // namespace suf::nn
