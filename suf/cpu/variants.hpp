// The variants of the strips: each is one compilation of strips_core.hpp.
#pragma once
#include "suf/cpu/strips.hpp"

namespace suf::cpu {

inline constexpr size_t kStrip = 1024;  // the most elements of a strip

namespace portable {
const StripLoops& Get();
}
namespace avx2 {
const StripLoops& Get();
}
namespace avx512 {
const StripLoops& Get();
}

}  // namespace suf::cpu
