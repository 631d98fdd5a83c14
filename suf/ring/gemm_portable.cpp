// Matrix products, baseline: the compiler's own 16-byte vectors.
#include <utility>

#include "suf/ring/internal/gemm_kernels.hpp"

namespace suf::ring::portable {
#include "suf/ring/internal/gemm_core.hpp"

namespace {

template <class E>
struct Baseline : Plain<E> {
  typedef E Vec __attribute__((vector_size(16)));
  using Sum = Vec;
  static constexpr int kMaxRows = 4, kVectors = 2;
  static constexpr bool kMasks = E(0.5) == E(0);
  static constexpr const char* kName = kMasks ? (sizeof(E) == 2 ? "u16" : sizeof(E) == 4 ? "u32" : "u64") : "f32";
  static Vec Zero() { return Vec{}; }
  static Vec Load(const uint8_t* p) { return *reinterpret_cast<const Vec*>(p); }
  static void Store(E* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
  static Vec Broadcast(const uint8_t* p) {
    E x;
    __builtin_memcpy(&x, p, sizeof x);
    return x - Vec{};
  }
  static Vec Step(Vec c, Vec a, Vec b) { return c + a * b; }
};

}  // namespace

const GemmKernel kGemm[internal::kGemmKinds] = {Gemm<Baseline<uint16_t>>::Kernel(), Gemm<Baseline<uint32_t>>::Kernel(),
                                                Gemm<Baseline<uint32_t>>::Kernel(), Gemm<Baseline<uint64_t>>::Kernel(),
                                                Gemm<Baseline<uint64_t>>::Kernel(), Gemm<Baseline<float>>::Kernel()};

}  // namespace suf::ring::portable
