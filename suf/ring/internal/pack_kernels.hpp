// The packing kernels of each variant, 1 <= k < 8 sizeof(T).
#pragma once
#include <cstddef>
#include <cstdint>

#define SUF_PACK_KERNELS(variant)                        \
  namespace suf::ring::variant {                         \
  template <class T>                                     \
  void Pack(const T* x, size_t n, int k, uint8_t* out);  \
  template <class T>                                     \
  void Unpack(const uint8_t* in, size_t n, int k, T* x); \
  }
SUF_PACK_KERNELS(portable)
SUF_PACK_KERNELS(avx2)
SUF_PACK_KERNELS(avx512)
#undef SUF_PACK_KERNELS

// Explicit instantiations, inside a variant's namespace.
#define SUF_PACK_INSTANTIATE(T)                           \
  template void Pack<T>(const T*, size_t, int, uint8_t*); \
  template void Unpack<T>(const uint8_t*, size_t, int, T*);
