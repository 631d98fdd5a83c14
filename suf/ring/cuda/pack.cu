#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/ring/cuda/bits_core.hpp"
#include "suf/ring/cuda/pack.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Blocks;
using exec::cuda::CheckLaunch;

constexpr int kThreads = 256;

// Divides by a number below 2^32, in 32 bits if x fits.
__device__ inline uint64_t Divided(uint64_t x, uint32_t by) { return x >> 32 ? x / by : uint32_t(x) / by; }

// Unpacks kEach elements per thread and writes them at once.
template <class T, int kEach>
__global__ void __launch_bounds__(kThreads) UnpackWords(const uint8_t* in, uint64_t n, int k, T* words) {
  struct alignas(kEach * sizeof(T)) Access {
    T x[kEach];
  };
  const uint64_t first = (blockIdx.x * uint64_t{kThreads} + threadIdx.x) * kEach;
  if (first + kEach <= n) {
    Access all;
#pragma unroll
    for (int j = 0; j < kEach; ++j) all.x[j] = T(ReadWord(in, (first + uint64_t(j)) * uint64_t(k), k));
    *reinterpret_cast<Access*>(words + first) = all;
  } else {
    for (uint64_t i = first; i < n; ++i) words[i] = T(ReadWord(in, i * uint64_t(k), k));
  }
}
template <class T>
void UnpackTo(const uint8_t* in, size_t n, int k, void* to, StreamHandle s) {
  T* const words = static_cast<T*>(to);
  constexpr int kEach = sizeof(T) == 8 ? 2 : 4;
  if (reinterpret_cast<uint64_t>(to) % (kEach * sizeof(T)) == 0)
    UnpackWords<T, kEach><<<Blocks((n + kEach - 1) / kEach, kThreads), kThreads, 0, s>>>(in, n, k, words);
  else
    UnpackWords<T, 1><<<Blocks(n, kThreads), kThreads, 0, s>>>(in, n, k, words);
}

// Unpacks one word per thread; an element has `parts` words.
__global__ void __launch_bounds__(kThreads)
    UnpackLong(const uint8_t* in, uint64_t count, int k, uint32_t parts, uint64_t* words) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  const uint64_t element = Divided(i, parts);
  const int from = int(i - element * parts) * 64;
  words[i] = ReadWord(in, element * uint64_t(k) + uint64_t(from), k - from < 64 ? k - from : 64);
}

// Returns up to 64 bits of a packed string of n elements, from bit `from` of element e on. Zeros follow its end.
template <class T>
__device__ inline uint64_t Packed(const T* words, uint64_t n, uint32_t k, uint64_t e, uint32_t from) {
  const auto element = [&] { return uint64_t(words[e]) & LowBits(int(k)); };
  uint64_t v = element() >> from;
  for (uint32_t have = k - from; have < 64 && ++e < n; have += k) v |= element() << have;
  return v;
}
// Does the same for elements of more than 64 bits; at most two of them are read.
__device__ inline uint64_t PackedLong(const uint64_t* words, uint64_t n, uint32_t k, uint64_t e, uint32_t from) {
  const uint32_t parts = (k + 63) / 64, w = from / 64, shift = from % 64;
  const uint64_t* const x = words + e * parts;
  uint64_t v = x[w] >> shift;
  if (shift && w + 1 < parts) v |= x[w + 1] << (64 - shift);
  const uint32_t have = k - from;
  if (have >= 64) return v;
  return (v & LowBits(int(have))) | (e + 1 < n ? x[parts] << have : 0);
}

// Packs. A thread writes the bytes of the string that lie in one aligned word of the device's memory.
template <class T, bool kLong>
__global__ void __launch_bounds__(kThreads) PackWords(const T* words, uint64_t n, uint32_t k, uint8_t* out) {
  const int64_t bytes = int64_t((n * k + 7) / 8), skew = int64_t(reinterpret_cast<uint64_t>(out) % 8);
  const int64_t word = int64_t(blockIdx.x * uint64_t{kThreads} + threadIdx.x) * 8 - skew;
  const int64_t begin = word < 0 ? 0 : word, end = word + 8 < bytes ? word + 8 : bytes;
  if (begin >= end) return;
  const uint64_t at = uint64_t(begin) * 8, e = Divided(at, k);
  const uint32_t from = uint32_t(at - e * k);
  uint64_t v;
  if constexpr (kLong)
    v = PackedLong(words, n, k, e, from);
  else
    v = Packed(words, n, k, e, from);
  if (end - begin == 8) {
    *reinterpret_cast<uint64_t*>(out + begin) = v;
  } else {
    for (int64_t b = begin; b < end; ++b, v >>= 8) out[b] = uint8_t(v);
  }
}
template <class T, bool kLong>
void PackFrom(const void* words, size_t n, int k, uint8_t* out, StreamHandle s) {
  const size_t threads = (n * size_t(k) + 63) / 64 + 1;  // one more, because the string may begin within a word
  PackWords<T, kLong><<<Blocks(threads, kThreads), kThreads, 0, s>>>(static_cast<const T*>(words), n, uint32_t(k), out);
}

// Returns the words of an element.
uint32_t Parts(int k, int bytes) {
  const int parts = (k + 63) / 64;
  SUF_CHECK(k >= 1 && (parts > 1 ? bytes == 8 * parts : k <= 8 * bytes));
  return uint32_t(parts);
}

}  // namespace

void Unpack(const uint8_t* in, size_t n, int k, void* words, int bytes, StreamHandle s) {
  const uint32_t parts = Parts(k, bytes);
  if (!n) return;
  if (parts > 1)
    UnpackLong<<<Blocks(n * parts, kThreads), kThreads, 0, s>>>(in, n * parts, k, parts, static_cast<uint64_t*>(words));
  else if (bytes == 1)
    UnpackTo<uint8_t>(in, n, k, words, s);
  else if (bytes == 2)
    UnpackTo<uint16_t>(in, n, k, words, s);
  else if (bytes == 4)
    UnpackTo<uint32_t>(in, n, k, words, s);
  else
    UnpackTo<uint64_t>(in, n, k, words, s);
  CheckLaunch("the kernel that unpacks");
}

void Pack(const void* words, int bytes, size_t n, int k, uint8_t* out, StreamHandle s) {
  const uint32_t parts = Parts(k, bytes);
  if (!n) return;
  if (parts > 1)
    PackFrom<uint64_t, true>(words, n, k, out, s);
  else if (bytes == 1)
    PackFrom<uint8_t, false>(words, n, k, out, s);
  else if (bytes == 2)
    PackFrom<uint16_t, false>(words, n, k, out, s);
  else if (bytes == 4)
    PackFrom<uint32_t, false>(words, n, k, out, s);
  else
    PackFrom<uint64_t, false>(words, n, k, out, s);
  CheckLaunch("the kernel that packs");
}

}  // namespace suf::ring::cuda
