#include "suf/ring/pack.hpp"

#include <algorithm>
#include <cstring>

#include "suf/ring/internal/pack_kernels.hpp"
#include "suf/ring/modular.hpp"

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

void PackLong(const uint64_t* x, size_t n, int k, uint8_t* out) {
  SUF_CHECK(k > 64);
  if (n == 0) return;  // memcpy takes no null pointer
  if (k % 64 == 0) return void(std::memcpy(out, x, n * size_t(k) / 8));
  const size_t words = size_t(k + 63) / 64;
  uint64_t waiting = 0;  // bits that are not yet written
  int many = 0;
  for (size_t i = 0, w = 0; i < n * words; ++i) {
    const int take = ++w == words ? (k - 1) % 64 + 1 : 64;
    waiting |= x[i] << many;
    if (many + take >= 64) {
      std::memcpy(out, &waiting, 8);
      out += 8;
      waiting = many ? x[i] >> (64 - many) : 0;
      many -= 64;
    }
    many += take;
    if (w == words) w = 0;
  }
  std::memcpy(out, &waiting, size_t(many + 7) / 8);
}

void UnpackLong(const uint8_t* in, size_t n, int k, uint64_t* x) {
  SUF_CHECK(k > 64);
  if (n == 0) return;
  if (k % 64 == 0) return void(std::memcpy(x, in, n * size_t(k) / 8));
  const size_t words = size_t(k + 63) / 64;
  size_t left = (n * size_t(k) + 7) / 8;
  uint64_t waiting = 0;  // bits that are not yet used
  int many = 0;
  for (size_t i = 0, w = 0; i < n * words; ++i) {
    const int take = ++w == words ? (k - 1) % 64 + 1 : 64;
    if (w == words) w = 0;
    x[i] = waiting;
    if (many < take) {
      const size_t now = std::min<size_t>(8, left);
      uint64_t next = 0;
      std::memcpy(&next, in, now);
      in += now;
      left -= now;
      x[i] |= next << many;
      waiting = take - many < 64 ? next >> (take - many) : 0;
      many += 64;
    } else {
      waiting >>= take;
    }
    many -= take;
    x[i] &= Mask(take);
  }
}

}  // namespace suf::ring
