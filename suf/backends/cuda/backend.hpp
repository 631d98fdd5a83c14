// The executors of a device behind pfss::Backend.
#pragma once
#include <memory>

#include "suf/pfss/backend.hpp"

namespace suf::backends::cuda {

// Groups: what runs them: kernels of their own where a trace is large enough to be worth compiling, the interpreter
// alone, or kernels of their own always.
enum class Groups { kAuto, kInterpreted, kPrinted };
std::unique_ptr<pfss::Backend> MakeBackend(pfss::Capabilities can, int index, Groups groups);

}  // namespace suf::backends::cuda
