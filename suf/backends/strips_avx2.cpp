#include "suf/backends/internal/strips.hpp"
#include "suf/backends/internal/variants.hpp"

namespace suf::backends::internal::avx2 {
namespace {
#include "suf/backends/internal/strips_core.hpp"
}
const Strips& Get() { return kStrips; }
}  // namespace suf::backends::internal::avx2
