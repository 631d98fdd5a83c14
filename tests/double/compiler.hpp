// What tests ask of the double's compiler.
#pragma once
#include <atomic>

namespace suf::exec::cuda {

extern std::atomic<int> compiled;  // calls
inline constexpr const char* kBadText = "bad";

}  // namespace suf::exec::cuda
