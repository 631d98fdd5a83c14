// The variants of the strips: each is one compilation of strips_core.hpp.
#pragma once
#include "suf/cpu/strips.hpp"

namespace suf::cpu {

inline constexpr size_t kStrip = 1024;  // the most elements of a strip

namespace portable {
const Strips& Get();
}
namespace avx2 {
const Strips& Get();
}
namespace avx512 {
const Strips& Get();
}

}  // namespace suf::cpu
