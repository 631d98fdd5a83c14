// The AES-128 key schedule by AES-NI: 11 round keys as in FIPS 197. Included inside a variant's namespace, so it has no
// guard and no includes of its own.
namespace {

inline __m128i LoadBlock(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline void StoreBlock(uint8_t* p, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }

inline void AesExpand(const uint8_t* key, uint8_t* rk) {
  __m128i k = LoadBlock(key);
  StoreBlock(rk, k);
  int rcon = 1;
  for (int r = 1; r <= 10; ++r) {
    // SubWord(RotWord(w3)) in every word. ShiftRows in aesenclast has no effect, because all columns are equal.
    const __m128i t = _mm_aesenclast_si128(_mm_shuffle_epi8(k, _mm_set1_epi32(0x0c0f0e0d)), _mm_set1_epi32(rcon));
    k = _mm_xor_si128(k, _mm_slli_si128(k, 4));
    k = _mm_xor_si128(k, _mm_slli_si128(k, 8));
    k = _mm_xor_si128(k, t);
    StoreBlock(rk + 16 * r, k);
    rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
  }
}

}  // namespace
