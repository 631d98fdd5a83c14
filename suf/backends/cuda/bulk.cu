// Operations as kernels: an element a thread.
#include "suf/backends/cuda/bulk.hpp"
#include "suf/backends/cuda/code.hpp"
#include "suf/exec/cuda/check.cuh"

namespace suf::backends::cuda {
namespace {

constexpr int kThreads = 256;

template <class F>
__global__ void __launch_bounds__(kThreads) RunEach(uint64_t n, const F f) {
  const uint64_t i = uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) f(i);
}

template <class F>
void Each(uint64_t n, const F& f, Stream s) {
  if (!n) return;
  RunEach<<<exec::cuda::Blocks(n, kThreads), kThreads, 0, s>>>(n, f);
  exec::cuda::Launched("the kernel of an operation");
}

}  // namespace
}  // namespace suf::backends::cuda

#include "suf/backends/cuda/bulk_core.hpp"
