// What printed kernels include beside the row functions.
#pragma once
#define SUF_PRINTED
#include "suf/backends/lower/rows_core.hpp"
#include "suf/ring/cuda/bits_core.hpp"

namespace suf::backends::cuda {

using ring::cuda::PackLong, ring::cuda::PackShort, ring::cuda::ReadWord;
using row::Word;

// Take, Give: word w of element i of an array whose elements have so many bytes.
template <class T, int kBytes>
__device__ inline Word Take(const uint8_t* data, uint32_t i, int w) {
  return Word(int64_t(reinterpret_cast<const T*>(data + uint64_t(i) * kBytes)[w]));
}
template <class T, int kBytes>
__device__ inline void Give(Word data, uint32_t i, int w, Word x) {
  reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(data) + uint64_t(i) * kBytes)[w] = T(x);
}

// Quotient: x / d of x below 2^31, where m and s are what printer.cpp makes of d.
__device__ inline uint32_t Quotient(uint32_t x, uint32_t m, int s) { return (__umulhi(m, x) + x) >> s; }

}  // namespace suf::backends::cuda
