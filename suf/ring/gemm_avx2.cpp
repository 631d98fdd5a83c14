// Matrix products with AVX2: vpmulld, with vpmuludq for 64 bits, vpmaddwd for 16-bit pairs.
#include <immintrin.h>

#include <utility>

#include "suf/ring/internal/gemm_kernels.hpp"

namespace suf::ring::avx2 {
#include "suf/ring/internal/gemm_core.hpp"

namespace {

struct Int256 {
  using Vec = __m256i;
  using Sum = Vec;
  static constexpr int kVectors = 2;
  static Vec Zero() { return _mm256_setzero_si256(); }
  static Vec Load(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const Vec*>(p)); }
  static void Store(void* p, Vec v) { _mm256_store_si256(static_cast<Vec*>(p), v); }
};
struct By32 : Int256 {
  static constexpr int kMaxRows = 6;
  static Vec Broadcast(const uint8_t* p) {
    int x;
    __builtin_memcpy(&x, p, 4);
    return _mm256_set1_epi32(x);
  }
};

struct U32 : Plain<uint32_t>, By32 {
  static constexpr const char* kName = "u32";
  static Vec Step(Vec c, Vec a, Vec b) { return _mm256_add_epi32(c, _mm256_mullo_epi32(a, b)); }
};
// A product is the whole product of the low halves, plus 2^32 times the low halves of both crossed products. One
// vpmulld with swapped halves makes the crossed products. They are joined at the end.
struct U64 : Plain<uint64_t>, Int256 {
  static constexpr const char* kName = "u64";
  static constexpr int kMaxRows = 3;
  struct Sum {
    Vec low, crossed;
  };
  static Sum Zero() { return {Int256::Zero(), Int256::Zero()}; }
  static Vec Broadcast(const uint8_t* p) {
    int64_t x;
    __builtin_memcpy(&x, p, 8);
    return _mm256_set1_epi64x(x);
  }
  static Vec Swapped(Vec x) { return _mm256_shuffle_epi32(x, 0xb1); }
  static Sum Step(Sum c, Vec a, Vec b) {
    c.low = _mm256_add_epi64(c.low, _mm256_mul_epu32(a, b));
    c.crossed = _mm256_add_epi32(c.crossed, _mm256_mullo_epi32(a, Swapped(b)));
    asm("" : "+x"(c.low), "+x"(c.crossed));  // otherwise g++ begins all steps at once and spills sums
    return c;
  }
  static void Store(uint64_t* p, Sum c) {
    const Vec high = _mm256_add_epi32(c.crossed, Swapped(c.crossed));
    Int256::Store(p, _mm256_add_epi64(c.low, _mm256_slli_epi64(high, 32)));
  }
};
struct U16 : Pairs16, By32 {
  static Vec Step(Vec c, Vec a, Vec b) { return _mm256_add_epi32(c, _mm256_madd_epi16(a, b)); }
};
struct U32Small : PairsSmall, By32 {
  static constexpr int kMaxRows = 3;
  static Vec Step(Vec c, Vec a, Vec b) { return _mm256_add_epi32(c, _mm256_madd_epi16(a, b)); }
};
struct F32 : Plain<float> {
  static constexpr const char* kName = "f32";
  static constexpr bool kMasks = false;
  static constexpr int kMaxRows = 6, kVectors = 2;
  using Vec = __m256;
  using Sum = Vec;
  static Vec Zero() { return _mm256_setzero_ps(); }
  static Vec Load(const uint8_t* p) { return _mm256_load_ps(reinterpret_cast<const float*>(p)); }
  static void Store(float* p, Vec v) { _mm256_store_ps(p, v); }
  static Vec Broadcast(const uint8_t* p) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(p)); }
  static Vec Step(Vec c, Vec a, Vec b) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

const GemmKernel kGemm[internal::kGemmKinds] = {Gemm<U16>::Kernel(), Gemm<U32>::Kernel(), Gemm<U32Small>::Kernel(),
                                                Gemm<U64>::Kernel(), Gemm<U64>::Kernel(), Gemm<F32>::Kernel()};

}  // namespace suf::ring::avx2
