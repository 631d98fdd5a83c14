// How words become limbs: a thread has four words that are neighbours along the depth, and makes four bytes of each
// plane.
#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/ring/cuda/products.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Blocks;
using exec::cuda::Launched;

constexpr int kThreads = 256;

uint64_t Ceil(uint64_t n, uint64_t by) { return (n + by - 1) / by; }

// Quad: limb l of four words, a byte each; l is known where it is compiled.
__device__ inline uint32_t Quad(const uint64_t (&x)[4], int l) {
  const auto half = [&](int j) { return l < 4 ? uint32_t(x[j]) : uint32_t(x[j] >> 32); };
  const unsigned pick = unsigned(l % 4) | unsigned(l % 4 + 4) << 4;
  return __byte_perm(__byte_perm(half(0), half(1), pick), __byte_perm(half(2), half(3), pick), 0x5410);
}

// Extended: a word of 64 bits from one that may be signed.
template <class T>
__device__ inline uint64_t Extended(T x) {
  return uint64_t(int64_t(x));  // of an unsigned one, int64_t keeps the value modulo 2^64
}

// SplitRows: a thread has four words of a row. even: four words are one access.
template <class T>
__global__ void __launch_bounds__(kThreads)
    SplitRows(const T* words, bool splat, bool even, Limbs to, uint64_t quads, uint8_t* planes) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  if (i >= quads) return;
  const uint32_t per_row = uint32_t(to.pitch() / 4), rows = uint32_t(to.rows), depth = uint32_t(to.depth);
  const uint64_t row = i >> 32 ? i / per_row : uint32_t(i) / per_row;  // of all matrices
  const uint32_t d = uint32_t(i - row * per_row) * 4;
  uint64_t x[4] = {};
  if (splat) {
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) x[j] = d + j < depth ? Extended(*words) : 0;
  } else if (even) {  // the depth is a multiple of 4
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
  uint8_t* at = planes + (b * uint32_t(to.limbs) * rows + r) * to.pitch() + d;
#pragma unroll
  for (int l = 0; l < 8; ++l)
    if (l < to.limbs) *reinterpret_cast<uint32_t*>(at + uint64_t(l) * rows * to.pitch()) = Quad(x, l);
}

// SplitColumns: a block has 64 words of each of 32 rows, which lie the other way round: lanes go along the rows when
// they read and along the depth when they write.
template <class T>
__global__ void __launch_bounds__(kThreads)
    SplitColumns(const T* words, bool splat, Limbs to, uint32_t row_blocks, uint32_t deep_blocks, uint8_t* planes) {
  __shared__ uint32_t quads[8][32][17];
  const uint32_t rows = uint32_t(to.rows), depth = uint32_t(to.depth);
  const uint32_t r0 = blockIdx.x % row_blocks * 32, d0 = blockIdx.x / row_blocks % deep_blocks * 64;
  const uint64_t b = blockIdx.x / row_blocks / deep_blocks;
  for (uint32_t i = threadIdx.x; i < 16 * 32; i += kThreads) {
    const uint32_t r = i % 32, q = i / 32;
    uint64_t x[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t d = d0 + 4 * q + j;
      const bool there = r0 + r < rows && d < depth;
      x[j] = there ? Extended(words[splat ? 0 : (b * depth + d) * rows + r0 + r]) : 0;
    }
#pragma unroll
    for (int l = 0; l < 8; ++l)
      if (l < to.limbs) quads[l][r][q] = Quad(x, l);
  }
  __syncthreads();
  const uint64_t plane = rows * to.pitch();
  for (uint32_t i = threadIdx.x; i < 16 * 32 * uint32_t(to.limbs); i += kThreads) {
    const uint32_t l = i / 512, r = i / 16 % 32, q = i % 16;
    if (r0 + r >= rows) continue;
    *reinterpret_cast<uint32_t*>(planes + (b * uint32_t(to.limbs) + l) * plane + (r0 + r) * to.pitch() + d0 + 4 * q) =
        quads[l][r][q];
  }
}

template <class T>
void SplitWords(const Limbs& to, const void* from, bool splat, bool transposed, uint8_t* planes, Stream s) {
  const T* const words = static_cast<const T*>(from);
  if (transposed) {
    const uint64_t row_blocks = Ceil(uint64_t(to.rows), 32), deep_blocks = to.pitch() / 64;
    const uint64_t blocks = row_blocks * deep_blocks * to.batch;
    SUF_CHECK(blocks < uint64_t{1} << 31);
    SplitColumns<<<unsigned(blocks), kThreads, 0, s>>>(words, splat, to, uint32_t(row_blocks), uint32_t(deep_blocks),
                                                       planes);
  } else {
    const uint64_t quads = to.batch * uint64_t(to.rows) * to.pitch() / 4;
    SUF_CHECK(quads < uint64_t{1} << 38);
    const bool even = to.depth % 4 == 0 && reinterpret_cast<uint64_t>(from) % 16 == 0;
    SplitRows<<<Blocks(quads, kThreads), kThreads, 0, s>>>(words, splat, even, to, quads, planes);
  }
  Launched("the kernel of limbs");
}

}  // namespace

Limbs LimbsOf(int bytes, bool is_signed, bool right, int rows, int depth, size_t batch, int bits) {
  const int all = (bits + 7) / 8;
  const bool narrow = right && is_signed && bytes <= 2 && bytes < all;
  return {narrow ? bytes : all, narrow, rows, depth, batch};
}

void Split(const Limbs& to, const void* words, int bytes, bool is_signed, bool splat, bool transposed, uint8_t* planes,
           Stream s) {
  if (!to.rows || !to.depth || !to.batch) return;
  switch (is_signed ? -bytes : bytes) {
    case 1:
      return SplitWords<uint8_t>(to, words, splat, transposed, planes, s);
    case 2:
      return SplitWords<uint16_t>(to, words, splat, transposed, planes, s);
    case 4:
      return SplitWords<uint32_t>(to, words, splat, transposed, planes, s);
    case -1:
      return SplitWords<int8_t>(to, words, splat, transposed, planes, s);
    case -2:
      return SplitWords<int16_t>(to, words, splat, transposed, planes, s);
    case -4:
      return SplitWords<int32_t>(to, words, splat, transposed, planes, s);
    default:
      SUF_CHECK(bytes == 8);
      return SplitWords<uint64_t>(to, words, splat, transposed, planes, s);
  }
}

}  // namespace suf::ring::cuda
