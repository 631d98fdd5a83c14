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

namespace suf::backends::cuda {
namespace {

__device__ inline Word WarpSum(Word x) {
  for (int by = 16; by; by /= 2) x += __shfl_xor_sync(~0u, x, by);
  return x;
}
// A warp a row, or an entry.
struct Warp {
  uint64_t at = (uint64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  uint32_t lane = threadIdx.x % 32;
};

__global__ void __launch_bounds__(kThreads) RunSumRows(const Array x, uint64_t rows, uint64_t len, const Target out) {
  const Warp w{};
  if (w.at >= rows) return;
  const uint8_t* const data = DataOf(x);
  Word sum = 0;
  for (uint64_t j = w.lane; j < len; j += 32) sum += WordAt(x, data, w.at * len + j, 0);
  sum = WarpSum(sum);
  if (w.lane == 0) PutTarget(out, w.at, sum);
}

__global__ void __launch_bounds__(kThreads)
    RunSuffixRows(const Array x, uint64_t rows, uint64_t len, const Target out) {
  const Warp w{};
  if (w.at >= rows) return;
  const uint8_t* const data = DataOf(x);
  Word behind = 0;  // of all places behind these 32
  for (uint64_t left = (len + 31) / 32; left-- > 0;) {
    const uint64_t j = left * 32 + w.lane;
    Word sum = j < len ? WordAt(x, data, w.at * len + j, 0) : 0;
    for (uint32_t by = 1; by < 32; by *= 2) {
      const Word next = __shfl_down_sync(~0u, sum, by);
      if (w.lane + by < 32) sum += next;
    }
    sum += behind;
    if (j < len) PutTarget(out, w.at * len + j, sum);
    behind = __shfl_sync(~0u, sum, 0);
  }
}

__global__ void __launch_bounds__(kThreads)
    RunThinRows(const Array x, const Array y, uint64_t count, const ThinShape shape, const Target out) {
  const Warp w{};
  if (w.at >= count) return;
  const uint8_t *const a = DataOf(x), *const b = DataOf(y);
  Word sum = 0;
  for (uint64_t d = w.lane; d < shape.depth; d += 32)
    sum += WordAt(x, a, LeftOf(shape, w.at, d), 0) * WordAt(y, b, RightOf(shape, w.at, d), 0);
  sum = WarpSum(sum);
  if (w.lane == 0) PutTarget(out, w.at, sum);
}

}  // namespace

void SumRows(const Array& x, uint64_t rows, uint64_t len, Target out, Stream s) {
  if (!rows) return;
  RunSumRows<<<exec::cuda::Blocks(rows * 32, kThreads), kThreads, 0, s>>>(x, rows, len, out);
  exec::cuda::Launched("the kernel of sums");
}
void SuffixRows(const Array& x, uint64_t rows, uint64_t len, Target out, Stream s) {
  if (!rows) return;
  RunSuffixRows<<<exec::cuda::Blocks(rows * 32, kThreads), kThreads, 0, s>>>(x, rows, len, out);
  exec::cuda::Launched("the kernel of suffix sums");
}
void ThinRows(const Array& x, const Array& y, uint64_t count, const ThinShape& shape, Target out, Stream s) {
  if (!count) return;
  RunThinRows<<<exec::cuda::Blocks(count * 32, kThreads), kThreads, 0, s>>>(x, y, count, shape, out);
  exec::cuda::Launched("the kernel of a thin product");
}

}  // namespace suf::backends::cuda
