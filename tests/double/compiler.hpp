// Control of the device double and of its compiler by tests.
#pragma once
#include <atomic>
#include <functional>

#include "suf/exec/cuda/device.hpp"

namespace suf::exec::cuda {

// Runs f now, or when the graph that the stream captures runs.
void Do(StreamHandle s, std::function<void()> f);

extern std::atomic<int> compiled;       // compiler calls
extern std::atomic<int> printed;        // launches of kernels that were compiled from text
extern std::atomic<bool> compiles;      // whether there is a compiler
extern std::atomic<int> calls;          // calls of the device
extern std::atomic<int> fails_from;     // the number of the first call that fails, as all after it do; 0: none
extern std::atomic<int> buffers;        // allocated device buffers
extern std::atomic<size_t> free_bytes;  // of the device
inline constexpr const char* kBadText = "bad";

}  // namespace suf::exec::cuda
