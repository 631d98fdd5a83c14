#include "suf/cpu/strips.hpp"
#include "suf/cpu/variants.hpp"

namespace suf::cpu::portable {
namespace {
#include "suf/cpu/internal/strips_core.hpp"
}
const StripLoops& Get() { return kLoops; }
}  // namespace suf::cpu::portable
