#include "suf/cpu/strips.hpp"
#include "suf/cpu/variants.hpp"

namespace suf::cpu::portable {
namespace {
#include "suf/cpu/internal/strips_core.hpp"
}
const Strips& Get() { return kStrips; }
}  // namespace suf::cpu::portable
