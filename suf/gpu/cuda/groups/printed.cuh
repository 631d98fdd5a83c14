// The functions that printed kernels call in addition to the row functions.
#pragma once
#define SUF_PRINTED
#include "suf/grouping/rows_core.hpp"
#include "suf/ring/cuda/bits_core.hpp"

namespace suf::gpu::cuda {

namespace row = grouping::row;

using ring::cuda::PackLong, ring::cuda::PackShort, ring::cuda::ReadShort, ring::cuda::ReadWord;
using row::Word;

// Returns word w of element i of an array whose elements have kBytes bytes.
template <class T, int kBytes>
__device__ inline Word Take(const uint8_t* data, uint32_t i, int w) {
  return Word(int64_t(reinterpret_cast<const T*>(data + uint64_t(i) * kBytes)[w]));
}
// Stores a word as word w of element i of an array whose elements have kBytes bytes.
template <class T, int kBytes>
__device__ inline void Give(Word data, uint32_t i, int w, Word x) {
  reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(data) + uint64_t(i) * kBytes)[w] = T(x);
}

// Returns a word of an input. Its form is its bytes, plus 256 if it is signed.
__device__ inline Word TakeInput(const uint8_t* data, uint32_t i, int form) {
  switch (form) {
    case 1:
      return data[i];
    case 257:
      return Word(int64_t(reinterpret_cast<const int8_t*>(data)[i]));
    case 2:
      return reinterpret_cast<const uint16_t*>(data)[i];
    case 258:
      return Word(int64_t(reinterpret_cast<const int16_t*>(data)[i]));
    case 4:
      return reinterpret_cast<const uint32_t*>(data)[i];
    case 260:
      return Word(int64_t(reinterpret_cast<const int32_t*>(data)[i]));
    default:
      return reinterpret_cast<const Word*>(data)[i];
  }
}

// Returns x / d for x below 2^31. printer.cpp computes m and s from d.
__device__ inline uint32_t Quotient(uint32_t x, uint32_t m, int s) { return (__umulhi(m, x) + x) >> s; }

}  // namespace suf::gpu::cuda
