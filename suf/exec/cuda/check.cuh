// For device code: launches and calls that say what failed.
#pragma once
#include <cuda_runtime.h>

#include "suf/exec/cuda/device.hpp"

// SUF_CUDA_CHECK(call): of the runtime; throws as device.hpp says. Launched: the same of a launch that came before.
#define SUF_CUDA_CHECK(call) ::suf::exec::cuda::Check(int(call), #call)

namespace suf::exec::cuda {

inline void Launched(const char* kernel) { Launched(), Check(int(cudaGetLastError()), kernel); }

// Of `threads` threads for n of them; at least one, at most so many.
inline unsigned Blocks(uint64_t n, unsigned threads, uint64_t most = 1u << 30) {
  const uint64_t blocks = (n + threads - 1) / threads;
  return unsigned(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

// AllowShared: raises a kernel's limit of dynamic shared memory.
template <class K>
void AllowShared(K* kernel, size_t bytes) {
  SUF_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
}

}  // namespace suf::exec::cuda
