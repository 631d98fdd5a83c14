// AES-128 by VAES in vectors of 4 blocks, 8 vectors in flight. Included inside a variant's namespace, so it has no
// include guard.
#include "suf/fss/internal/aes_schedule.hpp"

namespace {

struct RoundKeys {
  explicit RoundKeys(const uint8_t* rk) {
    for (int r = 0; r < 11; ++r) k[r] = _mm512_broadcast_i32x4(LoadBlock(rk + 16 * r));
  }
  template <int W>
  void Encrypt(__m512i (&x)[W]) const {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) x[i] = _mm512_xor_si512(x[i], k[0]);
    Rounds(x);
  }
  // Performs all rounds, without the first whitening.
  template <int W>
  void Rounds(__m512i (&x)[W]) const {
#pragma GCC unroll 16
    for (int r = 1; r < 10; ++r)
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) x[i] = _mm512_aesenc_epi128(x[i], k[r]);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) x[i] = _mm512_aesenclast_epi128(x[i], k[10]);
  }
  __m512i k[11];
};

inline __m512i Sigma(__m512i x) {
  return _mm512_mask_xor_epi64(_mm512_shuffle_epi32(x, _MM_PERM_BADC), 0xaa, _mm512_shuffle_epi32(x, _MM_PERM_BADC), x);
}

// Encrypts or hashes W vectors of blocks. `last` masks the quadwords of the last vector.
template <bool kHash, int W>
inline void AesBlocks(const RoundKeys& keys, const uint8_t* in, uint8_t* out, __mmask8 last) {
  __m512i x[W], s[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    x[i] = i + 1 < W ? _mm512_loadu_si512(in + 64 * i) : _mm512_maskz_loadu_epi64(last, in + 64 * i);
    s[i] = x[i] = kHash ? Sigma(x[i]) : x[i];
  }
  keys.Encrypt(x);
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    if constexpr (kHash) x[i] = _mm512_xor_si512(x[i], s[i]);
    if (i + 1 < W) {
      _mm512_storeu_si512(out + 64 * i, x[i]);
    } else {
      _mm512_mask_storeu_epi64(out + 64 * i, last, x[i]);
    }
  }
}
template <bool kHash>
inline void AesAll(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) {
  const RoundKeys keys(rk);
  for (; n >= 32; n -= 32, in += 512, out += 512) AesBlocks<kHash, 8>(keys, in, out, 0xff);
  for (; n >= 16; n -= 16, in += 256, out += 256) AesBlocks<kHash, 4>(keys, in, out, 0xff);
  for (; n >= 4; n -= 4, in += 64, out += 64) AesBlocks<kHash, 1>(keys, in, out, 0xff);
  if (n) AesBlocks<kHash, 1>(keys, in, out, __mmask8((1 << 2 * n) - 1));
}
inline void AesEncrypt(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) { AesAll<false>(rk, in, out, n); }
inline void AesHash(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) { AesAll<true>(rk, in, out, n); }

inline void AesCtr(const uint8_t* rk, const uint8_t* nonce, uint32_t counter, uint8_t* out, size_t bytes) {
  constexpr int kWide = 16;
  constexpr size_t kBytes = 64 * kWide;
  const RoundKeys keys(rk);
  uint8_t start[16];
  __builtin_memcpy(start, nonce, 12);
  __builtin_memcpy(start + 12, &counter, 4);
  const __m512i lanes = _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0);
  const __m512i four = _mm512_maskz_set1_epi32(0x8888, 4), wide = _mm512_maskz_set1_epi32(0x8888, 4 * kWide);
  __m512i c = _mm512_broadcast_i32x4(LoadBlock(start));
  // From a multiple of 64 blocks on, the counters of a batch differ from c by XOR. So does the whitening.
  __m512i white[kWide];
  white[0] = lanes;
  for (int i = 1; i < kWide; ++i) white[i] = _mm512_add_epi32(white[i - 1], four);
  for (int i = 0; i < kWide; ++i) white[i] = _mm512_xor_si512(white[i], keys.k[0]);
  for (; bytes; counter += 4) {
    for (; counter % (4 * kWide) == 0 && bytes >= kBytes; counter += 4 * kWide) {
      __m512i x[kWide];
#pragma GCC unroll 16
      for (int i = 0; i < kWide; ++i) x[i] = _mm512_xor_si512(c, white[i]);
      keys.Rounds(x);
#pragma GCC unroll 16
      for (int i = 0; i < kWide; ++i) _mm512_storeu_si512(out + 64 * i, x[i]);
      out += kBytes;
      bytes -= kBytes;
      c = _mm512_add_epi32(c, wide);
    }
    if (!bytes) return;
    __m512i x[1] = {_mm512_add_epi32(c, lanes)};
    c = _mm512_add_epi32(c, four);
    keys.Encrypt(x);
    if (bytes < 64) {
      alignas(64) uint8_t tail[64];
      _mm512_store_si512(tail, x[0]);
      __builtin_memcpy(out, tail, bytes);
      Wipe(tail, sizeof tail);
      return;
    }
    _mm512_storeu_si512(out, x[0]);
    out += 64;
    bytes -= 64;
  }
}

// Encrypts n blocks in registers only: the upper bound of this variant. The blocks differ, because the compiler would
// encrypt equal ones once.
inline uint64_t AesBound(uint64_t n) {
  alignas(16) uint8_t rk[176] = {1};
  const RoundKeys keys(rk);
  __m512i x[16];
  for (int i = 0; i < 16; ++i) x[i] = _mm512_set1_epi64(i);
  for (uint64_t i = 0; i < n; i += 64) keys.Encrypt(x);
  for (int i = 1; i < 16; ++i) x[0] = _mm512_xor_si512(x[0], x[i]);
  return uint64_t(_mm_cvtsi128_si64(_mm512_castsi512_si128(x[0])));
}

}  // namespace
