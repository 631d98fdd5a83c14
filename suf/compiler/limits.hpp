// What lowerings of numbers take at most, whatever else they need.
#pragma once
#include <cstddef>

namespace suf::compiler {

// kMostSteps: pieces of a function that no table holds: StepDcf's, which reads a DCF at each (1/sqrt of a norm has 2^7
// pieces an octave and more). kMostDense: bits of the domain of a whole truth table.
inline constexpr size_t kMostSteps = 16384;
inline constexpr int kMostDense = 16;

}  // namespace suf::compiler
