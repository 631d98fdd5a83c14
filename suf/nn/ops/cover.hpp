// What the trace takes for granted of the tables in a plan.
#pragma once
#include "suf/gates/function.hpp"
#include "suf/nn/op.hpp"

namespace suf::nn {

// RowOf: a function on octaves of a wire >= 0 in Z_{2^domain}, as a gate.
gates::Function RowOf(const std::vector<func::Group>& groups, int domain, int ring);
// WantCover: groups are contiguous from 0 and end at 2^ring; values are below 2^value_bits.
void WantCover(const std::vector<func::Group>& groups, int ring, int value_bits, const std::string& where);
// WantGap: numbers of at most this magnitude can be opened in a ring: they are below 2^(ring - 2), as
// compiler::Centred asks.
void WantGap(func::U128 most, int ring, const std::string& where, const char* what);

}  // namespace suf::nn
