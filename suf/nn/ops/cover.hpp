// What the trace takes for granted of the tables in a plan.
#pragma once
#include "suf/gates/function.hpp"
#include "suf/nn/op.hpp"

namespace suf::nn {

// RowOf: a function on octaves of a wire >= 0 in Z_{2^domain}, as a gate: by RowLut, or by StepDcf (IntervalLut), which
// opens nothing and walks a path for each piece.
inline constexpr compiler::Lowering kRowLut{compiler::Kind::kRowLut};
gates::Function RowOf(const std::vector<func::Group>& groups, int domain, int ring,
                      const compiler::Lowering& l = kRowLut);
// The lowerings that the search may take for it, one function in groups for RowLut and one for StepDcf.
// WantRows: that a plan's applies.
Knob RowsKnob(compiler::Lowering* rows, const std::vector<func::Group>& windows, const std::vector<func::Group>& steps,
              int domain);
void WantRows(const compiler::Lowering& rows, const std::vector<func::Group>& groups, int domain,
              const std::string& where);
// Groups are contiguous from 0 and end at 2^ring; values are below 2^value_bits.
void WantCover(const std::vector<func::Group>& groups, int ring, int value_bits, const std::string& where);
// Numbers of at most this magnitude can be opened in a ring: they are below 2^(ring - 2), as
// compiler::Centred asks.
void WantGap(func::U128 most, int ring, const std::string& where, const char* what);

}  // namespace suf::nn
