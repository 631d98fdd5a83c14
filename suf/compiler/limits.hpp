// Upper limits of lowerings for numbers, apart from their other conditions.
#pragma once
#include <cstddef>

namespace suf::compiler {

// The most pieces of a function without a table. StepDcf reads a DCF at each piece. A norm's 1/sqrt has 2^7 pieces and
// more in each octave.
inline constexpr size_t kMostSteps = 16384;
// The most bits of the domain of a whole truth table.
inline constexpr int kMostDense = 16;

}  // namespace suf::compiler
