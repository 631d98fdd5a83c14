// What tests ask of the double's compiler and of its device.
#pragma once
#include <atomic>

namespace suf::exec::cuda {

extern std::atomic<int> compiled;  // calls
extern std::atomic<size_t> free_bytes;  // of the device
inline constexpr const char* kBadText = "bad";

}  // namespace suf::exec::cuda
