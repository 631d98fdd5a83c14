// gemm_bench [variant] [threads]: GMAC/s of every kernel, interleaved with our own float32 FMA kernel of the same
// blocking. One JSON line per figure.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/ring/gemm.hpp"
#include "suf/ring/modular.hpp"

namespace {

using namespace suf;
using namespace suf::ring;

using bench::Now;

template <class T>
struct Case {
  size_t M, K, N;
  std::vector<T> a, c;
  PackedOperand<T> b;
  Case(size_t m, size_t k, size_t n, int weight_bits, int bits, Isa v) : M(m), K(k), N(n), a(m * k), c(m * n) {
    std::mt19937_64 rng(1);
    std::vector<T> w(k * n);
    for (T& x : a) x = T(rng() & Mask(int(8 * sizeof(T)) < bits ? 16 : bits));
    for (T& x : w) x = T(Signed(rng(), weight_bits));
    b = Prepare(w.data(), K, N, N, bits, v);
    exec::Pool one(1);
    Multiply(a.data(), K, M, b, c.data(), N, false, one);
    if constexpr (!std::is_same_v<T, float>) {
      for (size_t i = 0; i < 200; ++i) {  // verify, then time
        const size_t r = rng() % M, q = rng() % N;
        uint64_t s = 0;
        for (size_t j = 0; j < K; ++j) s += uint64_t{a[r * K + j]} * w[j * N + q];
        bench::Verify(c[r * N + q] == T(s & Mask(bits)), "a product");
      }
    }
  }
  double Rate(exec::Pool& pool) {
    const double macs = double(M) * double(K) * double(N);
    const int reps = std::max(1, int(4e8 / macs));
    const double t = Now();
    for (int i = 0; i < reps; ++i) Multiply(a.data(), K, M, b, c.data(), N, false, pool);
    return macs * reps / (Now() - t) / 1e9;
  }
};

template <class T>
void Report(size_t M, size_t K, size_t N, int weight_bits, int bits, Isa v, exec::Pool& pool) {
  Case<T> ours(M, K, N, weight_bits, bits, v);
  Case<float> yardstick(M, K, N, 8, 8, v);
  double best = 0, best_float = 0;
  for (int i = 0; i < 9; ++i) {
    best = std::max(best, ours.Rate(pool));
    best_float = std::max(best_float, yardstick.Rate(pool));
  }
  std::printf(
      "{\"bench\":\"gemm\",\"kernel\":\"%s\",\"shape\":\"%zux%zux%zu\",\"variant\":\"%s\",\"threads\":%d,"
      "\"gmac_per_s\":%.1f,\"float32_gmac_per_s\":%.1f,\"ratio\":%.2f}\n",
      ours.b.kernel(), M, K, N, Name(v), pool.threads(), best, best_float, best / best_float);
  std::fflush(stdout);
}

// Reports an attention product, packed on the fly; B is transposed for scores.
template <class T>
void ReportSmall(size_t n, size_t d, bool scores, int bits, Isa v, exec::Pool& pool) {
  const size_t K = scores ? d : n, N = scores ? n : d;
  std::vector<T> a(n * K, 3), b(n * d, 5), c(n * N);
  const double macs = double(n) * double(K) * double(N);
  auto product = [&] {
    Gemm(n, N, K, a.data(), K, b.data(), d, scores ? MatrixOrder::kTransposed : MatrixOrder::kPlain, c.data(), N, false,
         pool, bits, v);
  };
  product();
  bench::Verify(c[n] == T((15 * K) & Mask(bits)), "a product");
  const double best = macs / bench::BestSeconds(product) / 1e9;
  std::printf(
      "{\"bench\":\"gemm_small\",\"words\":%zu,\"shape\":\"%zux%zux%zu\",\"transposed\":%s,\"variant\":\"%s\","
      "\"threads\":%d,\"gmac_per_s\":%.1f}\n",
      8 * sizeof(T), n, K, N, scores ? "true" : "false", Name(v), pool.threads(), best);
}

}  // namespace

int main(int argc, char** argv) {
  const Isa v = argc > 1 ? VariantNamed(argv[1]) : Best();
  exec::Pool pool(argc > 2 ? std::atoi(argv[2]) : 1);
  constexpr size_t kShapes[][3] = {{3, 384, 384},   {32, 384, 384},   {32, 384, 768},  {32, 384, 1536},
                                   {32, 1536, 384}, {128, 384, 1536}, {256, 1536, 384}};
  for (auto [M, K, N] : kShapes) {
    Report<uint32_t>(M, K, N, 16, 32, v, pool);
    Report<uint32_t>(M, K, N, 32, 32, v, pool);
    Report<uint16_t>(M, K, N, 16, 16, v, pool);
    Report<uint64_t>(M, K, N, 64, 52, v, pool);
    Report<uint64_t>(M, K, N, 64, 64, v, pool);
  }
  Report<uint16_t>(32, 30522, 384, 16, 16, v, pool);
  for (size_t n : {32, 128}) {
    for (bool scores : {true, false}) {
      ReportSmall<uint32_t>(n, 32, scores, 32, v, pool);
      ReportSmall<uint64_t>(n, 32, scores, 48, v, pool);
    }
  }
}
