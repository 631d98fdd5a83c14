// Build: the whole inference of a plan as one trace.
#pragma once
#include "suf/nn/plan.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::nn {

// Build: emits and closes the trace for a text of exactly n tokens. P1 learns the embedding, (1, d) in
// Z_{2^result.out}; P0 learns nothing. Inputs (64-bit words, row-major): "tokens" (n) of P1; for each weight t (E, gp
// and per layer l "l.Wqk", "l.Wv", "l.Wo", "l.go", "l.uo", "l.W1", "l.W2", "l.g2", "l.u2") "W.t" of P0, "Wh.t" = W - B
// of P1 and "B.t" of the dealer; P0's biases "W.pos" (n, d) of the n first positions, "W.bp" (d) times n, and "W.l."
// bqk, bo, b1, b2.
void Build(pfss::Trace& t, const Plan& plan, int n);

}  // namespace suf::nn
