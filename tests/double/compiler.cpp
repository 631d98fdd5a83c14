// A device's double has a compiler that makes something of every text but one, and kernels that nobody may launch: all
// groups of the double are the interpreter's, whose traces are too small for kernels of their own.
#include "tests/double/compiler.hpp"

#include "suf/base/error.hpp"
#include "suf/exec/cuda/compile.hpp"

namespace suf::exec::cuda {

std::atomic<int> compiled{0};
std::atomic<bool> compiles{true};

std::string CompilerName() { return compiles ? "a double" : ""; }
Bytes Compile(const std::string& text, std::span<const std::pair<const char*, const char*>>, const std::string&) {
  ++compiled;
  if (text == kBadText) Fail(Cause::kRefused, "it does not compile");
  return {text.begin(), text.end()};
}
Module::Module(View, const char*) {}
Module::~Module() = default;
void Module::Launch(View, unsigned, unsigned, Stream) const { SUF_CHECK(false); }

}  // namespace suf::exec::cuda
