// Matrix products with AVX2: vpmulld, three vpmuludq for 64 bits, vpmaddwd for 16-bit pairs;
// one of each for 48 bits.
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
struct By64 : Int256 {
  static Vec Broadcast(const uint8_t* p) {
    int64_t x;
    __builtin_memcpy(&x, p, 8);
    return _mm256_set1_epi64x(x);
  }
};

struct U32 : Plain<uint32_t>, By32 {
  static constexpr const char* kName = "u32";
  static Vec Step(Vec c, Vec a, Vec b) { return _mm256_add_epi32(c, _mm256_mullo_epi32(a, b)); }
};
struct U64 : Plain<uint64_t>, By64 {
  static constexpr const char* kName = "u64";
  static constexpr int kMaxRows = 4;
  static Vec Step(Vec c, Vec a, Vec b) {
    const Vec cross =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(c, _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32)));
  }
};
struct U64Mod48 : Halves48, By64 {
  static constexpr int kMaxRows = 2;
  struct Sum {
    Vec low, high;  // high: of each lane only the upper half is meant
  };
  static Sum Zero() { return {By64::Zero(), By64::Zero()}; }
  static Sum Step(Sum c, Vec a, Vec b) {
    return {_mm256_add_epi64(c.low, _mm256_mul_epu32(a, b)), _mm256_add_epi32(c.high, _mm256_madd_epi16(a, b))};
  }
  static void Store(uint64_t* p, Sum c) {
    By64::Store(p, _mm256_add_epi64(c.low, _mm256_and_si256(c.high, _mm256_set1_epi64x(~0xffff'ffffLL))));
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

const GemmKernel kGemm[internal::kGemmKinds] = {Gemm<U16>::Kernel(),      Gemm<U32>::Kernel(),
                                                Gemm<U32Small>::Kernel(), Gemm<U64>::Kernel(),
                                                Gemm<U64>::Kernel(),      Gemm<U64Mod48>::Kernel(Gemm<U64>::Dots),
                                                Gemm<F32>::Kernel()};

}  // namespace suf::ring::avx2
