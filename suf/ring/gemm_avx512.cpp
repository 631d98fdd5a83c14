// Matrix products with AVX-512: vpmulld, vpmullq, IFMA for 52 bits, VNNI for 16-bit pairs. A block is 12 rows by 2
// vectors.
#include <immintrin.h>

#include <utility>

#include "suf/ring/internal/gemm_kernels.hpp"

namespace suf::ring::avx512 {
#include "suf/ring/internal/gemm_core.hpp"

namespace {

struct Int512 {
  using Vec = __m512i;
  using Sum = Vec;
  static constexpr int kVectors = 2;
  static Vec Zero() { return _mm512_setzero_si512(); }
  static Vec Load(const uint8_t* p) { return _mm512_load_si512(p); }
  static void Store(void* p, Vec v) { _mm512_store_si512(p, v); }
};
struct By32 : Int512 {
  static constexpr int kMaxRows = 12;
  static Vec Broadcast(const uint8_t* p) {
    int x;
    __builtin_memcpy(&x, p, 4);
    return _mm512_set1_epi32(x);
  }
};
struct By64 : Int512 {
  static constexpr int kMaxRows = 12;
  static Vec Broadcast(const uint8_t* p) {
    int64_t x;
    __builtin_memcpy(&x, p, 8);
    return _mm512_set1_epi64(x);
  }
};

struct U32 : Plain<uint32_t>, By32 {
  static constexpr const char* kName = "u32";
  static Vec Step(Vec c, Vec a, Vec b) { return _mm512_add_epi32(c, _mm512_mullo_epi32(a, b)); }
};
struct U64 : Plain<uint64_t>, By64 {
  static constexpr const char* kName = "u64";
  static Vec Step(Vec c, Vec a, Vec b) {
    Vec t = _mm512_mullo_epi64(a, b);
    asm("" : "+v"(t));  // otherwise g++ splits the product into 32-bit ones
    return _mm512_add_epi64(c, t);
  }
};
struct U64Mod52 : Plain<uint64_t>, By64 {
  static constexpr const char* kName = "u64 mod 2^52";
  static Vec Step(Vec c, Vec a, Vec b) { return _mm512_madd52lo_epu64(c, a, b); }
};
struct U16 : Pairs16, By32 {
  static Vec Step(Vec c, Vec a, Vec b) { return _mm512_dpwssd_epi32(c, a, b); }
};
struct U32Small : PairsSmall, By32 {
  static constexpr int kMaxRows = 6;
  static Vec Step(Vec c, Vec a, Vec b) { return _mm512_dpwssd_epi32(c, a, b); }
};
struct F32 : Plain<float> {
  static constexpr const char* kName = "f32";
  static constexpr bool kMasks = false;
  static constexpr int kMaxRows = 12, kVectors = 2;
  using Vec = __m512;
  using Sum = Vec;
  static Vec Zero() { return _mm512_setzero_ps(); }
  static Vec Load(const uint8_t* p) { return _mm512_load_ps(p); }
  static void Store(float* p, Vec v) { _mm512_store_ps(p, v); }
  static Vec Broadcast(const uint8_t* p) {
    float x;
    __builtin_memcpy(&x, p, 4);
    return _mm512_set1_ps(x);
  }
  static Vec Step(Vec c, Vec a, Vec b) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

const GemmKernel kGemm[internal::kGemmKinds] = {Gemm<U16>::Kernel(), Gemm<U32>::Kernel(),      Gemm<U32Small>::Kernel(),
                                                Gemm<U64>::Kernel(), Gemm<U64Mod52>::Kernel(), Gemm<F32>::Kernel()};

}  // namespace suf::ring::avx512
