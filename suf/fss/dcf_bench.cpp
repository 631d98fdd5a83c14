// dcf_bench [variant]: key pairs and evaluations of comparison functions per second on one core. Each comes with the
// fraction of AES in registers only that it reaches. Prints JSON lines.
#include <random>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/fss/dcf.hpp"
#include "suf/fss/internal/bench_bound.hpp"

namespace suf::fss {
namespace {

void Run(int n, int words, int bits, Isa v, std::mt19937_64& rng) {
  constexpr size_t kCount = 256;
  const DcfContext ctx{{1, 2, 3}, 7, n, words, bits};
  const size_t key_bytes = ElementBytes(int(DcfKeyBits(n, words, bits))), payload = size_t(words) * kCount;
  std::vector<uint64_t> alpha(kCount), x(kCount), beta(payload), out[2];
  Bytes root[2] = {Bytes(16 * kCount), Bytes(16 * kCount)}, key(key_bytes * kCount);
  for (Bytes& r : root)
    for (uint8_t& b : r) b = uint8_t(rng());
  const uint64_t mask = ~uint64_t{0} >> (64 - bits), range = ~uint64_t{0} >> (64 - n);
  for (uint64_t& b : beta) b = rng() & mask;
  for (size_t i = 0; i < kCount; ++i) {
    alpha[i] = rng() & range;
    x[i] = (alpha[i] + i % 3 - 1) & range;
  }
  auto gen = [&] { DcfGen(ctx, alpha.data(), beta.data(), root[0].data(), root[1].data(), kCount, key.data(), v); };
  auto eval = [&](int p) { DcfEval(ctx, p, root[p].data(), key.data(), x.data(), kCount, 1, out[p].data(), v); };
  gen();
  for (int p : {0, 1}) {
    out[p].resize(payload);
    eval(p);
  }
  for (size_t q = 0; q < payload; ++q)
    suf::bench::Verify(((out[0][q] + out[1][q]) & mask) == (x[q % kCount] < alpha[q % kCount] ? beta[q] : 0),
                       "a share");
  const int slots = bits <= 32 ? 4 : 2, blocks = (words + slots - 1) / slots,
            both = 2 * words <= slots ? 1 : 2 * blocks;
  auto print = [&](const char* name, double aes, const bench::KernelTimes& t) {
    std::printf(
        "{\"bench\":\"%s\",\"n\":%d,\"words\":%d,\"bits\":%d,\"variant\":\"%s\",\"key_bytes\":%zu,\"m_keys_per_s\":%."
        "3f,"
        "\"aes_blocks\":%.0f,\"of_aes\":%.2f}\n",
        name, n, words, bits, ring::Name(v), key_bytes, 1e-6 * kCount / t.kernel, aes,
        t.block * aes * kCount / t.kernel);
  };
  print("dcf_gen", 2.0 * n * (2 + both) + 2 * blocks, bench::KernelTimes(v, gen));
  print("dcf_eval", double(n) * (1 + blocks) + blocks, bench::KernelTimes(v, [&] { eval(0); }));
}

}  // namespace
}  // namespace suf::fss

int main(int argc, char** argv) {
  using namespace suf::fss;
  const Isa v = argc > 1 ? suf::ring::VariantNamed(argv[1]) : suf::ring::Best();
  std::mt19937_64 rng(1);
  for (auto [n, words, bits] : {std::array<int, 3>{32, 1, 32}, {32, 4, 32}, {64, 1, 64}, {64, 4, 64}})
    Run(n, words, bits, v, rng);
}
