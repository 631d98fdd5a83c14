// How words become limbs: a thread has four neighbouring words along the depth, and makes four bytes of each plane.
#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/ring/cuda/products.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Blocks;
using exec::cuda::CheckLaunch;

constexpr int kThreads = 256;

uint64_t Ceil(uint64_t n, uint64_t by) { return (n + by - 1) / by; }

// Returns limb l of four words, a byte each. The compiler knows l.
__device__ inline uint32_t Quad(const uint64_t (&x)[4], int l) {
  const auto half = [&](int j) { return l < 4 ? uint32_t(x[j]) : uint32_t(x[j] >> 32); };
  const unsigned pick = unsigned(l % 4) | unsigned(l % 4 + 4) << 4;
  return __byte_perm(__byte_perm(half(0), half(1), pick), __byte_perm(half(2), half(3), pick), 0x5410);
}

// Returns a word of 64 bits from one that may be signed.
template <class T>
__device__ inline uint64_t Extended(T x) {
  return uint64_t(int64_t(x));  // int64_t keeps an unsigned value modulo 2^64
}

// An operand whose words blocks of threads split. `even` allows wide loads of a row's words.
struct Job {
  Limbs to;
  const void* words;
  uint8_t* planes;
  int type;  // bytes of a word, negative if it is signed
  bool splat, transposed, even;
  uint32_t blocks, row_blocks, deep_blocks;
  uint64_t quads;
};

// Splits four words of a row per thread.
template <class T>
__device__ void SplitRows(const Job& job, uint32_t block) {
  const uint64_t i = block * uint64_t{kThreads} + threadIdx.x;
  if (i >= job.quads) return;
  const Limbs& to = job.to;
  const T* const words = static_cast<const T*>(job.words);
  const uint32_t per_row = uint32_t(to.pitch() / 4), rows = uint32_t(to.rows), depth = uint32_t(to.depth);
  const uint64_t row = i >> 32 ? i / per_row : uint32_t(i) / per_row;  // of all matrices
  const uint32_t d = uint32_t(i - row * per_row) * 4;
  uint64_t x[4] = {};
  if (job.splat) {
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) x[j] = d + j < depth ? Extended(*words) : 0;
  } else if (job.even) {  // the depth is a multiple of 4
    struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Access {
      T x[sizeof(T) < 4 ? 4 : 16 / sizeof(T)];
    };
    constexpr uint32_t kEach = sizeof(Access) / sizeof(T);
    if (d < depth) {
#pragma unroll
      for (uint32_t j = 0; j < 4; j += kEach) {
        const Access all = *reinterpret_cast<const Access*>(words + row * depth + d + j);
#pragma unroll
        for (uint32_t q = 0; q < kEach; ++q) x[j + q] = Extended(all.x[q]);
      }
    }
  } else {
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j)
      if (d + j < depth) x[j] = Extended(words[row * depth + d + j]);
  }
  const uint64_t b = row / rows, r = row % rows;
  uint8_t* at = job.planes + (b * uint32_t(to.limbs) * rows + r) * to.pitch() + d;
#pragma unroll
  for (int l = 0; l < 8; ++l)
    if (l < to.limbs) *reinterpret_cast<uint32_t*>(at + uint64_t(l) * rows * to.pitch()) = Quad(x, l);
}

// A tile of quads in shared memory.
struct Turned {
  uint32_t quads[8][32][17];
};
// Splits 64 words of each of 32 rows per block. Memory is transposed, so lanes go along the rows when they read and
// along the depth when they write.
template <class T>
__device__ void SplitColumns(const Job& job, uint32_t block, Turned& turned) {
  const Limbs& to = job.to;
  const T* const words = static_cast<const T*>(job.words);
  const uint32_t rows = uint32_t(to.rows), depth = uint32_t(to.depth);
  const uint32_t r0 = block % job.row_blocks * 32, d0 = block / job.row_blocks % job.deep_blocks * 64;
  const uint64_t b = block / job.row_blocks / job.deep_blocks;
  for (uint32_t i = threadIdx.x; i < 16 * 32; i += kThreads) {
    const uint32_t r = i % 32, q = i / 32;
    uint64_t x[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t d = d0 + 4 * q + j;
      const bool there = r0 + r < rows && d < depth;
      x[j] = there ? Extended(words[job.splat ? 0 : (b * depth + d) * rows + r0 + r]) : 0;
    }
#pragma unroll
    for (int l = 0; l < 8; ++l)
      if (l < to.limbs) turned.quads[l][r][q] = Quad(x, l);
  }
  __syncthreads();
  const uint64_t plane = rows * to.pitch();
  for (uint32_t i = threadIdx.x; i < 16 * 32 * uint32_t(to.limbs); i += kThreads) {
    const uint32_t l = i / 512, r = i / 16 % 32, q = i % 16;
    if (r0 + r >= rows) continue;
    *reinterpret_cast<uint32_t*>(job.planes + (b * uint32_t(to.limbs) + l) * plane + (r0 + r) * to.pitch() + d0 +
                                 4 * q) = turned.quads[l][r][q];
  }
}

template <class T>
__device__ void SplitWords(const Job& job, uint32_t block, Turned& turned) {
  job.transposed ? SplitColumns<T>(job, block, turned) : SplitRows<T>(job, block);
}

// Splits operands and clears memory. Blocks serve the first operand, then the second, then the memory.
__global__ void __launch_bounds__(kThreads) Prepare(const Job a, const Job b, const ZeroRange cleared) {
  __shared__ Turned turned;
  uint32_t block = blockIdx.x;
  const Job& job = block < a.blocks ? a : b;
  if (block >= a.blocks) block -= a.blocks;
  if (block >= job.blocks) {
    const uint64_t at = ((block - job.blocks) * uint64_t{kThreads} + threadIdx.x) * 16;
    if (at + 16 <= cleared.bytes)
      *reinterpret_cast<uint4*>(cleared.at + at) = make_uint4(0, 0, 0, 0);
    else
      for (uint64_t i = at; i < cleared.bytes; ++i) cleared.at[i] = 0;
    return;
  }
  switch (job.type) {
    case 1:
      return SplitWords<uint8_t>(job, block, turned);
    case 2:
      return SplitWords<uint16_t>(job, block, turned);
    case 4:
      return SplitWords<uint32_t>(job, block, turned);
    case -1:
      return SplitWords<int8_t>(job, block, turned);
    case -2:
      return SplitWords<int16_t>(job, block, turned);
    case -4:
      return SplitWords<int32_t>(job, block, turned);
    default:
      return SplitWords<uint64_t>(job, block, turned);
  }
}

Job JobOf(const LimbSplit& s) {
  Job job{s.to, s.words, s.planes, s.is_signed ? -s.bytes : s.bytes, s.splat, s.transposed, false, 0, 0, 0, 0};
  if (!s.to.rows || !s.to.depth || !s.to.batch) return job;
  uint64_t blocks = 0;
  if (s.transposed) {
    job.row_blocks = uint32_t(Ceil(uint64_t(s.to.rows), 32));
    job.deep_blocks = uint32_t(s.to.pitch() / 64);
    blocks = uint64_t(job.row_blocks) * job.deep_blocks * s.to.batch;
  } else {
    job.quads = s.to.batch * uint64_t(s.to.rows) * s.to.pitch() / 4;
    job.even = s.to.depth % 4 == 0 && reinterpret_cast<uint64_t>(s.words) % 16 == 0;
    blocks = Ceil(job.quads, kThreads);
  }
  SUF_CHECK(blocks < uint64_t{1} << 30);
  job.blocks = uint32_t(blocks);
  return job;
}

}  // namespace

Limbs LimbsOf(int bytes, bool is_signed, bool right, int rows, int depth, size_t batch, int bits) {
  const int all = (bits + 7) / 8;
  const bool narrow = right && is_signed && bytes <= 2 && bytes < all;
  return {narrow ? bytes : all, narrow, rows, depth, batch};
}

void Split(const LimbSplit& a, const LimbSplit& b, const ZeroRange& cleared, StreamHandle s) {
  const Job first = JobOf(a), second = JobOf(b);
  const uint64_t blocks = first.blocks + second.blocks + Ceil(cleared.bytes, 16 * kThreads);
  if (!blocks) return;
  SUF_CHECK(blocks < uint64_t{1} << 31 && reinterpret_cast<uint64_t>(cleared.at) % 16 == 0);
  Prepare<<<unsigned(blocks), kThreads, 0, s>>>(first, second, cleared);
  CheckLaunch("the kernel of limbs");
}

}  // namespace suf::ring::cuda
