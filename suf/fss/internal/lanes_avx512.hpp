// Vectors of seeds by VAES: four seeds each, 8 vectors in flight. Included inside a variant's namespace, so it has no
// guard. lanes_portable.hpp describes each function. An instruction that writes a mask register takes an AES slot on
// Zen 5, so masks stay in vectors.
#include "suf/fss/internal/aes_avx512.hpp"

namespace {

typedef uint64_t Vec __attribute__((vector_size(64)));
constexpr int kLanes = 4, kWide = 8, kStep = 4;

inline Vec Load(const uint8_t* p) { return (Vec)_mm512_loadu_si512(p); }
inline void Store(uint8_t* p, Vec x) { _mm512_storeu_si512(p, (__m512i)x); }
inline Vec Gather(const uint8_t* const* p, size_t at) {
  const __m256i lo = _mm256_inserti128_si256(_mm256_castsi128_si256(LoadBlock(p[0] + at)), LoadBlock(p[1] + at), 1);
  const __m256i hi = _mm256_inserti128_si256(_mm256_castsi128_si256(LoadBlock(p[2] + at)), LoadBlock(p[3] + at), 1);
  return (Vec)_mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
}
// Transposes 4 x 4 lanes.
inline void ScatterLines(const Vec* x, uint64_t* to, size_t stride) {
  auto pairs = [&](int i) { return _mm512_shuffle_i64x2((__m512i)x[i], (__m512i)x[i + 1], 0x44); };
  auto others = [&](int i) { return _mm512_shuffle_i64x2((__m512i)x[i], (__m512i)x[i + 1], 0xee); };
  const __m512i a = pairs(0), b = pairs(2), c = others(0), d = others(2);
  _mm512_storeu_si512(to, _mm512_shuffle_i64x2(a, b, 0x88));
  _mm512_storeu_si512(to + stride, _mm512_shuffle_i64x2(a, b, 0xdd));
  _mm512_storeu_si512(to + 2 * stride, _mm512_shuffle_i64x2(c, d, 0x88));
  _mm512_storeu_si512(to + 3 * stride, _mm512_shuffle_i64x2(c, d, 0xdd));
}
inline Vec Spread(const uint64_t* x) {
  const __m512i four = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  return (Vec)_mm512_permutexvar_epi64(_mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0), four);
}
inline Vec Swap(Vec x) { return (Vec)_mm512_shuffle_epi32((__m512i)x, _MM_PERM_BADC); }
inline Vec LowBit(Vec x) {
  return (Vec)_mm512_and_si512(_mm512_shuffle_epi32((__m512i)x, _MM_PERM_BABA), _mm512_set1_epi64(1));
}
inline Vec BitMask(Vec x, int i) {
  __m512i m = _mm512_sll_epi64((__m512i)x, _mm_cvtsi32_si128(63 - i));
  asm("vpsraq $63, %0, %0" : "+v"(m));  // clang uses a mask register for the intrinsic
  return (Vec)m;
}
// Returns f ^ (m & v).
inline __m512i AndXor(__m512i f, __m512i m, __m512i v) { return _mm512_ternarylogic_epi64(f, m, v, 0x78); }

inline Vec Sigma(Vec x) {
  const __m512i v = (__m512i)x;
  return (Vec)AndXor(_mm512_shuffle_epi32(v, _MM_PERM_BADC), v, _mm512_set_epi64(-1, 0, -1, 0, -1, 0, -1, 0));
}
inline Vec First(const RoundKeys& keys, Vec s) { return s ^ (Vec)keys.k[0]; }
inline Vec Last(const RoundKeys& keys, Vec s) { return s ^ (Vec)keys.k[10]; }
inline Vec Rest(const RoundKeys& keys) { return (Vec)keys.k[0] ^ (Vec)keys.k[10]; }
template <int W, class F>
inline void Rounds(const RoundKeys& keys, const Vec (&first)[W], const Vec (&last)[W], Vec (&out)[W], F between) {
  __m512i x[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) x[i] = (__m512i)first[i];
#pragma GCC unroll 16
  for (int r = 1; r < 10; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) x[i] = _mm512_aesenc_epi128(x[i], keys.k[r]);
    between(r);
  }
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) out[i] = (Vec)_mm512_aesenclast_epi128(x[i], (__m512i)last[i]);
}
template <int W>
inline void Hash(const RoundKeys& keys, const Vec (&in)[W], const Vec (&add)[W], Vec (&out)[W]) {
  Vec x[W], last[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    const Vec s = Sigma(in[i]);
    x[i] = First(keys, s);
    last[i] = (Vec)_mm512_ternarylogic_epi64((__m512i)s, keys.k[10], (__m512i)add[i], 0x96);
  }
  Rounds(keys, x, last, out, [](int) {});
}

// A table of masks. Entry b has all ones in each lane l for which bit l of b is set.
struct LaneMasks {
  alignas(64) uint64_t v[16][8];
};
constexpr LaneMasks MakeLaneMasks() {
  LaneMasks t{};
  for (int b = 0; b < 16; ++b) {
    for (int q = 0; q < 8; ++q) t.v[b][q] = (b >> (q / 2) & 1) ? ~uint64_t{0} : 0;
  }
  return t;
}
inline constexpr LaneMasks kLaneMasks = MakeLaneMasks();

// Masks from a table, indexed by one bit of each of a vector's four points.
class PublicBits {
 public:
  explicit PublicBits(const uint64_t* x) {
    alignas(64) static constexpr uint8_t kBytes[64] = {56, 48, 40, 32, 24, 16, 8,  0, 57, 49, 41, 33, 25, 17, 9,  1,
                                                       58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3,
                                                       60, 52, 44, 36, 28, 20, 12, 4, 61, 53, 45, 37, 29, 21, 13, 5,
                                                       62, 54, 46, 38, 30, 22, 14, 6, 63, 55, 47, 39, 31, 23, 15, 7};
    // Transposes the 8 x 8 bits of byte b of eight points. Byte 8 b + i is bit i of byte b of each point.
    const __m512i turn = _mm512_set1_epi64(int64_t(0x8040201008040201)), order = _mm512_load_si512(kBytes);
    for (int g = 0; g < kWide / 2; ++g) {
      const __m512i bytes = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(x + 8 * g));
      const __m512i bits = _mm512_gf2p8affine_epi64_epi8(turn, bytes, 0), keep = _mm512_set1_epi8(0x78);
      _mm512_store_si512(at_[2 * g], _mm512_and_si512(_mm512_slli_epi16(bits, 3), keep));
      _mm512_store_si512(at_[2 * g + 1], _mm512_and_si512(_mm512_srli_epi16(bits, 1), keep));
    }
  }
  Vec Mask(int w, int bit) const {
    const uint8_t* const table = reinterpret_cast<const uint8_t*>(kLaneMasks.v);
    return (Vec)_mm512_load_si512(table + 8 * size_t{at_[w][bit]});
  }

 private:
  alignas(64) uint8_t at_[kWide][64];
};

}  // namespace

#include "suf/fss/internal/lanes_core.hpp"
