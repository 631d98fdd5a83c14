#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/ring/cuda/bits_core.hpp"
#include "suf/ring/cuda/pack.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Blocks;
using exec::cuda::Launched;

constexpr int kThreads = 256;

__device__ inline void PutWord(void* words, int bytes, uint64_t i, uint64_t x) {
  switch (bytes) {
    case 1:
      static_cast<uint8_t*>(words)[i] = uint8_t(x);
      return;
    case 2:
      static_cast<uint16_t*>(words)[i] = uint16_t(x);
      return;
    case 4:
      static_cast<uint32_t*>(words)[i] = uint32_t(x);
      return;
    default:
      static_cast<uint64_t*>(words)[i] = x;
  }
}
__device__ inline uint64_t GetWord(const void* words, int bytes, uint64_t i) {
  switch (bytes) {
    case 1:
      return static_cast<const uint8_t*>(words)[i];
    case 2:
      return static_cast<const uint16_t*>(words)[i];
    case 4:
      return static_cast<const uint32_t*>(words)[i];
    default:
      return static_cast<const uint64_t*>(words)[i];
  }
}

// A thread a word; `parts` words an element.
__global__ void __launch_bounds__(kThreads)
    UnpackWords(const uint8_t* in, uint64_t n, int k, int parts, void* words, int bytes) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  if (i >= n * uint64_t(parts)) return;
  const int w = int(i % uint64_t(parts)), left = k - 64 * w;
  PutWord(words, bytes, i, ReadWord(in, i / uint64_t(parts) * uint64_t(k) + 64u * uint64_t(w), left < 64 ? left : 64));
}

// A thread an element.
__global__ void __launch_bounds__(kThreads)
    PackWords(const void* words, int bytes, uint64_t n, int k, int parts, uint8_t* out) {
  const uint64_t at = blockIdx.x * uint64_t{kThreads} + threadIdx.x, base = at / 32 * 32;
  if (base >= n) return;
  const int rows = int(n - base < 32 ? n - base : 32);
  uint8_t* const to = out + base * uint64_t(k) / 8;
  const uint64_t i = at < n ? at : n - 1;
  if (k <= 64)
    PackShort(GetWord(words, bytes, i) & LowBits(k), k, rows, to);
  else
    PackLong(static_cast<const uint64_t*>(words) + i * uint64_t(parts), k, rows, to);
}

}  // namespace

void Unpack(const uint8_t* in, size_t n, int k, void* words, int bytes, Stream s) {
  const int parts = (k + 63) / 64;
  SUF_CHECK(k >= 1 && (parts == 1 || bytes == 8 * parts) && (parts > 1 || k <= 8 * bytes));
  if (!n) return;
  UnpackWords<<<Blocks(n * size_t(parts), kThreads), kThreads, 0, s>>>(in, n, k, parts, words, parts > 1 ? 8 : bytes);
  Launched("the kernel that unpacks");
}

void Pack(const void* words, int bytes, size_t n, int k, uint8_t* out, Stream s) {
  const int parts = (k + 63) / 64;
  SUF_CHECK(k >= 1 && (parts == 1 || bytes == 8 * parts) && (parts > 1 || k <= 8 * bytes));
  if (!n) return;
  PackWords<<<Blocks(n, kThreads), kThreads, 0, s>>>(words, bytes, n, k, parts, out);
  Launched("the kernel that packs");
}

}  // namespace suf::ring::cuda
