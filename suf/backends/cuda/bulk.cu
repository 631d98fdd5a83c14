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
    RunDotRows(const Array x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, const Target out) {
  const Warp w{};
  if (w.at >= rows) return;
  const uint8_t* const data = DataOf(x);
  Word sum = 0;
#pragma unroll 4
  for (uint64_t j = w.lane; j < m; j += 32) sum += DotTerm(x, data, w.at, first, table, j);
  sum = WarpSum(sum);
  if (w.lane == 0) PutTarget(out, w.at, sum);
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

// A warp has 32 places of a row: its lanes find the turns of 32 vectors, then each adds up its own place of them all.
template <class T>
__global__ void __launch_bounds__(kThreads) RunRotSumRows(const RotSumOf f, uint64_t rows) {
  const uint64_t i = uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  const uint32_t lane = threadIdx.x % 32, m = uint32_t(f.m);
  if (i >= rows * m) return;
  const RotSumOf::Range range = f.RangeOf(i / m);
  const uint32_t v = uint32_t(i % m);
  const T* const u = reinterpret_cast<const T*>(DataOf(f.x));
  const uint8_t* const places = DataOf(f.at);
  Word sum = 0;
  for (uint64_t j0 = range.begin; j0 < range.end; j0 += 32) {
    const uint32_t many = uint32_t(range.end - j0 < 32 ? range.end - j0 : 32);
    const uint32_t mine = lane < many ? uint32_t((WordAt(f.at, places, j0 + lane, 0) & f.mask) % m) : 0;
#pragma unroll 8
    for (uint32_t j = 0; j < many; ++j) {
      const uint32_t first = __shfl_sync(~0u, mine, int(j));
      sum += Word(int64_t(u[(j0 + j) * m + (first >= v ? first - v : first + m - v)]));
    }
  }
  PutTarget(f.out, i, sum);
}

}  // namespace

void RotSumRows(const Array& x, const Array& at, Word mask, uint64_t rows, uint64_t m, uint64_t len, uint64_t packed,
                Target out, Stream s) {
  if (!rows) return;
  const RotSumOf f{x, at, mask, m, len, packed, out};
  const auto run = [&](auto kernel) {
    kernel<<<exec::cuda::Blocks(rows * m, kThreads), kThreads, 0, s>>>(f, rows);
    exec::cuda::Launched("the kernel of sums of rotations");
  };
  switch (x.is_signed ? -int(x.bytes) : int(x.bytes)) {
    case 1:
      return run(RunRotSumRows<uint8_t>);
    case 2:
      return run(RunRotSumRows<uint16_t>);
    case 4:
      return run(RunRotSumRows<uint32_t>);
    case -1:
      return run(RunRotSumRows<int8_t>);
    case -2:
      return run(RunRotSumRows<int16_t>);
    case -4:
      return run(RunRotSumRows<int32_t>);
    default:
      return run(RunRotSumRows<uint64_t>);
  }
}
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
void DotRows(const Array& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, Target out, Stream s) {
  if (!rows) return;
  RunDotRows<<<exec::cuda::Blocks(rows * 32, kThreads), kThreads, 0, s>>>(x, rows, first, table, m, out);
  exec::cuda::Launched("the kernel of sums by bits");
}
void ThinRows(const Array& x, const Array& y, uint64_t count, const ThinShape& shape, Target out, Stream s) {
  if (!count) return;
  RunThinRows<<<exec::cuda::Blocks(count * 32, kThreads), kThreads, 0, s>>>(x, y, count, shape, out);
  exec::cuda::Launched("the kernel of a thin product");
}

}  // namespace suf::backends::cuda
