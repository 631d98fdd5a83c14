#include "suf/fss/dcf.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "suf/base/known_answers_test.hpp"
#include "suf/ring/modular.hpp"

namespace suf::fss {
namespace {

using ring::Mask;

Bytes Random(size_t n, std::mt19937_64& rng) {
  Bytes b(n);
  for (uint8_t& x : b) x = uint8_t(rng());
  return b;
}

struct DcfKeys {
  DcfContext ctx{};
  std::vector<uint64_t> alpha, beta;
  Bytes root[2], key;
  size_t key_bytes;
  size_t count, number;  // number: words of an alpha or a point
  DcfKeys(int n, int words, int bits, std::vector<uint64_t> a, std::mt19937_64& rng, Isa v)
      : alpha(std::move(a)), count(alpha.size() / DcfWords(n)), number(DcfWords(n)) {
    ctx.n = n;
    ctx.words = words;
    ctx.bits = bits;
    ctx.program = uint32_t(rng());
    ctx.first_tile = rng() % 1000;
    for (uint8_t& b : ctx.k_serial) b = uint8_t(rng());
    beta.resize(size_t(words) * count);
    for (uint64_t& b : beta) b = rng();  // high bits are ignored
    for (Bytes& r : root) r = Random(16 * count, rng);
    key_bytes = ElementBytes(int(DcfKeyBits(n, words, bits)));
    key.assign(key_bytes * count + 8, 0xa5);
    DcfGen(ctx, alpha.data(), beta.data(), root[0].data(), root[1].data(), count, key.data(), v);
    EXPECT_EQ(View(key).last(8)[0], 0xa5) << "wrote beyond";
  }
  std::vector<uint64_t> Eval(int party, const std::vector<uint64_t>& x, int m, Isa v) const {
    const size_t size = size_t(ctx.words) * size_t(m) * count;
    std::vector<uint64_t> out(size + 1, 0xa5a5);
    DcfEval(ctx, party, root[party].data(), key.data(), x.data(), count, m, out.data(), v);
    EXPECT_EQ(out[size], 0xa5a5u) << "wrote beyond";
    out.pop_back();
    return out;
  }
  // Expects that both parties' shares add up to beta if x < alpha, otherwise to zero.
  void Expect(const std::vector<uint64_t>& x, int m, Isa v) const {
    using U128 = unsigned __int128;
    auto number_of = [&](const std::vector<uint64_t>& from, size_t i) {
      const uint64_t high = number > 1 ? from[2 * i + 1] & Mask(ctx.n - 64) : 0;
      return U128{high} << 64 | (from[number * i] & Mask(std::min(ctx.n, 64)));
    };
    auto sum = Eval(0, x, m, v);
    const auto b = Eval(1, x, m, v);
    std::vector<uint64_t> want(sum.size());
    for (size_t w = 0; w < sum.size(); ++w) {
      ASSERT_EQ((sum[w] | b[w]) & ~Mask(ctx.bits), 0u) << "not reduced";
      sum[w] = (sum[w] + b[w]) & Mask(ctx.bits);
      const size_t i = w % count, j = w / count % size_t(m), k = w / count / size_t(m);
      const bool less = number_of(x, i * size_t(m) + j) < number_of(alpha, i);
      want[w] = less ? beta[k * count + i] & Mask(ctx.bits) : 0;
    }
    ASSERT_EQ(sum, want) << ring::Name(v) << " n " << ctx.n << " words " << ctx.words << " bits " << ctx.bits;
  }
};

TEST(Dcf, KnownAnswers) {
  for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/dcf.txt")) {
    const DcfContext ctx{r.Array<16>("serial"),  uint32_t(r.Number("program")), int(r.Number("n")),
                         int(r.Number("words")), int(r.Number("bits")),         r.Number("tile")};
    const uint64_t alpha = r.Number("alpha"), x = r.Number("x");
    const Bytes root[2] = {r.Hex("root0"), r.Hex("root1")}, want = r.Hex("key"), beta = r.Hex("beta"),
                share[2] = {r.Hex("share0"), r.Hex("share1")};
    r.ExpectAllRead();
    for (Isa v : ring::Supported()) {
      Bytes key(ElementBytes(int(DcfKeyBits(ctx.n, ctx.words, ctx.bits))));
      DcfGen(ctx, &alpha, reinterpret_cast<const uint64_t*>(beta.data()), root[0].data(), root[1].data(), 1, key.data(),
             v);
      EXPECT_EQ(Hex(key), Hex(want)) << ring::Name(v) << " n " << ctx.n;
      for (int p = 0; p < 2; ++p) {
        std::vector<uint64_t> got(size_t(ctx.words));
        DcfEval(ctx, p, root[p].data(), key.data(), &x, 1, 1, got.data(), v);
        EXPECT_EQ(Hex(View(reinterpret_cast<uint8_t*>(got.data()), 8 * got.size())), Hex(share[p])) << ring::Name(v);
      }
    }
  }
}

// Tests every alpha at every x: all word widths for n <= 4, then fewer without AES instructions.
TEST(Dcf, Exhaustive) {
  std::mt19937_64 rng(14);
  for (Isa v : ring::Supported()) {
    for (int n = 1; n <= 8; ++n) {
      std::vector<uint64_t> all(size_t{1} << n), x;
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      for (size_t i = 0; i < all.size(); ++i) x.insert(x.end(), all.begin(), all.end());
      for (int words : {1, 2, 3, 4}) {
        for (int bits : {1, 8, 31, 32, 64}) {
          if (v == Isa::kPortable && n > 4 && words * 32 != bits && words + bits != 67) continue;
          DcfKeys(n, words, bits, all, rng, v).Expect(x, int(all.size()), v);
        }
      }
    }
  }
}

TEST(Dcf, RandomToSixtyFourBits) {
  std::mt19937_64 rng(15);
  for (Isa v : ring::Supported()) {
    for (int n : {16, 31, 32, 33, 63, 64}) {
      for (size_t count : {1, 15, 16, 17, 33, 70}) {
        const int words = 1 + int(rng() % 9), bits = 1 + int(rng() % 64);
        std::vector<uint64_t> alpha(count), x;
        for (size_t i = 0; i < count; ++i) alpha[i] = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : rng();
        for (uint64_t a : alpha) {
          for (uint64_t p : {a - 1, a, a + 1, uint64_t{0}, Mask(n), a ^ uint64_t{1} << (rng() % uint64_t(n)), rng()})
            x.push_back(p);
        }
        DcfKeys(n, words, bits, alpha, rng, v).Expect(x, 7, v);
      }
    }
  }
}

// Uses two words per number: neighbours of alpha in either word, and random ones.
TEST(Dcf, RandomToAHundredAndTwentyEightBits) {
  using U128 = unsigned __int128;
  std::mt19937_64 rng(16);
  auto put = [](std::vector<uint64_t>& to, U128 x) {
    to.push_back(uint64_t(x));
    to.push_back(uint64_t(x >> 64));
  };
  for (Isa v : ring::Supported()) {
    for (int n : {65, 66, 95, 96, 97, 121, 127, 128}) {
      for (size_t count : {1, 15, 17, 70}) {
        const int words = 1 + int(rng() % 5), bits = count == 15 ? 27 : 1 + int(rng() % 64);
        std::vector<uint64_t> alpha, x;
        for (size_t i = 0; i < count; ++i) {
          const U128 a = i == 0 ? 0 : i == 1 ? ~U128{0} : i == 2 ? U128{1} << 64 : U128{rng()} << 64 | rng();
          put(alpha, a);
          for (U128 p : {a - 1, a, a + 1, a + (U128{1} << 64), a - (U128{1} << 64),
                         a ^ U128{1} << (rng() % uint64_t(n)), U128{0}, ~U128{0}, U128{rng()} << 64 | rng()})
            put(x, p);
        }
        DcfKeys(n, words, bits, alpha, rng, v).Expect(x, 9, v);
      }
    }
  }
}

// Tests every low part with every high part near the end of the first word. These are all pairs of alpha and x of 65 to
// 67 bits whose other bits are ones or zeros.
TEST(Dcf, EveryBitAboutTheWordsEnd) {
  std::mt19937_64 rng(17);
  for (Isa v : ring::Supported()) {
    for (int n : {65, 67}) {
      std::vector<uint64_t> all, x;
      for (uint64_t high = 0; high < uint64_t{1} << (n - 64); ++high) {
        for (uint64_t top = 0; top < 4; ++top) {
          for (uint64_t rest : {uint64_t{0}, Mask(62) - 1, Mask(62)}) {
            all.push_back(top << 62 | rest);
            all.push_back(high);
          }
        }
      }
      const size_t m = all.size() / 2;
      for (size_t i = 0; i < m; ++i) x.insert(x.end(), all.begin(), all.end());
      DcfKeys(n, 1, 27, all, rng, v).Expect(x, int(m), v);
    }
  }
}

TEST(Dcf, EveryVariantMakesTheSameKeysAndShares) {
  for (Isa v : ring::Supported()) {
    for (int words : {1, 3}) {
      for (int bits : {13, 64}) {
        std::mt19937_64 a(6), b(6);
        std::vector<uint64_t> alpha, x;
        for (uint64_t i = 0; i < 40; ++i) {
          alpha.push_back(i * 0x9e3779b97f4a7c15);
          x.push_back(alpha[i] + i % 3);
        }
        const DcfKeys one(40, words, bits, alpha, a, v), two(40, words, bits, alpha, b, Isa::kPortable);
        ASSERT_EQ(one.key, two.key);
        for (int p = 0; p < 2; ++p) ASSERT_EQ(one.Eval(p, x, 1, v), two.Eval(p, x, 1, Isa::kPortable));
      }
    }
  }
}

TEST(Dcf, ASplitBatchGivesTheSameKeys) {
  std::mt19937_64 rng(7);
  std::vector<uint64_t> alpha(40);
  for (uint64_t& x : alpha) x = rng();
  const DcfKeys keys(20, 1, 30, alpha, rng, ring::Best());
  DcfContext rest = keys.ctx;
  rest.first_tile += 32 / kDcfTile;
  Bytes key(keys.key_bytes * 8);
  DcfGen(rest, alpha.data() + 32, keys.beta.data() + 32, keys.root[0].data() + 16 * 32, keys.root[1].data() + 16 * 32,
         8, key.data());
  EXPECT_TRUE(std::equal(key.begin(), key.end(), keys.key.begin() + std::ptrdiff_t(keys.key_bytes * 32)));
}

// A fault of a toy comparison function.
enum class Flaw {
  kNone,
  kPayloadAtTheEnd,  // the payload is in the final word alone
  kLostControlBit,   // the sign of the final word is from a control bit before its correction
};

// The same tree with 64-bit seeds and another hash.
class Toy {
 public:
  Toy(int n, uint64_t alpha, uint64_t beta, Flaw flaw) : n_(n), everywhere_(flaw != Flaw::kPayloadAtTheEnd) {
    uint64_t s[2] = {1234, 987654}, sum = everywhere_ ? 0 : 0 - beta;
    bool t[2] = {false, true}, sign = true;
    for (int d = 0; d < n; ++d) {
      const bool a = alpha >> (n - 1 - d) & 1;
      const uint64_t lose0 = H(s[0], 2 + !a), lose1 = H(s[1], 2 + !a), keep0 = H(s[0], 2 + a), keep1 = H(s[1], 2 + a);
      const uint64_t value = lose1 - lose0 - sum + (a ? beta : 0);
      value_.push_back(everywhere_ ? (t[1] ? 0 - value : value) : 0);
      if (everywhere_) sum += keep0 - keep1 + value;
      seed_.push_back(H(s[0], !a) ^ H(s[1], !a));
      for (int c = 0; c < 2; ++c) control_[c].push_back(((H(s[0], c) ^ H(s[1], c)) >> 63) ^ (a == (c == 1)));
      sign = H(s[1], a) >> 63;
      for (int p = 0; p < 2; ++p) Step(d, a, s[p], t[p]);
    }
    if (flaw != Flaw::kLostControlBit) sign = t[1];
    const uint64_t last = H(s[1], 2) - H(s[0], 2) - sum;
    value_.push_back(sign ? 0 - last : last);
  }
  uint64_t Sum(uint64_t x) const {
    uint64_t all = 0;
    for (int p = 0; p < 2; ++p) {
      uint64_t s = p ? 987654 : 1234, v = 0;
      bool t = p;
      for (int d = 0; d <= n_; ++d) {
        const bool a = d < n_ && x >> (n_ - 1 - d) & 1;
        if (everywhere_ || d == n_) v += H(s, 2 + a) + (t ? value_[size_t(d)] : 0);
        if (d < n_) Step(d, a, s, t);
      }
      all += p ? 0 - v : v;
    }
    return all;
  }

 private:
  static uint64_t H(uint64_t s, int tweak) { return std::mt19937_64(s * 4 + uint64_t(tweak))(); }
  void Step(int d, bool a, uint64_t& s, bool& t) const {
    const uint64_t raw = H(s, a);
    s = raw ^ (t ? seed_[size_t(d)] : 0);
    t = bool(raw >> 63) ^ (t && control_[a][size_t(d)]);
  }
  int n_;
  bool everywhere_;
  std::vector<uint64_t> seed_, value_;
  std::vector<bool> control_[2];
};

TEST(Dcf, APayloadInTheFinalWordAloneIsAPointFunction) {
  constexpr uint64_t kBeta = 0xfedcba9876543210;
  for (uint64_t alpha = 0; alpha < 64; ++alpha) {
    const Toy right(6, alpha, kBeta, Flaw::kNone), wrong(6, alpha, kBeta, Flaw::kPayloadAtTheEnd);
    for (uint64_t x = 0; x < 64; ++x) {
      ASSERT_EQ(right.Sum(x), x < alpha ? kBeta : 0) << alpha << ' ' << x;
      ASSERT_EQ(wrong.Sum(x), x == alpha ? kBeta : 0) << alpha << ' ' << x;
    }
  }
}

// FuseFSS (include/suf/crypto/dcf.hpp) takes the sign of the final word from the low bit of a seed. Key generation does
// not correct that bit by the control correction. So a quarter of the keys give a wrong sum at x = alpha.
TEST(Dcf, ALostControlBitMakesTheSumAtAlphaWrong) {
  std::mt19937_64 rng(17);
  for (int n : {6, 64}) {
    int wrong = 0;
    std::vector<uint64_t> alphas(100);
    for (uint64_t& alpha : alphas) {
      alpha = rng() & Mask(n);
      const Toy toy(n, alpha, 1, Flaw::kLostControlBit);
      wrong += toy.Sum(alpha) != 0;
      if (alpha) {
        ASSERT_EQ(toy.Sum(alpha - 1), 1u) << alpha;
      }
      ASSERT_EQ(Toy(n, alpha, 1, Flaw::kNone).Sum(alpha), 0u) << alpha;
    }
    EXPECT_NEAR(wrong, 25, 18) << n;
    DcfKeys(n, 1, 64, alphas, rng, ring::Best()).Expect(alphas, 1, ring::Best());
  }
}

// SUF's adapter of myl7/fss (include/proto/myl7_fss_backend.hpp) cuts a payload into chunks of 16 bytes. It clears the
// top bit of each, so that the second word of a chunk loses bit 63.
TEST(Dcf, AChunkWithoutItsTopBitLosesTheSignOfAWord) {
  const uint64_t payload[2] = {1, uint64_t{1} << 63};
  uint8_t chunk[16];
  std::memcpy(chunk, payload, 16);
  chunk[15] &= 0x7f;
  uint64_t published[2];
  std::memcpy(published, chunk, 16);
  EXPECT_EQ(published[1], 0u);

  std::mt19937_64 rng(18);
  DcfKeys keys(64, 2, 64, {100}, rng, ring::Best());
  keys.beta.assign(payload, payload + 2);
  DcfGen(keys.ctx, keys.alpha.data(), keys.beta.data(), keys.root[0].data(), keys.root[1].data(), 1, keys.key.data());
  keys.Expect({99}, 1, ring::Best());
}

// Keys of SUF's SigmaFast (chunks SDC1, SPL1 and SIL1) have their thresholds in clear. A threshold is r plus a public
// number, and x + r is opened, so that either party finds x. Each bit of our keys is 1 equally often for the least and
// the largest alpha.
TEST(Dcf, AThresholdInTheKeyShowsTheInput) {
  const uint64_t x = 1234567890123, r = 0xfedcba9876543210, opened = x + r;
  const uint64_t in_key[2] = {r, r + (uint64_t{1} << 63)};  // of a sign: x < 2^63 as two comparisons of x + r
  EXPECT_EQ(opened - in_key[0], x);

  std::mt19937_64 rng(19);
  constexpr int kN = 32, kCount = 4000;
  std::vector<int> ones[2];
  for (int most : {0, 1}) {
    const DcfKeys keys(kN, 1, 1, std::vector<uint64_t>(kCount, most ? Mask(kN) : 0), rng, ring::Best());
    for (size_t bit = 0; bit < DcfKeyBits(kN, 1, 1); ++bit) {
      ones[most].push_back(0);
      for (size_t i = 0; i < kCount; ++i) ones[most].back() += keys.key[i * keys.key_bytes + bit / 8] >> (bit % 8) & 1;
    }
  }
  for (size_t bit = 0; bit < ones[0].size(); ++bit) ASSERT_NEAR(ones[0][bit], ones[1][bit], 300) << "bit " << bit;
}

// Checks that a single share is uniform at x < alpha and beyond.
TEST(Dcf, OneShareIsBalanced) {
  std::mt19937_64 rng(8);
  const std::vector<uint64_t> alpha(4000, 1234567);
  const DcfKeys keys(32, 1, 1, alpha, rng, ring::Best());
  for (uint64_t x : {1234566u, 1234567u, 5u}) {
    for (int p = 0; p < 2; ++p) {
      uint64_t ones = 0;
      for (uint64_t bit : keys.Eval(p, std::vector<uint64_t>(alpha.size(), x), 1, ring::Best())) ones += bit;
      EXPECT_NEAR(double(ones), 2000, 200);
    }
  }
}

}  // namespace
}  // namespace suf::fss
