// One compilation of strips_core.hpp each.
#pragma once
#include "suf/backends/internal/strips.hpp"

namespace suf::backends::internal {

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

}  // namespace suf::backends::internal
