#include "suf/ring/gemm.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "suf/ring/modular.hpp"

namespace suf::ring {
namespace {

template <class T>
struct Problem {  // leading dimensions exceed the matrices; memory outside must not change
  size_t M, N, K, lda, ldb, ldc;
  std::vector<T> a, b, c;
  Problem(size_t m, size_t n, size_t k, bool small, bool transposed, std::mt19937_64& rng)
      : M(m), N(n), K(k), lda(k + 3), ldb((transposed ? k : n) + 1), ldc(n + 5) {
    a.resize(M * lda);
    b.resize((transposed ? N : K) * ldb);
    c.resize(M * ldc);
    auto extreme = [&](T random) {  // limbs of 0x8000 and 0xffff break a wrong split
      const T kinds[] = {random, random, random, T(0x8000800080008000), T(-1), T(0x7fff7fff7fff7fff)};
      return kinds[rng() % 6];
    };
    for (T& x : a) x = extreme(T(rng()));
    for (T& x : c) x = T(rng());
    for (T& x : b) x = small ? T(int64_t(int16_t(rng() % 5 ? rng() : 0x8000))) : extreme(T(rng()));
  }
  std::vector<T> Want(bool accumulate, int bits, bool transposed) const {
    std::vector<T> w = c;
    for (size_t m = 0; m < M; ++m) {
      for (size_t n = 0; n < N; ++n) {
        uint64_t s = accumulate ? c[m * ldc + n] : 0;
        for (size_t k = 0; k < K; ++k) s += uint64_t{a[m * lda + k]} * b[transposed ? n * ldb + k : k * ldb + n];
        w[m * ldc + n] = T(s & Mask(bits));
      }
    }
    return w;
  }
};

template <class T>
class GemmTest : public testing::Test {};
using GemmWords = testing::Types<uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(GemmTest, GemmWords);

TYPED_TEST(GemmTest, EveryVariantEqualsTheDefinition) {
  using T = TypeParam;
  std::mt19937_64 rng(2);
  exec::Pool one(1), three(3);
  for (Isa v : Supported()) {
    for (int trial = 0; trial < 120; ++trial) {
      const size_t M = 1 + rng() % (trial % 3 ? 14 : 50), N = 1 + rng() % 150,
                   K = trial % 10 ? rng() % 70 : 1 + rng() % 1700;
      const bool small = rng() % 2, accumulate = rng() % 2;
      const int bits = rng() % 2 ? int(8 * sizeof(T)) : int(1 + rng() % (8 * sizeof(T)));
      Problem<T> p(M, N, K, small, false, rng), q(M, N, K, small, true, rng);
      exec::Pool& pool = trial % 2 ? one : three;
      auto want = p.Want(accumulate, bits, false);
      auto got = p.c;
      const auto prepared = Prepare(p.b.data(), K, N, p.ldb, bits, v);
      EXPECT_EQ(prepared.variant(), v);
      Multiply(p.a.data(), p.lda, M, prepared, got.data(), p.ldc, accumulate, pool);
      ASSERT_EQ(got, want) << Name(v) << " " << prepared.kernel() << " " << M << "x" << K << "x" << N << " bits "
                           << bits;
      got = p.c;
      Gemm(M, N, K, p.a.data(), p.lda, p.b.data(), p.ldb, MatrixOrder::kPlain, got.data(), p.ldc, accumulate, pool,
           bits, v);
      ASSERT_EQ(got, want) << Name(v) << " on the fly";
      got = q.c;
      Gemm(M, N, K, q.a.data(), q.lda, q.b.data(), q.ldb, MatrixOrder::kTransposed, got.data(), q.ldc, accumulate, pool,
           bits, v);
      ASSERT_EQ(got, q.Want(accumulate, bits, true)) << Name(v) << " transposed";
    }
  }
}

TEST(GemmKernels, TheSmallKernelIsTakenExactlyWhenItMay) {
  if (!Supports(Isa::kAvx2)) return;
  std::vector<uint32_t> b = {0, 1, 0x7fff, 0xffff8000};
  EXPECT_STREQ(Prepare(b.data(), 2, 2, 2, 32, Isa::kAvx2).kernel(), "u32 x i16");
  for (uint32_t beyond : {0x8000u, 0xffff7fffu}) {
    b[1] = beyond;
    EXPECT_STREQ(Prepare(b.data(), 2, 2, 2, 32, Isa::kAvx2).kernel(), "u32");
  }
}

}  // namespace
}  // namespace suf::ring
