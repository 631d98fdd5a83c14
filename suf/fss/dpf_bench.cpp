// dpf_bench [variant]: key pairs and windows a second on one core, with the fraction of AES in registers only. JSON
// lines.
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/bytes.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

int main(int argc, char** argv) {
  using namespace suf;
  using namespace suf::fss;
  const Variant v = argc > 1 ? ring::VariantNamed(argv[1]) : ring::Best();
  const internal::AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
  const auto& aes = *ring::Pick(kTable, v);
  volatile uint64_t sink = 0;
  const uint64_t blocks = v == Variant::kPortable ? 4000 : 40000;
  const double bound = bench::BestSeconds([&] { sink = aes.bound(blocks); }) / double(blocks);
  constexpr size_t kCount = 256;
  std::mt19937_64 rng(1);
  Bytes root[2] = {Bytes(16 * kCount), Bytes(16 * kCount)};
  for (Bytes& r : root) {
    for (uint8_t& b : r) b = uint8_t(rng());
  }
  for (int n : {16, 32, 64}) {
    const DpfContext ctx{{1, 2, 3}, 7, n};
    std::vector<uint64_t> alpha(kCount), lo(kCount);
    for (size_t i = 0; i < kCount; ++i) alpha[i] = rng() >> (64 - n), lo[i] = alpha[i] - rng() % 64;
    Bytes cw(DpfKeyBytes(n) * kCount);
    auto gen = [&] { DpfGen(ctx, alpha.data(), root[0].data(), root[1].data(), kCount, cw.data(), v); };
    gen();
    const double g = bench::BestSeconds(gen) / kCount;
    std::printf(
        "{\"bench\":\"dpf_gen\",\"n\":%d,\"variant\":\"%s\",\"m_pairs_per_s\":%.2f,\"key_bytes\":%zu,\"of_aes\":%.2f}"
        "\n",
        n, ring::Name(v), 1e-6 / g, DpfKeyBytes(n), bound * (2 * (n - 8) + 4) / g);
    for (int m : {1, 64, 256}) {
      const size_t words = size_t(m + 63) / 64;
      std::vector<uint64_t> out[2] = {std::vector<uint64_t>(words * kCount), std::vector<uint64_t>(words * kCount)};
      auto window = [&](int p) {
        DpfWindow(ctx, p, root[p].data(), cw.data(), 0, lo.data(), kCount, m, out[p].data(), v);
      };
      window(0), window(1);
      for (size_t i = 0; i < kCount; ++i) {
        const uint64_t at = alpha[i] - lo[i], hit = at < uint64_t(m) ? uint64_t{1} << at : 0;
        bench::Verify((out[0][i * words] ^ out[1][i * words]) == hit, "a window");
      }
      const double w = bench::BestSeconds([&] { window(0); }) / kCount;
      const double calls = n - 8 + double(size_t(m + 126) / 128 + 1);  // at least
      std::printf(
          "{\"bench\":\"dpf_window\",\"n\":%d,\"m\":%d,\"variant\":\"%s\",\"m_keys_per_s\":%.2f,\"of_aes\":%.2f}\n", n,
          m, ring::Name(v), 1e-6 / w, bound * calls / w);
    }
  }
}
