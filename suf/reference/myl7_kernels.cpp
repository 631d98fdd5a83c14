#include "suf/reference/myl7_kernels.hpp"

#include <algorithm>
#include <array>
#include <cuda/std/span>
#include <fss/dcf.cuh>
#include <fss/prg/aes128_mmo_raw.cuh>
#include <utility>

#include "suf/base/bytes.hpp"
#include "suf/base/digest.hpp"
#include "suf/ring/modular.hpp"

namespace suf::reference {
namespace {

using Prg = ::fss::prg::Aes128MmoRaw<4>;
template <int n>
using Dcf = ::fss::Dcf<n, ::fss::group::Uint<uint64_t>, Prg, uint64_t>;
using Cw = Dcf<64>::Cw;  // its layout is the same at every n
constexpr size_t kSeed = 16, kValue = 8;

int4 Seed(const uint8_t* p) {
  int4 s;
  std::memcpy(&s, p, kSeed);
  return s;
}
int4 Value(uint64_t v) { return {int(uint32_t(v)), int(uint32_t(v >> 32)), 0, 0}; }
uint64_t Value(const int4& v) { return uint32_t(v.x) | uint64_t(uint32_t(v.y)) << 32; }

// Makes their PRG. The trace's public key and the node's program determine its four AES keys.
Prg PrgOf(const pfss::KeyBatch& b) {
  uint8_t keys[4][16];
  for (uint8_t j = 0; j < 4; ++j) {
    uint8_t name[5] = {j};
    std::memcpy(name + 1, &b.program, 4);
    const Hash h = HashOf({AsView("suf myl7 aes key"), b.tree_key, name});
    std::copy_n(h.begin(), 16, keys[j]);
  }
  return Prg(keys);
}

// ---- Their two methods at every n

struct Methods {
  void (*gen)(const Prg& prg, Cw* cws, const int4* seeds, uint64_t alpha, int4 beta);
  int4 (*eval)(const Prg& prg, bool party, const int4& seed, const Cw* cws, uint64_t x);
};
template <int n>
constexpr Methods MethodsOf() {
  using D = Dcf<n>;
  static_assert(sizeof(typename D::Cw) == sizeof(Cw) && alignof(typename D::Cw) == alignof(Cw));
  return {[](const Prg& prg, Cw* cws, const int4* seeds, uint64_t alpha, int4 beta) {
            D{prg}.Gen(reinterpret_cast<typename D::Cw*>(cws), seeds, alpha, beta);
          },
          [](const Prg& prg, bool party, const int4& seed, const Cw* cws, uint64_t x) {
            return D{prg}.Eval(party, seed, reinterpret_cast<const typename D::Cw*>(cws), x);
          }};
}
template <int... n>
constexpr auto Table(std::integer_sequence<int, n...>) {
  return std::array{MethodsOf<n + 1>()...};
}
constexpr std::array<Methods, 64> kMethods = Table(std::make_integer_sequence<int, 64>{});

// ---- A key as bits

struct Layout {
  explicit Layout(const pfss::KeyBatch& b) : n(size_t(b.n)), words(size_t(b.words)) {
    SUF_CHECK(b.n >= 1 && b.n <= 64 && b.words >= 1);
    key = fss::ElementBytes(int(fss::DcfKeyBits(b.n, b.words, b.bits, fss::DcfScheme::kMyl7)));
    root = fss::ElementBytes(fss::DcfRootBits(b.words, fss::DcfScheme::kMyl7));
  }
  size_t n, words, key, root;
  size_t Word(size_t k) const { return k * (n * (kSeed + kValue) + kValue); }
  size_t Bit(size_t k, size_t level) const { return 8 * Word(words) + k * n + level; }
};

void Write(const Layout& l, size_t k, const Cw* cws, uint8_t* key) {
  uint8_t* at = key + l.Word(k);
  for (size_t i = 0; i < l.n; ++i, at += kSeed) {
    std::memcpy(at, &cws[i].s, kSeed);
    key[l.Bit(k, i) / 8] |= uint8_t((cws[i].v.w & 1) << (l.Bit(k, i) % 8));
  }
  for (size_t i = 0; i <= l.n; ++i, at += kValue) {
    const uint64_t v = Value(cws[i].v);
    std::memcpy(at, &v, kValue);
  }
}

void Read(const Layout& l, size_t k, const uint8_t* key, Cw* cws) {
  const uint8_t* at = key + l.Word(k);
  for (size_t i = 0; i < l.n; ++i, at += kSeed) cws[i].s = Seed(at);
  for (size_t i = 0; i <= l.n; ++i, at += kValue) {
    uint64_t v;
    std::memcpy(&v, at, kValue);
    cws[i].v = Value(v);
    if (i < l.n) cws[i].v.w = key[l.Bit(k, i) / 8] >> (l.Bit(k, i) % 8) & 1;
  }
  cws[l.n].s = {0, 0, 0, 0};
}

}  // namespace

void Myl7Kernels::DcfGen(const pfss::KeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
                         uint8_t* key) const {
  const Layout l(b);
  const Prg prg = PrgOf(b);
  Cw cws[65];
  std::fill_n(key, b.count * l.key, uint8_t{0});
  for (size_t i = 0; i < b.count; ++i)
    for (size_t k = 0; k < l.words; ++k) {
      int4 seeds[2];
      for (size_t p : {0, 1}) seeds[p] = Seed(roots[p] + i * l.root + k * kSeed);
      kMethods[l.n - 1].gen(prg, cws, seeds, alpha[i], Value(beta[k * b.count + i]));
      Write(l, k, cws, key + i * l.key);
      Wipe(seeds, sizeof seeds);
    }
}

void Myl7Kernels::DcfEval(const pfss::KeyBatch& b, int party, const uint8_t* root, const uint8_t* key,
                          const uint64_t* x, int m, uint64_t* out) const {
  const Layout l(b);
  const Prg prg = PrgOf(b);
  Cw cws[65];
  for (size_t i = 0; i < b.count; ++i)
    for (size_t k = 0; k < l.words; ++k) {
      Read(l, k, key + i * l.key, cws);
      int4 seed = Seed(root + i * l.root + k * kSeed);
      for (size_t j = 0; j < size_t(m); ++j)
        out[(k * size_t(m) + j) * b.count + i] =
            Value(kMethods[l.n - 1].eval(prg, party == 1, seed, cws, x[i * size_t(m) + j])) & ring::Mask(b.bits);
      Wipe(&seed, sizeof seed);
    }
}

}  // namespace suf::reference
