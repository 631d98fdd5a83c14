// Checks of the tables in a plan, on which the trace relies, and the gates of row functions.
#pragma once
#include "suf/gates/function.hpp"
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

inline constexpr compiler::Lowering kRowLut{compiler::Kind::kRowLut};
// Returns a function on octaves of a wire >= 0 in Z_{2^domain}, as a gate. RowLut reads it, or StepDcf (IntervalLut),
// which opens nothing and walks a path for each piece.
gates::FunctionGate RowOf(const std::vector<func::Octave>& groups, int domain, int ring,
                          const compiler::Lowering& l = kRowLut);
// Returns the knob of the lowerings that the search may take for a row function. RowLut takes the groups `windows`,
// StepDcf takes the groups `steps`.
Knob RowsKnob(compiler::Lowering* rows, const std::vector<func::Octave>& windows,
              const std::vector<func::Octave>& steps, int domain);
// Checks that a plan's lowering of a row function applies.
void WantRows(const compiler::Lowering& rows, const std::vector<func::Octave>& groups, int domain,
              const std::string& where);
// Checks that groups are contiguous from 0 to 2^ring and that values are below 2^value_bits.
void WantCover(const std::vector<func::Octave>& groups, int ring, int value_bits, const std::string& where);
// Checks that numbers of magnitude `most` can be opened in a ring: they are below 2^(ring - 2), as compiler::Centred
// requires.
void WantGap(func::U128 most, int ring, const std::string& where, const char* what);

}  // namespace suf::nn
