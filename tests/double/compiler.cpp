// A device's double has no compiler: the interpreter runs all groups.
#include "suf/base/error.hpp"
#include "suf/exec/cuda/compile.hpp"

namespace suf::exec::cuda {

std::string CompilerName() { return ""; }
Bytes Compile(const std::string&, std::span<const std::pair<const char*, const char*>>, const std::string&) {
  SUF_CHECK(false);
  return {};
}
Module::Module(View, const char*) { SUF_CHECK(false); }
Module::~Module() = default;
void Module::Launch(View, unsigned, unsigned, Stream) const { SUF_CHECK(false); }

}  // namespace suf::exec::cuda
