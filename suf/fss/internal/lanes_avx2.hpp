// Vectors of seeds by AES-NI: one seed each, 8 in flight. Included inside a variant's namespace, so it has no guard.
// lanes_portable.hpp describes each function.
#include "suf/fss/internal/aes_avx2.hpp"

namespace {

typedef uint64_t Vec __attribute__((vector_size(16)));
constexpr int kLanes = 1, kWide = 16, kStep = 8;

inline Vec Load(const uint8_t* p) { return (Vec)LoadBlock(p); }
inline void Store(uint8_t* p, Vec x) { StoreBlock(p, (__m128i)x); }
inline Vec Gather(const uint8_t* const* p, size_t at) { return Load(p[0] + at); }
inline void ScatterLines(const Vec* x, uint64_t* to, size_t) {
  for (size_t w = 0; w < 4; ++w) Store(reinterpret_cast<uint8_t*>(to + 2 * w), x[w]);
}
inline Vec Spread(const uint64_t* x) { return Vec{x[0], x[0]}; }
inline Vec LowBit(Vec x) { return (Vec)_mm_shuffle_epi32((__m128i)x, 0x44) & 1; }
inline Vec Swap(Vec x) { return (Vec)_mm_shuffle_epi32((__m128i)x, 0x4e); }
inline Vec BitMask(Vec x, int i) {
  return (Vec)_mm_cmpgt_epi64(_mm_setzero_si128(), _mm_sll_epi64((__m128i)x, _mm_cvtsi32_si128(63 - i)));
}

// Forces all blocks into registers at this point.
inline void Hold(__m128i (&x)[8]) {
  asm("" : "+x"(x[0]), "+x"(x[1]), "+x"(x[2]), "+x"(x[3]), "+x"(x[4]), "+x"(x[5]), "+x"(x[6]), "+x"(x[7]));
}
inline void Hold(__m128i (&x)[4]) { asm("" : "+x"(x[0]), "+x"(x[1]), "+x"(x[2]), "+x"(x[3])); }

inline Vec Sigma(Vec x) { return (Vec)Sigma((__m128i)x); }
inline Vec First(const RoundKeys& keys, Vec s) { return s ^ (Vec)keys.k[0]; }
inline Vec Last(const RoundKeys& keys, Vec s) { return s ^ (Vec)keys.k[10]; }
inline Vec Rest(const RoundKeys& keys) { return (Vec)keys.k[0] ^ (Vec)keys.k[10]; }
template <int W, class F>
inline void Rounds(const RoundKeys& keys, const Vec (&first)[W], const Vec (&last)[W], Vec (&out)[W], F between) {
  // Sixteen registers cannot hold the round keys beside the seeds, so the keys are operands in memory.
  asm volatile("" : : "r"(keys.k) : "memory");
  __m128i x[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) x[i] = (__m128i)first[i];
#pragma GCC unroll 16
  for (int r = 1; r < 10; ++r) {
    Hold(x);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) x[i] = _mm_aesenc_si128(x[i], keys.k[r]);
    between(r);
  }
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) out[i] = (Vec)_mm_aesenclast_si128(x[i], (__m128i)last[i]);
}
template <int W>
inline void Hash(const RoundKeys& keys, const Vec (&in)[W], const Vec (&add)[W], Vec (&out)[W]) {
  // Sixteen registers cannot hold the round keys beside the seeds, so the keys are operands in memory.
  asm volatile("" : : "r"(keys.k) : "memory");
  Vec x[W], last[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    const Vec s = Sigma(in[i]);
    x[i] = First(keys, s);
    last[i] = Last(keys, s) ^ add[i];
  }
  Rounds(keys, x, last, out, [](int) {});
}

}  // namespace

#include "suf/fss/internal/lanes_core.hpp"

namespace {
using PublicBits = SecretBits;  // masks of one bit of all points, which are public
}  // namespace
