// For device code: launches and calls that report failures.
#pragma once
#include <cuda_runtime.h>

#include "suf/exec/cuda/device.hpp"

// Checks a call of the runtime. Throws as in device.hpp.
#define SUF_CUDA_CHECK(call) ::suf::exec::cuda::Check(int(call), #call)

namespace suf::exec::cuda {

// Counts the launch of the kernel just before, and throws if it failed.
inline void CheckLaunch(const char* kernel) {
  CountLaunch();
  Check(int(cudaGetLastError()), kernel);
}

// Returns the number of blocks of `threads` threads for n threads: at least one, at most `most`.
inline unsigned Blocks(uint64_t n, unsigned threads, uint64_t most = 1u << 30) {
  const uint64_t blocks = (n + threads - 1) / threads;
  return unsigned(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

// Raises a kernel's limit of dynamic shared memory.
template <class K>
void AllowShared(K* kernel, size_t bytes) {
  SUF_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
}

}  // namespace suf::exec::cuda
