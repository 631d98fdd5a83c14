// myl7_bench [variant]: 64-bit comparisons of this library and of myl7/fss on one core, in turns. It reports
// evaluations and key pairs per second and the bytes of a party's key. One line is for our DCF, with their payload, a
// word of 64 bits. One line is for our comparison, a prefix parity, whose result is a bit. Each is compared with both
// of their PRGs that use AES instructions, OpenSSL's and intrinsics. Theirs runs in its own structures. Shares are
// verified before timing. Prints JSON lines.
#include <cuda/std/span>
#include <fss/dcf.cuh>
#include <fss/prg/aes128_mmo.cuh>
#include <fss/prg/aes128_mmo_raw.cuh>
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/bytes.hpp"
#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"

namespace suf::reference {
namespace {

constexpr size_t kCount = 256;
constexpr int kBits = 64;
using OverOpenSsl = ::fss::prg::Aes128Mmo<4>;
using Intrinsics = ::fss::prg::Aes128MmoRaw<4>;
template <class Prg>
using Dcf = ::fss::Dcf<kBits, ::fss::group::Uint<uint64_t>, Prg, uint64_t>;
// Without the seed, which is PRG output, as in our keys.
constexpr size_t kTheirBytes = (kBits + 1) * sizeof(Dcf<Intrinsics>::Cw);

struct Inputs {
  std::vector<uint64_t> alpha, x, beta;
  Bytes root[2];
  explicit Inputs(std::mt19937_64& rng) {
    for (size_t i = 0; i < kCount; ++i) {
      alpha.push_back(rng());
      x.push_back(alpha[i] + i % 3 - 1);
      beta.push_back(rng());
      for (Bytes& r : root)
        for (int j = 0; j < 16; ++j) r.push_back(uint8_t(rng()));
    }
  }
  uint64_t Want(size_t i) const { return x[i] < alpha[i] ? beta[i] : 0; }
};

template <class Prg>
struct ForeignLibrary {
  const Inputs& in;
  const char* name;
  Dcf<Prg> dcf;
  std::vector<std::array<typename Dcf<Prg>::Cw, kBits + 1>> key{kCount};
  std::vector<uint64_t> out[2] = {std::vector<uint64_t>(kCount), std::vector<uint64_t>(kCount)};
  // Runs before anything is timed.
  void Verify() {
    Gen();
    Eval(0);
    Eval(1);
    for (size_t i = 0; i < kCount; ++i) bench::Verify(out[0][i] + out[1][i] == in.Want(i), "their share");
  }
  int4 Seed(int p, size_t i) const {
    int4 s;
    std::memcpy(&s, in.root[p].data() + 16 * i, 16);
    return s;
  }
  void Gen() {
    for (size_t i = 0; i < kCount; ++i) {
      const int4 seeds[2] = {Seed(0, i), Seed(1, i)};
      dcf.Gen(key[i].data(), seeds, in.alpha[i], {int(uint32_t(in.beta[i])), int(uint32_t(in.beta[i] >> 32)), 0, 0});
    }
  }
  void Eval(int p) {
    for (size_t i = 0; i < kCount; ++i) {
      const int4 y = dcf.Eval(p == 1, Seed(p, i), key[i].data(), in.x[i]);
      out[p][i] = uint32_t(y.x) | uint64_t(uint32_t(y.y)) << 32;
    }
  }
};

// Returns the seconds of one call of each, the best of 300 in turns. A call is shorter than a scheduler's time slice.
template <class F, class G>
std::array<double, 2> Best(F ours, G theirs) {
  std::array<double, 2> best{1e300, 1e300};
  auto slice = [](double& least, auto& f) {
    const double t = bench::Now();
    f();
    least = std::min(least, bench::Now() - t);
  };
  for (int i = 0; i < 300; ++i) {
    slice(best[0], ours);
    slice(best[1], theirs);
  }
  return best;
}

template <class Prg, class Gen, class Eval>
void Print(const char* what, ring::Isa v, size_t bytes, ForeignLibrary<Prg>& theirs, Gen gen, Eval eval) {
  const auto make = Best(gen, [&] { theirs.Gen(); });
  const auto read = Best(eval, [&] { theirs.Eval(0); });
  auto rate = [](double seconds) { return 1e-6 * kCount / seconds; };
  std::printf(
      "{\"bench\":\"beside_myl7\",\"what\":\"%s\",\"n\":%d,\"variant\":\"%s\",\"myl7_prg\":\"%s\",\"m_evals_per_s\":%."
      "3f,"
      "\"myl7_m_evals_per_s\":%.3f,\"evals_ratio\":%.2f,\"m_pairs_per_s\":%.3f,\"myl7_m_pairs_per_s\":%.3f,"
      "\"pairs_ratio\":%.2f,\"key_bytes\":%zu,\"myl7_key_bytes\":%zu,\"key_ratio\":%.3f}\n",
      what, kBits, ring::Name(v), theirs.name, rate(read[0]), rate(read[1]), read[1] / read[0], rate(make[0]),
      rate(make[1]), make[1] / make[0], bytes, kTheirBytes, double(bytes) / double(kTheirBytes));
}

void Run(ring::Isa v) {
  std::mt19937_64 rng(1);
  const Inputs in(rng);
  uint8_t keys[4][16];
  for (auto& k : keys)
    for (uint8_t& b : k) b = uint8_t(rng());
  const unsigned char* pointers[4] = {keys[0], keys[1], keys[2], keys[3]};
  auto contexts = OverOpenSsl::CreateCtxs(pointers);
  ForeignLibrary<OverOpenSsl> slow{in, "openssl", {OverOpenSsl(contexts)}};
  ForeignLibrary<Intrinsics> fast{in, "intrinsics", {Intrinsics(keys)}};
  slow.Verify();
  fast.Verify();
  const uint8_t* const root[2] = {in.root[0].data(), in.root[1].data()};
  std::vector<uint64_t> out[2] = {std::vector<uint64_t>(kCount), std::vector<uint64_t>(kCount)};
  {
    const fss::DcfContext ctx{{1, 2, 3}, 7, kBits, 1, 64};
    Bytes key(fss::ElementBytes(int(fss::DcfKeyBits(kBits, 1, 64))) * kCount);
    auto gen = [&] { fss::DcfGen(ctx, in.alpha.data(), in.beta.data(), root[0], root[1], kCount, key.data(), v); };
    auto eval = [&](int p) { fss::DcfEval(ctx, p, root[p], key.data(), in.x.data(), kCount, 1, out[p].data(), v); };
    gen();
    eval(0);
    eval(1);
    for (size_t i = 0; i < kCount; ++i) bench::Verify(out[0][i] + out[1][i] == in.Want(i), "a share");
    Print("dcf", v, key.size() / kCount, slow, gen, [&] { eval(0); });
    Print("dcf", v, key.size() / kCount, fast, gen, [&] { eval(0); });
  }
  {
    const fss::DpfContext ctx{{1, 2, 3}, 7, kBits};
    Bytes key(fss::DpfKeyBytes(kBits) * kCount);
    auto gen = [&] { fss::DpfGen(ctx, in.alpha.data(), root[0], root[1], kCount, key.data(), v); };
    auto eval = [&](int p) { fss::DpfParity(ctx, p, root[p], key.data(), in.x.data(), kCount, 1, out[p].data(), v); };
    gen();
    eval(0);
    eval(1);
    for (size_t i = 0; i < kCount; ++i)
      bench::Verify((out[0][i] ^ out[1][i]) == uint64_t(in.x[i] < in.alpha[i]), "a bit");
    Print("parity", v, fss::DpfKeyBytes(kBits), slow, gen, [&] { eval(0); });
    Print("parity", v, fss::DpfKeyBytes(kBits), fast, gen, [&] { eval(0); });
  }
  OverOpenSsl::FreeCtxs(contexts);
}

}  // namespace
}  // namespace suf::reference

int main(int argc, char** argv) {
  using namespace suf;
  reference::Run(argc > 1 ? ring::VariantNamed(argv[1]) : ring::Isa::kAvx2);
}
