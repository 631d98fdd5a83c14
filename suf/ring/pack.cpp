#include "suf/ring/pack.hpp"

#include <cstring>

#include "suf/ring/internal/pack_kernels.hpp"

namespace suf::ring {

template <class T>
void Pack(const T* x, size_t n, int k, uint8_t* out, Isa v) {
  SUF_CHECK(k >= 0 && k <= int(8 * sizeof(T)));
  if (n == 0 || k == 0) return;
  if (k == 8 * sizeof(T)) {
    std::memcpy(out, x, n * sizeof(T));
    return;
  }
  using F = void (*)(const T*, size_t, int, uint8_t*);
  static constexpr F kTable[] = {portable::Pack<T>, avx2::Pack<T>, avx512::Pack<T>};
  Pick(kTable, v)(x, n, k, out);
}

template <class T>
void Unpack(const uint8_t* in, size_t n, int k, T* x, Isa v) {
  SUF_CHECK(k >= 0 && k <= int(8 * sizeof(T)));
  if (n == 0) return;
  if (k == 0 || k == 8 * sizeof(T)) {
    k == 0 ? std::memset(x, 0, n * sizeof(T)) : std::memcpy(x, in, n * sizeof(T));
    return;
  }
  using F = void (*)(const uint8_t*, size_t, int, T*);
  static constexpr F kTable[] = {portable::Unpack<T>, avx2::Unpack<T>, avx512::Unpack<T>};
  Pick(kTable, v)(in, n, k, x);
}

#define SUF_INSTANTIATE(T)                                     \
  template void Pack<T>(const T*, size_t, int, uint8_t*, Isa); \
  template void Unpack<T>(const uint8_t*, size_t, int, T*, Isa);
SUF_INSTANTIATE(uint8_t)
SUF_INSTANTIATE(uint16_t)
SUF_INSTANTIATE(uint32_t)
SUF_INSTANTIATE(uint64_t)
#undef SUF_INSTANTIATE

}  // namespace suf::ring
