// Operations as kernels with one element per thread.
#include "suf/exec/cuda/check.cuh"
#include "suf/gpu/cuda/bulk.hpp"
#include "suf/gpu/cuda/groups/code.hpp"

namespace suf::gpu::cuda {
namespace {

constexpr int kThreads = 256;

template <class F>
__global__ void __launch_bounds__(kThreads) RunEach(uint64_t n, const F f) {
  const uint64_t i = uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) f(i);
}

template <class F>
void Each(uint64_t n, const F& f, StreamHandle s) {
  if (!n) return;
  RunEach<<<exec::cuda::Blocks(n, kThreads), kThreads, 0, s>>>(n, f);
  exec::cuda::CheckLaunch("the kernel of an operation");
}

}  // namespace
}  // namespace suf::gpu::cuda

#include "suf/gpu/cuda/bulk_core.hpp"

namespace suf::gpu::cuda {
namespace {

__device__ inline Word WarpSum(Word x) {
  for (int by = 16; by; by /= 2) x += __shfl_xor_sync(~0u, x, by);
  return x;
}
// Below this number of rows, one warp per row leaves multiprocessors idle, so a row gets a block.
constexpr uint64_t kTeamed = 1056;
constexpr int kWarps = kThreads / 32;

// Adds up, over the warps of a block, the 32 sums that each warp's threads have. Returns them to the first warp.
__device__ inline Word BlockSum(Word x) {
  __shared__ Word parts[kWarps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  parts[warp][lane] = x;
  __syncthreads();
  if (warp) return 0;
  for (int w = 1; w < kWarps; ++w) x += parts[w][lane];
  return x;
}

// Sums `len` terms per row by kTeam threads, which are a warp or a block.
template <int kTeam, class Term>
__global__ void __launch_bounds__(kThreads)
    RunTerms(uint64_t rows, uint64_t len, const Term term, const WordTarget out) {
  const uint64_t row = (uint64_t(blockIdx.x) * kThreads + threadIdx.x) / kTeam;
  if (row >= rows) return;
  Word sum = 0;
#pragma unroll 8
  for (uint64_t j = threadIdx.x % kTeam; j < len; j += kTeam) sum += term(row, j);
  if constexpr (kTeam > 32) sum = BlockSum(sum);
  sum = WarpSum(sum);
  if (threadIdx.x % kTeam == 0) PutTarget(out, row, sum);
}
template <class Term>
void Terms(uint64_t rows, uint64_t len, const Term& term, const WordTarget& out, StreamHandle s, const char* what) {
  if (!rows) return;
  if (rows < kTeamed && len > 32)
    RunTerms<kThreads><<<unsigned(rows), kThreads, 0, s>>>(rows, len, term, out);
  else
    RunTerms<32><<<exec::cuda::Blocks(rows * 32, kThreads), kThreads, 0, s>>>(rows, len, term, out);
  exec::cuda::CheckLaunch(what);
}

struct SumTerm {
  MemoryArray x;
  uint64_t len;
  __device__ Word operator()(uint64_t row, uint64_t j) const { return WordAt(x, DataOf(x), row * len + j, 0); }
};
struct DotRowTerm {
  MemoryArray x;
  uint64_t first;
  const Word* table;
  __device__ Word operator()(uint64_t row, uint64_t j) const { return DotTerm(x, DataOf(x), row, first, table, j); }
};
struct ThinTerm {
  MemoryArray x, y;
  ThinShape shape;
  __device__ Word operator()(uint64_t row, uint64_t d) const {
    return WordAt(x, DataOf(x), LeftOf(shape, row, d), 0) * WordAt(y, DataOf(y), RightOf(shape, row, d), 0);
  }
};

__global__ void __launch_bounds__(kThreads)
    RunSuffixRows(const MemoryArray x, uint64_t rows, uint64_t len, const WordTarget out) {
  const uint64_t row = (uint64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (row >= rows) return;
  const uint8_t* const data = DataOf(x);
  Word behind = 0;  // the sum of all places behind these 32
  for (uint64_t left = (len + 31) / 32; left-- > 0;) {
    const uint64_t j = left * 32 + lane;
    Word sum = j < len ? WordAt(x, data, row * len + j, 0) : 0;
    for (uint32_t by = 1; by < 32; by *= 2) {
      const Word next = __shfl_down_sync(~0u, sum, by);
      if (lane + by < 32) sum += next;
    }
    sum += behind;
    if (j < len) PutTarget(out, row * len + j, sum);
    behind = __shfl_sync(~0u, sum, 0);
  }
}

// A block has 32 places of a row, and each of its warps has a part of the vectors. The lanes of a warp find the
// rotations of 32 vectors. Then each lane adds up its own place of all vectors.
template <class T>
__global__ void __launch_bounds__(kThreads) RunRotSumRows(const RotSumOf f) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, m = uint32_t(f.m);
  const uint64_t i = uint64_t(blockIdx.x) * 32 + lane;
  const RotSumOf::RowRange range = f.RangeOf(i / m);
  const uint32_t v = uint32_t(i % m);
  const T* const u = reinterpret_cast<const T*>(DataOf(f.x));
  const uint8_t* const places = DataOf(f.at);
  const uint64_t part = (range.end - range.begin + kWarps - 1) / kWarps, begin = range.begin + warp * part;
  const uint64_t end = begin + part < range.end ? begin + part : range.end;
  Word sum = 0;
  for (uint64_t j0 = begin; j0 < end; j0 += 32) {
    const uint32_t many = uint32_t(end - j0 < 32 ? end - j0 : 32);
    const uint32_t mine = lane < many ? uint32_t((WordAt(f.at, places, j0 + lane, 0) & f.mask) % m) : 0;
#pragma unroll 8
    for (uint32_t j = 0; j < many; ++j) {
      const uint32_t first = __shfl_sync(~0u, mine, int(j));
      sum += Word(int64_t(u[(j0 + j) * m + (first >= v ? first - v : first + m - v)]));
    }
  }
  sum = BlockSum(sum);
  if (!warp) PutTarget(f.out, i, sum);
}

}  // namespace

void RotSumRows(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t rows, uint64_t m, uint64_t len,
                uint64_t packed, WordTarget out, StreamHandle s) {
  if (!rows) return;
  const RotSumOf f{x, at, mask, m, len, packed, out};
  const auto run = [&](auto kernel) {
    kernel<<<exec::cuda::Blocks(rows * m, 32), kThreads, 0, s>>>(f);
    exec::cuda::CheckLaunch("the kernel of sums of rotations");
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
void SumRows(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s) {
  Terms(rows, len, SumTerm{x, len}, out, s, "the kernel of sums");
}
void SuffixRows(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s) {
  if (!rows) return;
  RunSuffixRows<<<exec::cuda::Blocks(rows * 32, kThreads), kThreads, 0, s>>>(x, rows, len, out);
  exec::cuda::CheckLaunch("the kernel of suffix sums");
}
void DotRows(const MemoryArray& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, WordTarget out,
             StreamHandle s) {
  Terms(rows, m, DotRowTerm{x, first, table}, out, s, "the kernel of sums by bits");
}
void ThinRows(const MemoryArray& x, const MemoryArray& y, uint64_t count, const ThinShape& shape, WordTarget out,
              StreamHandle s) {
  Terms(count, shape.depth, ThinTerm{x, y, shape}, out, s, "the kernel of a thin product");
}

}  // namespace suf::gpu::cuda
