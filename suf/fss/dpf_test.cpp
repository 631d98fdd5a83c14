#include "suf/fss/dpf.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "suf/base/known_answers_test.hpp"
#include "suf/ring/modular.hpp"

namespace suf::fss {
namespace {

using ring::Mask;

struct DpfKeys {
  DpfContext ctx;
  std::vector<uint64_t> alpha;
  Bytes root[2], cw;
  DpfKeys(int n, std::vector<uint64_t> a, std::mt19937_64& rng, Isa v) : alpha(std::move(a)) {
    ctx.n = n;
    ctx.program = uint32_t(rng());
    ctx.first_tile = rng() % 1000;
    for (uint8_t& b : ctx.k_serial) b = uint8_t(rng());
    for (Bytes& r : root) {
      r.resize(16 * alpha.size());
      for (uint8_t& b : r) b = uint8_t(rng());
    }
    cw.assign(DpfKeyBytes(n) * alpha.size() + 8, 0xa5);
    DpfGen(ctx, alpha.data(), root[0].data(), root[1].data(), alpha.size(), cw.data(), v);
    EXPECT_EQ(cw[cw.size() - 8], 0xa5) << "wrote beyond";
  }
  std::vector<uint64_t> Window(int party, const std::vector<uint64_t>& lo, int m, Isa v) const {
    const size_t words = size_t(m + 63) / 64 * alpha.size();
    std::vector<uint64_t> out(words + 1, 0xa5a5);
    DpfWindow(ctx, party, root[party].data(), cw.data(), 0, lo.data(), alpha.size(), m, out.data(), v);
    EXPECT_EQ(out[words], 0xa5a5u) << "wrote beyond";
    out.pop_back();
    return out;
  }
  // Expects that both parties' shares of a level add up to the bits of 1[v = alpha >> level].
  void ExpectLevel(int level, const std::vector<uint64_t>& lo, int m, Isa v) const {
    const size_t words = size_t(m + 63) / 64;
    std::vector<uint64_t> got[2], want(words * alpha.size() + 1), point[2];
    for (int p = 0; p < 2; ++p) {
      got[p].assign(want.size(), 0);
      point[p].assign(alpha.size() + 1, 0);
      got[p].back() = point[p].back() = p ? 0xa5 : 0;
      DpfWindow(ctx, p, root[p].data(), cw.data(), level, lo.data(), alpha.size(), m, got[p].data(), v);
      DpfPoint(ctx, p, root[p].data(), cw.data(), level, lo.data(), alpha.size(), point[p].data(), v);
      for (size_t i = 0; i < alpha.size(); ++i) ASSERT_EQ(point[p][i], got[p][i * words] & 1) << "a point differs";
    }
    want.back() = 0xa5;
    for (size_t i = 0; i < alpha.size(); ++i) {
      const uint64_t at = ((alpha[i] & Mask(ctx.n)) >> (level < 64 ? level : 63) >> (level < 64 ? 0 : 1)) - lo[i];
      const uint64_t j = at & Mask(ctx.n - level);
      if (j < uint64_t(m)) want[i * words + j / 64] |= uint64_t{1} << (j % 64);
    }
    for (size_t w = 0; w < want.size(); ++w) got[0][w] ^= got[1][w];
    ASSERT_EQ(got[0], want) << ring::Name(v) << " n " << ctx.n << " level " << level << " m " << m;
    EXPECT_EQ(point[1].back(), 0xa5u) << "wrote beyond";
  }
  // Expects that both parties' parities add up to 1[x < alpha].
  void ExpectParity(const std::vector<uint64_t>& x, int m, Isa v) const {
    const size_t words = size_t(m + 63) / 64;
    std::vector<uint64_t> got[2], want(words * alpha.size() + 1);
    for (int p = 0; p < 2; ++p) {
      got[p].assign(want.size(), p ? 0xa5a5 : 0);
      DpfParity(ctx, p, root[p].data(), cw.data(), x.data(), alpha.size(), m, got[p].data(), v);
    }
    for (size_t w = 0; w + 1 < want.size(); ++w) got[0][w] ^= got[1][w];
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t j = i % size_t(m);
      want[i / size_t(m) * words + j / 64] |= uint64_t((x[i] & Mask(ctx.n)) < (alpha[i / size_t(m)] & Mask(ctx.n)))
                                              << (j % 64);
    }
    ASSERT_EQ(got[0], want) << ring::Name(v) << " n " << ctx.n << " m " << m;
    EXPECT_EQ(got[1].back(), 0xa5a5u) << "wrote beyond";
  }
  // Expects that both parties' dense reads add up to table[x - alpha].
  void ExpectDense(const std::vector<uint64_t>& x, const std::vector<uint64_t>& table, Isa v) const {
    std::vector<uint64_t> got[2];
    for (int p = 0; p < 2; ++p) {
      got[p].assign(alpha.size(), 0xa5);
      DpfDense(ctx, p, root[p].data(), cw.data(), x.data(), table.data(), alpha.size(), got[p].data(), v);
    }
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[0][i] ^ got[1][i], table[(x[i] - alpha[i]) & Mask(ctx.n)]) << ring::Name(v) << " n " << ctx.n;
    }
  }
  // Expects that both parties' windows add up to the one-hot vector at alpha - lo, if that is below m.
  void Expect(const std::vector<uint64_t>& lo, int m, Isa v) const {
    auto a = Window(0, lo, m, v);
    const auto b = Window(1, lo, m, v);
    for (size_t w = 0; w < a.size(); ++w) a[w] ^= b[w];
    std::vector<uint64_t> want(a.size(), 0);
    for (size_t i = 0; i < alpha.size(); ++i) {
      const uint64_t at = (alpha[i] - lo[i]) & Mask(ctx.n);
      if (at < uint64_t(m)) want[i * (size_t(m + 63) / 64) + at / 64] |= uint64_t{1} << (at % 64);
    }
    ASSERT_EQ(a, want) << ring::Name(v) << " n " << ctx.n << " m " << m;
  }
};

TEST(Dpf, KnownAnswers) {
  for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/dpf.txt")) {
    DpfContext ctx{r.Array<16>("serial"), uint32_t(r.Number("program")), int(r.Number("n")), r.Number("tile")};
    const uint64_t alpha = r.Number("alpha"), lo = r.Number("lo");
    const int m = int(r.Number("m"));
    const Bytes root[2] = {r.Hex("root0"), r.Hex("root1")}, want = r.Hex("cw"),
                share[2] = {r.Hex("share0"), r.Hex("share1")};
    r.ExpectAllRead();
    for (Isa v : ring::Supported()) {
      Bytes cw(DpfKeyBytes(ctx.n));
      DpfGen(ctx, &alpha, root[0].data(), root[1].data(), 1, cw.data(), v);
      EXPECT_EQ(Hex(cw), Hex(want)) << ring::Name(v);
      for (int p = 0; p < 2; ++p) {
        std::vector<uint64_t> got(size_t(m + 63) / 64);
        DpfWindow(ctx, p, root[p].data(), cw.data(), 0, &lo, 1, m, got.data(), v);
        EXPECT_EQ(Hex(View(reinterpret_cast<uint8_t*>(got.data()), 8 * got.size())), Hex(share[p])) << ring::Name(v);
      }
    }
  }
}

TEST(Dpf, KnownReads) {
  for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/reads.txt")) {
    DpfContext ctx{r.Array<16>("serial"), uint32_t(r.Number("program")), int(r.Number("n")), r.Number("tile")};
    const int level = int(r.Number("level"));
    const Bytes root[2] = {r.Hex("root0"), r.Hex("root1")}, cw = r.Hex("cw"), at[2] = {r.Hex("at0"), r.Hex("at1")},
                less[2] = {r.Hex("less0"), r.Hex("less1")}, vs = r.Hex("v"), xs = r.Hex("x");
    r.ExpectAllRead();
    std::vector<uint64_t> x(xs.size() / 8);
    std::memcpy(x.data(), xs.data(), xs.size());
    for (Isa v : ring::Supported()) {
      for (int p = 0; p < 2; ++p) {
        uint64_t lt = 0, want = 0;
        DpfParity(ctx, p, root[p].data(), cw.data(), x.data(), 1, int(x.size()), &lt, v);
        for (size_t j = 0; j < x.size(); ++j) want |= uint64_t{less[p][j]} << j;
        EXPECT_EQ(lt, want) << ring::Name(v) << " n " << ctx.n;
        for (size_t j = 0; j < at[p].size(); ++j) {
          uint64_t lo, bit = 7, two = 7;
          std::memcpy(&lo, vs.data() + 8 * j, 8);
          DpfPoint(ctx, p, root[p].data(), cw.data(), level, &lo, 1, &bit, v);
          EXPECT_EQ(bit, at[p][j]) << ring::Name(v) << " n " << ctx.n << " level " << level;
          if (level == ctx.n) continue;
          DpfWindow(ctx, p, root[p].data(), cw.data(), level, &lo, 1, 2, &two, v);
          EXPECT_EQ(two & 1, at[p][j]) << ring::Name(v) << " n " << ctx.n << " level " << level;
        }
      }
    }
  }
}

// n = 8, 9: tests every alpha at every position, as a point and as the start of windows, which may wrap. 256 or 512
// keys make full tiles.
TEST(Dpf, Exhaustive) {
  std::mt19937_64 rng(4);
  for (Isa v : ring::Supported()) {
    for (int n : {8, 9}) {
      std::vector<uint64_t> all(size_t{1} << n);
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      const DpfKeys keys(n, all, rng, v);
      for (uint64_t lo = 0; lo < all.size(); ++lo) {
        const std::vector<uint64_t> at(all.size(), lo);
        for (int m : {1, 2, 65, 130, 256}) keys.Expect(at, m, v);
        if (n == 9) keys.Expect(at, 512, v);
      }
    }
  }
}

TEST(Dpf, RandomToSixtyFourBits) {
  std::mt19937_64 rng(5);
  for (Isa v : ring::Supported()) {
    for (int n : {8, 9, 10, 13, 16, 24, 31, 32, 33, 47, 63, 64}) {
      for (size_t count : {1, 15, 16, 17, 40}) {
        std::vector<uint64_t> alpha(count), lo(count);
        for (size_t i = 0; i < count; ++i)
          alpha[i] = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : rng();  // high bits are ignored
        const DpfKeys keys(n, alpha, rng, v);
        for (int m : {1, 2, 63, 64, 65, 127, 128, 129, 200, 256, 513, 3000}) {
          if (n < 13 && m > 1 << n) continue;
          for (size_t i = 0; i < count; ++i) lo[i] = i % 4 == 3 ? rng() : alpha[i] + 3 - rng() % uint64_t(m + 6);
          keys.Expect(lo, m, v);
        }
      }
    }
  }
}

// n = 8, 9, 10: tests every level at every place, as a point and in windows, and every comparison.
TEST(Dpf, LevelsAndParitiesExhaustive) {
  std::mt19937_64 rng(14);
  for (Isa v : ring::Supported()) {
    for (int n : {8, 9, 10}) {
      if (n == 10 && v == Isa::kPortable) continue;
      std::vector<uint64_t> all(size_t{1} << n), x;
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      const DpfKeys keys(n, all, rng, v);
      for (size_t i = 0; i < all.size(); ++i) x.insert(x.end(), all.begin(), all.end());
      keys.ExpectParity(x, 1 << n, v);
      for (int level = 0; level <= n; ++level) {
        const uint64_t places = uint64_t{1} << (n - level), step = level ? 1 : 19;
        for (uint64_t lo = 0; lo < places; lo += step) {
          for (uint64_t m : {uint64_t{1}, uint64_t{2}, uint64_t{67}, places}) {
            if (m <= places) keys.ExpectLevel(level, std::vector<uint64_t>(all.size(), lo), int(m), v);
          }
        }
      }
    }
  }
}

TEST(Dpf, LevelsAndParitiesToSixtyFourBits) {
  std::mt19937_64 rng(15);
  for (Isa v : ring::Supported()) {
    for (int n : {12, 16, 31, 32, 33, 63, 64}) {
      for (size_t count : {1, 7, 32, 33, 71}) {
        std::vector<uint64_t> alpha(count), lo(count), x;
        for (size_t i = 0; i < count; ++i) alpha[i] = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : rng();
        const DpfKeys keys(n, alpha, rng, v);
        for (uint64_t a : alpha) {
          for (uint64_t p : {a - 1, a, a + 1, uint64_t{0}, Mask(n), a ^ uint64_t{1} << (rng() % uint64_t(n)), rng()})
            x.push_back(p);
        }
        keys.ExpectParity(x, 7, v);
        for (int level : {0, 1, 3, 6, 7, 8, 9, n / 2, n - 1, n}) {
          for (int m : {1, 2, 64, 100, 513}) {
            if (n - level < 20 && m > 1 << (n - level)) continue;
            for (size_t i = 0; i < count; ++i) {
              const uint64_t at = level < 64 ? (alpha[i] & Mask(n)) >> level : 0;
              lo[i] = i % 4 == 3 ? rng() : at + 3 - rng() % uint64_t(m + 6);
            }
            keys.ExpectLevel(level, lo, m, v);
          }
        }
      }
    }
  }
}

TEST(Dpf, WholeDomainsAndDenseTables) {
  std::mt19937_64 rng(16);
  for (Isa v : ring::Supported()) {
    for (int n = 8; n <= 16; ++n) {
      if (v == Isa::kPortable && n > 12 && n < 16) continue;
      for (size_t count : {1, 3, 4, 33}) {
        if (v == Isa::kPortable && n > 12 && count > 3) continue;
        std::vector<uint64_t> alpha(count), x(count), table(size_t{1} << n);
        for (uint64_t& a : alpha) a = rng() & Mask(n);
        for (uint64_t& a : x) a = rng();
        for (uint64_t& a : table) a = rng();
        alpha[0] = Mask(n);
        const DpfKeys keys(n, alpha, rng, v);
        const std::vector<uint64_t> zero(count), one(count, 1);
        keys.Expect(zero, 1 << n, v);
        // Bit j of the domain is the bit that a window has.
        const auto all = keys.Window(1, zero, 1 << n, v), turned = keys.Window(1, one, 1 << n, v);
        const size_t words = all.size() / count;
        for (size_t i = 0; i < count; ++i) {
          for (size_t j : {size_t{1}, size_t{64}, size_t{129}, (size_t{1} << n) - 1}) {
            const uint64_t other = turned[i * words + (j - 1) / 64] >> ((j - 1) % 64);
            ASSERT_EQ((all[i * words + j / 64] >> (j % 64) ^ other) & 1, 0u) << ring::Name(v) << " n " << n;
          }
        }
        keys.ExpectDense(x, table, v);
        for (uint64_t& a : table) a &= 5;
        keys.ExpectDense(x, table, v);
        keys.ExpectDense(x, std::vector<uint64_t>(table.size()), v);
      }
    }
  }
}

TEST(Dpf, EveryVariantMakesTheSameKeysAndShares) {
  for (Isa v : ring::Supported()) {
    std::mt19937_64 a(6), b(6);
    const std::vector<uint64_t> alpha = {1, 2, 3, 1000, 77777, ~uint64_t{0}, 1 << 20}, lo = {0, 2, 3, 999, 77700, 0, 5};
    const DpfKeys x(40, alpha, a, v), y(40, alpha, b, Isa::kPortable);
    ASSERT_EQ(x.cw, y.cw);
    for (int p = 0; p < 2; ++p) ASSERT_EQ(x.Window(p, lo, 300, v), y.Window(p, lo, 300, Isa::kPortable));
  }
}

TEST(Dpf, ASplitBatchGivesTheSameKeys) {
  std::mt19937_64 rng(7);
  std::vector<uint64_t> alpha(40);
  for (uint64_t& x : alpha) x = rng();
  const DpfKeys keys(20, alpha, rng, ring::Best());
  DpfContext rest = keys.ctx;
  rest.first_tile += 1;
  Bytes cw(DpfKeyBytes(20) * 8);
  DpfGen(rest, alpha.data() + 32, keys.root[0].data() + 16 * 32, keys.root[1].data() + 16 * 32, 8, cw.data());
  EXPECT_TRUE(std::equal(cw.begin(), cw.end(), keys.cw.begin() + std::ptrdiff_t(DpfKeyBytes(20) * 32)));
}

// Checks that a single share is a fair coin at every place. The counts of ones at alpha and beside it stay near one
// half.
TEST(Dpf, OneShareIsBalanced) {
  std::mt19937_64 rng(8);
  const std::vector<uint64_t> alpha(4000, 1234567);
  const DpfKeys keys(32, alpha, rng, ring::Best());
  for (uint64_t x : {1234567u, 1234568u}) {
    const auto bits = keys.Window(0, std::vector<uint64_t>(alpha.size(), x), 1, ring::Best());
    EXPECT_NEAR(double(std::accumulate(bits.begin(), bits.end(), uint64_t{0})), 2000, 200);
  }
}

// The attack on a half-tree whose hash lacks sigma. There pi is AES under the public key, H(x) = `pi(x) ^ x`, and the
// children are H(x) and `H(x) ^ x`. A 0 bit of alpha makes CW = `pi(s) ^ pi(s ^ Delta)`. One decryption then gives the
// holder of s the other party's seed.
class Attack {
 public:
  using Block = std::array<uint8_t, 16>;
  explicit Attack(const Block& key) : key_(key) {}
  Block Cipher(const Block& x, bool encrypt) const {
    const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    Block out{};
    int n = 0;
    EXPECT_TRUE(EVP_CipherInit_ex(c.get(), EVP_aes_128_ecb(), nullptr, key_.data(), nullptr, encrypt));
    EVP_CIPHER_CTX_set_padding(c.get(), 0);
    EXPECT_TRUE(EVP_CipherUpdate(c.get(), out.data(), &n, x.data(), 16));
    return out;
  }
  static Block Xor(Block a, const Block& b) {
    for (size_t i = 0; i < 16; ++i) a[i] ^= b[i];
    return a;
  }
  static Block Sigma(const Block& x) {
    Block y;
    for (size_t i = 0; i < 8; ++i) {
      y[i] = x[8 + i];
      y[8 + i] = x[i] ^ x[8 + i];
    }
    return y;
  }
  Block H(const Block& x, bool sigma) const {
    const Block s = sigma ? Sigma(x) : x;
    return Xor(Cipher(s, true), s);
  }
  // Returns whether party 0 finds the other root from its root s and the first correction word. It tries the inversion
  // with and without sigma.
  bool Finds(const Block& s, const Block& other, const Block& cw) const {
    for (bool sigma : {false, true}) {
      const Block g = sigma ? Sigma(s) : s, pi = Cipher(Xor(cw, Cipher(g, true)), false);
      const Block plain = Cipher(Xor(cw, Xor(Cipher(g, true), Xor(g, s))), false);
      const Block target = sigma ? Sigma(other) : other;
      if (pi == target || plain == target) return true;
    }
    return false;
  }

 private:
  Block key_;
};

TEST(Dpf, TheInversionAttackFindsNothing) {
  std::mt19937_64 rng(9);
  int without_sigma = 0, expected = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const DpfKeys keys(64, {rng()}, rng, ring::Best());
    Attack::Block tile{}, s, other, cw;
    std::memcpy(tile.data(), &keys.ctx.program, 4);
    std::memcpy(tile.data() + 8, &keys.ctx.first_tile, 8);
    const Attack attack(Attack(keys.ctx.k_serial).Cipher(tile, true));
    std::copy_n(keys.root[0].begin(), 16, s.begin());
    std::copy_n(keys.root[1].begin(), 16, other.begin());
    s[0] &= 0xfe;
    other[0] |= 1;
    std::copy_n(keys.cw.begin(), 16, cw.begin());
    const bool right = keys.alpha[0] >> 63;
    auto word = [&](bool sigma) {
      const Attack::Block c = Attack::Xor(attack.H(s, sigma), attack.H(other, sigma));
      return right ? c : Attack::Xor(c, Attack::Xor(s, other));
    };
    ASSERT_EQ(cw, word(true));  // the attack models this scheme
    ASSERT_FALSE(attack.Finds(s, other, cw));
    without_sigma += attack.Finds(s, other, word(false));
    expected += !right;
  }
  EXPECT_EQ(without_sigma, expected);  // and it works if sigma is missing
  EXPECT_GT(expected, 400);
}

}  // namespace
}  // namespace suf::fss
