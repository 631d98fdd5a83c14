// One compilation of strips_core.hpp each.
#pragma once
#include "suf/cpu/strips.hpp"

namespace suf::cpu {

inline constexpr size_t kStrip = 1024;  // elements at most

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
