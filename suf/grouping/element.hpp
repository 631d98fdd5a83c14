// The bytes that a value of a trace takes in an executor's memory.
#pragma once
#include "suf/pfss/schedule.hpp"

namespace suf::grouping {

// Returns the bytes of an element of node i. The ring fixes them for PRG words and bit strings. Any other value is
// stored as wide as its readers need.
int Element(const pfss::Schedule& s, int i);

}  // namespace suf::grouping
