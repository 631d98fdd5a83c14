// dpf_bench [variant]: key pairs, comparisons, windows, whole domains and dense reads per second on one core. Each
// comes with the fraction of AES in registers only that it reaches. Comparisons from memory come with the fraction of
// the slower of AES and reading the keys. Prints JSON lines.
#include <random>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/internal/bench_bound.hpp"

namespace suf::fss {
namespace {

struct Keys {
  DpfContext ctx;
  Isa v;
  size_t count;
  std::vector<uint64_t> alpha, x;
  Bytes root[2], cw;
  Keys(int n, size_t keys, Isa variant, std::mt19937_64& rng)
      : ctx{{1, 2, 3}, 7, n}, v(variant), count(keys), alpha(keys), x(keys), cw(DpfKeyBytes(n) * keys) {
    for (Bytes& r : root) {
      r.resize(16 * keys);
      for (uint8_t& b : r) b = uint8_t(rng());
    }
    for (size_t i = 0; i < keys; ++i) {
      alpha[i] = rng() >> (64 - n);
      x[i] = alpha[i] + i % 3 - 1;
    }
    Gen();
  }
  void Gen() { DpfGen(ctx, alpha.data(), root[0].data(), root[1].data(), count, cw.data(), v); }
  void Parity(int p, uint64_t* out) const { DpfParity(ctx, p, root[p].data(), cw.data(), x.data(), count, 1, out, v); }
  void Window(int p, const uint64_t* lo, int m, uint64_t* out) const {
    DpfWindow(ctx, p, root[p].data(), cw.data(), 0, lo, count, m, out, v);
  }
};

void Print(const char* name, const Keys& k, int m, double seconds, double blocks, const bench::KernelTimes& t) {
  std::printf(
      "{\"bench\":\"%s\",\"n\":%d,\"m\":%d,\"variant\":\"%s\",\"keys\":%zu,\"key_bytes\":%zu,\"m_keys_per_s\":%.3f,"
      "\"aes_blocks\":%.0f,\"g_aes_per_s\":%.2f,\"of_aes\":%.2f}\n",
      name, k.ctx.n, m, ring::Name(k.v), k.count, DpfKeyBytes(k.ctx.n), 1e-6 / seconds, blocks, 1e-9 / t.block,
      t.block * blocks / seconds);
}

void VerifyParity(const Keys& k) {
  std::vector<uint64_t> out[2] = {std::vector<uint64_t>(k.count), std::vector<uint64_t>(k.count)};
  for (int p : {0, 1}) k.Parity(p, out[p].data());
  const uint64_t mask = ~uint64_t{0} >> (64 - k.ctx.n);
  for (size_t i = 0; i < k.count; ++i)
    suf::bench::Verify((out[0][i] ^ out[1][i]) == ((k.x[i] & mask) < k.alpha[i]), "a comparison");
}

void Paths(int n, Isa v, std::mt19937_64& rng) {
  Keys k(n, 512, v, rng);
  VerifyParity(k);
  const double count = double(k.count);
  const bench::KernelTimes gen(v, [&] { k.Gen(); });
  Print("dpf_gen", k, 0, gen.kernel / count, 2 * (n - 8) + 4, gen);
  std::vector<uint64_t> out(k.count * 4), other(k.count * 4);
  const bench::KernelTimes parity(v, [&] { k.Parity(0, out.data()); });
  Print("dpf_parity", k, 1, parity.kernel / count, n - 7, parity);
  for (int m : {1, 64, 256}) {
    std::vector<uint64_t> lo(k.count);
    for (size_t i = 0; i < k.count; ++i) lo[i] = k.alpha[i] - rng() % 64;
    k.Window(0, lo.data(), m, out.data());
    k.Window(1, lo.data(), m, other.data());
    const size_t words = size_t(m + 63) / 64;
    for (size_t i = 0; i < k.count; ++i) {
      const uint64_t at = k.alpha[i] - lo[i], hit = at < uint64_t(m) ? uint64_t{1} << at : 0;
      suf::bench::Verify((out[i * words] ^ other[i * words]) == hit, "a window");
    }
    const bench::KernelTimes window(v, [&] { k.Window(0, lo.data(), m, out.data()); });
    Print("dpf_window", k, m, window.kernel / count, n - 8 + double(size_t(m + 126) / 128 + 1), window);  // at least
  }
}

// Reads one part after the other of a batch that exceeds every cache.
void FromMemory(Isa v, std::mt19937_64& rng) {
  const bool slow = v == Isa::kPortable;
  const Keys k(64, slow ? 4096 : 262144, v, rng);
  VerifyParity(k);
  const size_t part = slow ? 128 : 4096, bytes = part * DpfKeyBytes(64);
  std::vector<uint64_t> out(part);
  volatile uint64_t sink = 0;
  size_t at = 0, read_at = k.count / 2;
  const auto parity = [&] {
    DpfContext ctx = k.ctx;
    ctx.first_tile = at / kDpfTile;
    DpfParity(ctx, 0, &k.root[0][16 * at], &k.cw[at * DpfKeyBytes(64)], &k.x[at], part, 1, out.data(), v);
    at = (at + part) % k.count;
  };
  const auto read = [&] {
    typedef uint64_t V __attribute__((vector_size(16)));
    V sum[8] = {}, x;
    const uint8_t* const p = &k.cw[read_at * DpfKeyBytes(64)];
    for (size_t i = 0; i + 128 <= bytes; i += 128)
      for (size_t j = 0; j < 8; ++j) {
        __builtin_memcpy(&x, p + i + 16 * j, 16);
        sum[j] ^= x;
      }
    for (size_t j = 1; j < 8; ++j) sum[0] ^= sum[j];
    sink = sum[0][0];
    read_at = (read_at + part) % k.count;
  };
  const bench::KernelTimes t(v, parity, read);
  const double seconds = t.kernel / double(part), bound = std::max(57 * t.block, t.other / double(part));
  std::printf(
      "{\"bench\":\"dpf_parity_from_memory\",\"n\":64,\"variant\":\"%s\",\"keys\":%zu,\"m_keys_per_s\":%.2f,"
      "\"read_gb_per_s\":%.1f,\"of_aes\":%.2f,\"of_bound\":%.2f}\n",
      ring::Name(v), k.count, 1e-6 / seconds, 1e-9 * double(bytes) / t.other, 57 * t.block / seconds, bound / seconds);
}

void Domains(int n, Isa v, std::mt19937_64& rng) {
  Keys k(n, 64, v, rng);
  const size_t words = size_t{1} << (n - 6);
  std::vector<uint64_t> lo(k.count), out[2];
  for (int p : {0, 1}) {
    out[p].resize(words * k.count);
    k.Window(p, lo.data(), 1 << n, out[p].data());
  }
  for (size_t i = 0; i < words * k.count; ++i) {
    const uint64_t a = k.alpha[i / words];
    suf::bench::Verify((out[0][i] ^ out[1][i]) == (a / 64 == i % words ? uint64_t{1} << (a % 64) : 0), "a domain");
  }
  const double blocks = double((1 << (n - 8)) - 1 + (1 << (n - 7)));
  const bench::KernelTimes t(v, [&] { k.Window(0, lo.data(), 1 << n, out[0].data()); });
  Print("dpf_domain", k, 1 << n, t.kernel / double(k.count), blocks, t);
  for (int bits : {1, 16, 64}) {
    const std::vector<uint64_t> table(size_t{1} << n, ~uint64_t{0} >> (64 - bits));
    const bench::KernelTimes dense(v, [&] {
      DpfDense(k.ctx, 0, k.root[0].data(), k.cw.data(), k.x.data(), table.data(), k.count, out[0].data(), v);
    });
    Print("dpf_dense", k, bits, dense.kernel / double(k.count), blocks, dense);
  }
}

}  // namespace
}  // namespace suf::fss

int main(int argc, char** argv) {
  using namespace suf::fss;
  const Isa v = argc > 1 ? suf::ring::VariantNamed(argv[1]) : suf::ring::Best();
  std::mt19937_64 rng(1);
  for (int n : {16, 32, 64}) Paths(n, v, rng);
  FromMemory(v, rng);
  for (int n : {12, 16}) Domains(n, v, rng);
}
