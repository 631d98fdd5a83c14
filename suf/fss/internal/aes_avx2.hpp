// AES-128 by AES-NI, 8 blocks in flight. Included inside a variant's namespace, so it has no include guard.
#include "suf/fss/internal/aes_schedule.hpp"

namespace {

struct RoundKeys {
  explicit RoundKeys(const uint8_t* rk) {
    for (int r = 0; r < 11; ++r) k[r] = LoadBlock(rk + 16 * r);
  }
  template <int W>
  void Encrypt(__m128i (&x)[W]) const {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) x[i] = _mm_xor_si128(x[i], k[0]);
#pragma GCC unroll 16
    for (int r = 1; r < 10; ++r)
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) x[i] = _mm_aesenc_si128(x[i], k[r]);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) x[i] = _mm_aesenclast_si128(x[i], k[10]);
  }
  __m128i k[11];
};

inline __m128i Sigma(__m128i x) {
  return _mm_xor_si128(_mm_shuffle_epi32(x, 0x4e), _mm_and_si128(x, _mm_set_epi64x(-1, 0)));
}

template <bool kHash, int W>
inline void AesBlocks(const RoundKeys& keys, const uint8_t* in, uint8_t* out) {
  __m128i x[W], s[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) x[i] = s[i] = kHash ? Sigma(LoadBlock(in + 16 * i)) : LoadBlock(in + 16 * i);
  keys.Encrypt(x);
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) StoreBlock(out + 16 * i, kHash ? _mm_xor_si128(x[i], s[i]) : x[i]);
}
template <bool kHash>
inline void AesAll(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) {
  const RoundKeys keys(rk);
  for (; n >= 8; n -= 8, in += 128, out += 128) AesBlocks<kHash, 8>(keys, in, out);
  for (; n; --n, in += 16, out += 16) AesBlocks<kHash, 1>(keys, in, out);
}
inline void AesEncrypt(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) { AesAll<false>(rk, in, out, n); }
inline void AesHash(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) { AesAll<true>(rk, in, out, n); }

inline void AesCtr(const uint8_t* rk, const uint8_t* nonce, uint32_t counter, uint8_t* out, size_t bytes) {
  const RoundKeys keys(rk);
  uint8_t start[16];
  __builtin_memcpy(start, nonce, 12);
  __builtin_memcpy(start + 12, &counter, 4);
  __m128i c = LoadBlock(start), x[8];
  const __m128i one = _mm_set_epi32(1, 0, 0, 0);
  while (bytes) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      x[i] = c;
      c = _mm_add_epi32(c, one);
    }
    keys.Encrypt(x);
    if (bytes < 128) {
      __builtin_memcpy(out, x, bytes);
      Wipe(x, sizeof x);
      return;
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) StoreBlock(out + 16 * i, x[i]);
    out += 128;
    bytes -= 128;
  }
}

// Encrypts n blocks in registers only: the upper bound of this variant. The blocks differ, because the compiler would
// encrypt equal ones once.
inline uint64_t AesBound(uint64_t n) {
  alignas(16) uint8_t rk[176] = {1};
  const RoundKeys keys(rk);
  __m128i x[10];
  for (int i = 0; i < 10; ++i) x[i] = _mm_set1_epi64x(i);
  for (uint64_t i = 0; i < n; i += 10) keys.Encrypt(x);
  for (int i = 1; i < 10; ++i) x[0] = _mm_xor_si128(x[0], x[i]);
  return uint64_t(_mm_cvtsi128_si64(x[0]));
}

}  // namespace
