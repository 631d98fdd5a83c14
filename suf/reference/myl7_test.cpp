// The backend myl7: its keys against known answers and their definition, and the work that it refuses. Also the reason
// why the library's half-tree classes are not used.
#include "suf/reference/myl7.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cuda/std/span>
#include <fss/group/uint.cuh>
#include <fss/half_tree_dpf.cuh>
#include <fss/prg/aes128_mmo_raw.cuh>

#include "suf/backends/rig_test.hpp"
#include "suf/base/known_answers_test.hpp"
#include "suf/reference/myl7_kernels.hpp"

namespace suf::reference {
namespace {

using namespace pfss;  // NOLINT

const Myl7Kernels kKernels;

TEST(Myl7, KnownAnswers) {
  for (KnownAnswer& r : KnownAnswers("suf/reference/testdata/myl7.txt")) {
    const KeyBatch b{r.Array<16>("serial"), uint32_t(r.Number("program")), int(r.Number("n")), 1,
                     int(r.Number("words"))};
    const uint64_t alpha = r.Number("alpha"), x = r.Number("x");
    const Bytes root[2] = {r.Hex("root0"), r.Hex("root1")}, want = r.Hex("key"), beta = r.Hex("beta"),
                share[2] = {r.Hex("share0"), r.Hex("share1")};
    r.ExpectAllRead();
    Bytes key(fss::ElementBytes(int(fss::DcfKeyBits(b.n, b.words, 64, fss::DcfScheme::kMyl7))));
    kKernels.DcfGen(b, &alpha, reinterpret_cast<const uint64_t*>(beta.data()), {root[0].data(), root[1].data()},
                    key.data());
    EXPECT_EQ(Hex(key), Hex(want)) << "n " << b.n;
    for (int p : {0, 1}) {
      std::vector<uint64_t> got(size_t(b.words));
      kKernels.DcfEval(b, p, root[p].data(), key.data(), &x, 1, got.data());
      EXPECT_EQ(Hex(View(reinterpret_cast<uint8_t*>(got.data()), 8 * got.size())), Hex(share[p])) << "n " << b.n;
    }
  }
}

// Expects that both parties' shares at m places per key add up to beta if x < alpha, otherwise to zero.
void Expect(int n, int words, int bits, const std::vector<uint64_t>& alpha, const std::vector<uint64_t>& x, int m,
            std::mt19937_64& rng) {
  KeyBatch b{{}, uint32_t(rng()), n, alpha.size(), words, bits};
  for (uint8_t& v : b.tree_key) v = uint8_t(rng());
  std::vector<uint64_t> beta(size_t(words) * b.count);
  for (uint64_t& v : beta) v = rng();
  const size_t root_bytes = 16 * size_t(words),
               key_bytes = fss::ElementBytes(int(fss::DcfKeyBits(n, words, bits, fss::DcfScheme::kMyl7)));
  Bytes root[2], key(b.count * key_bytes + 8, 0xa5);
  for (Bytes& r : root)
    for (size_t i = 0; i < b.count * root_bytes; ++i) r.push_back(uint8_t(rng()));
  kKernels.DcfGen(b, alpha.data(), beta.data(), {root[0].data(), root[1].data()}, key.data());
  ASSERT_EQ(key[b.count * key_bytes], 0xa5) << "wrote beyond";
  std::vector<uint64_t> out[2];
  for (int p : {0, 1}) {
    out[p].assign(beta.size() * size_t(m) + 1, 0xa5a5);
    kKernels.DcfEval(b, p, root[p].data(), key.data(), x.data(), m, out[p].data());
    ASSERT_EQ(out[p].back(), 0xa5a5u) << "wrote beyond";
  }
  for (size_t w = 0; w + 1 < out[0].size(); ++w) {
    const size_t i = w % b.count, j = w / b.count % size_t(m), k = w / b.count / size_t(m);
    const uint64_t want = x[i * size_t(m) + j] < alpha[i] ? beta[k * b.count + i] & ring::Mask(bits) : 0;
    ASSERT_EQ((out[0][w] | out[1][w]) & ~ring::Mask(bits), 0u) << "not reduced";
    ASSERT_EQ((out[0][w] + out[1][w]) & ring::Mask(bits), want) << "n " << n << " word " << k << " x " << x[i];
  }
}

TEST(Myl7, EveryAlphaAtEveryPlace) {
  std::mt19937_64 rng(1);
  for (int n = 1; n <= 8; ++n) {
    std::vector<uint64_t> all(size_t{1} << n), x;
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (size_t i = 0; i < all.size(); ++i) x.insert(x.end(), all.begin(), all.end());
    for (int words : {1, 3})
      for (int bits : {1, 33, 64}) Expect(n, words, bits, all, x, int(all.size()), rng);
  }
}

TEST(Myl7, RandomToSixtyFourBits) {
  std::mt19937_64 rng(2);
  for (int n = 9; n <= 64; ++n) {
    std::vector<uint64_t> alpha{0, ring::Mask(n), 1}, x;
    while (alpha.size() < 20) alpha.push_back(rng() & ring::Mask(n));
    for (uint64_t a : alpha)
      for (uint64_t v : {a, a - 1, a + 1, rng()}) x.push_back(v & ring::Mask(n));
    Expect(n, 1 + n % 4, 1 + int(rng() % 64), alpha, x, 4, rng);
  }
}

// Emits x's comparisons with cuts, revealed to P1, for a backend.
void Compared(Trace& t, int n, const std::vector<uint64_t>& cuts) {
  auto x = t.give<1>(Own<1>(t.input<kP1>("x", {3}, n, 0)), n, "x");
  auto one = Sec(Low(Broadcast(t.constant(1), {3}), 20));
  auto key = t.comparison(Sec(x.r), Stack<kDealer>({one, Low(Sec(x.r) * 3, std::min(n, 20))}), std::min(n, 20));
  auto shares = t.below(key, x.hat, cuts);
  t.reveal<1>(shares);
  t.close();
}

// Tests that the scheme changes only the digest of a trace, the sizes of keys and their costs.
TEST(Myl7, TheSchemeIsPartOfTheTrace) {
  Trace ours, same(MakeClear()->capabilities()), theirs(Myl7Capabilities());
  for (Trace* t : {&ours, &same, &theirs}) Compared(*t, 32, {0, 7});
  EXPECT_EQ(ours.digest(), same.digest());
  EXPECT_NE(ours.digest(), theirs.digest());
  Schedule a(ours), b(theirs);
  for (int p : {0, 1}) {
    EXPECT_EQ(a.sent(p, true), b.sent(p, true));
    EXPECT_EQ(a.key_bits(p), 3 * int64_t(fss::DcfKeyBits(32, 2, 20)));
    EXPECT_EQ(b.key_bits(p), 3 * 2 * (32 * 193 + 64));
  }
  EXPECT_TRUE(Lint(b).faults.empty());
  const Cost cost = CostOf(b);
  EXPECT_EQ(cost.total.aes[size_t(Role::kDealer)] - CostOf(a).total.aes[size_t(Role::kDealer)],
            3 * (2 * 8 * 32 - fss::DcfGenBlocks(32, 2, 20)) + 2 * 3);  // and a second seed per key and party
  // The identifier is in key headers: Session.AnotherPlanVersionGeneratorOrTraceIsRefusedAndNoSerialSpent.
  EXPECT_NE(MakeMyl7()->prg(), MakeClear()->prg());
}

TEST(Myl7, RefusesWhatItCannotRun) {
  exec::Pool pool(1);
  const auto clear = MakeClear(), packed = cpu::MakePacked(pool), myl7 = MakeMyl7();
  Trace ours, theirs(Myl7Capabilities()), tree;
  Compared(ours, 32, {5});
  Compared(theirs, 32, {5});
  auto x = tree.give<1>(Own<1>(tree.input<kP1>("x", {3}, 32, 0)), 32, "x");
  auto bit = tree.parity(tree.tree(Sec(x.r)), x.hat, {0});
  tree.reveal<1>(Map(bit, [](auto half) { return Unbits(half); }));
  tree.close();
  struct Case {
    const Trace& t;
    Backend& on;
    std::string says;  // the expected error; empty if it runs
  };
  const Case cases[] = {{ours, *clear, ""},
                        {ours, *packed, ""},
                        {theirs, *myl7, ""},
                        {tree, *packed, ""},
                        {ours, *myl7, "myl7 has no DCF of the scheme suf"},
                        {theirs, *clear, "clear has no DCF of the scheme myl7"},
                        {theirs, *packed, packed->name() + " has no DCF of the scheme myl7"},
                        {tree, *myl7, "myl7 has no DPF tree (dpfgen)"}};
  for (const Case& c : cases) {
    const Schedule s(c.t);
    for (Role role : {Role::kModel, Role::kData, Role::kDealer}) try {
        (void)c.on.Start(s, role);
        EXPECT_EQ(c.says, "") << c.on.name();
      } catch (const Error& e) {
        EXPECT_EQ(e.cause(), Cause::kRefused);
        EXPECT_EQ(e.what(), c.says);
      }
  }
}

// ---- The reason not to use their half-tree

using HalfTree = ::fss::HalfTreeDpf<64, ::fss::group::Uint<uint64_t>, ::fss::prg::Aes128MmoRaw<1>, uint64_t>;
using Block = unsigned __int128;

Block BlockOf(const int4& v) {
  Block b;
  std::memcpy(&b, &v, 16);
  return b;
}
constexpr Block kLsb = Block{1} << 96;  // the control bit of their blocks

// The public fixed-key AES under their hash, in both directions. Every evaluator knows its key.
struct Cipher {
  explicit Cipher(const uint8_t* key) {
    for (int encrypt : {0, 1}) {
      context[encrypt] = EVP_CIPHER_CTX_new();
      EVP_CipherInit_ex(context[encrypt], EVP_aes_128_ecb(), nullptr, key, nullptr, encrypt);
      EVP_CIPHER_CTX_set_padding(context[encrypt], 0);
    }
  }
  ~Cipher() {
    for (EVP_CIPHER_CTX* c : context) EVP_CIPHER_CTX_free(c);
  }
  Block Run(int encrypt, Block in) const {
    Block out;
    int size = 0;
    EVP_CipherUpdate(context[encrypt], reinterpret_cast<uint8_t*>(&out), &size, reinterpret_cast<uint8_t*>(&in), 16);
    return out;
  }
  EVP_CIPHER_CTX* context[2];
};

// Finds alpha from one party's key alone. On alpha's path the two parties' nodes differ by one delta at all levels.
// Their hash is `H(v) = E(k ^ v) ^ k ^ v`, without the orthomorphism of the paper's H. So if alpha's bit is 0, the
// level's word is
//    H(v) ^ H(v ^ delta) ^ delta = E(k ^ v) ^ E(k ^ v ^ delta).
// E is a permutation that anyone can invert: `delta = D(word ^ E(k ^ v)) ^ k ^ v`. With delta a party walks the other's
// path. The place of the first 0 is guessed; the words of all other levels confirm it.
std::optional<uint64_t> AlphaOf(const HalfTree::Key& key, int party, const Cipher& aes, Block k) {
  auto hash = [&](Block v) { return aes.Run(1, k ^ v) ^ k ^ v; };
  const Block root = (BlockOf(key.s0) & ~kLsb) | (party ? kLsb : 0);
  auto next = [&](Block v, bool bit, Block word) { return hash(v) ^ (bit ? v : 0) ^ (v & kLsb ? word : 0); };
  Block guess = root;  // the party's own node after only ones
  for (int zero = 0; zero < 63; ++zero) {
    const Block delta = aes.Run(0, BlockOf(key.cws[zero].s) ^ aes.Run(1, k ^ guess)) ^ k ^ guess;
    uint64_t alpha = 0;
    Block v = root;
    bool holds = delta & kLsb;
    for (int i = 0; i < 63 && holds; ++i) {
      const Block word = BlockOf(key.cws[i].s), one = hash(v) ^ hash(v ^ delta);
      const bool bit = word == one;
      holds = bit || word == (one ^ delta);
      alpha = alpha << 1 | bit;
      v = next(v, bit, word);
    }
    if (holds) {  // the last level corrects the child off alpha's path
      const Block word = BlockOf(key.cws[63].s) & ~kLsb, left = v & ~kLsb, other = (v ^ delta) & ~kLsb;
      return alpha << 1 | uint64_t(word == ((hash(left) ^ hash(other)) & ~kLsb));
    }
    guess = next(guess, true, BlockOf(key.cws[zero].s));
  }
  return std::nullopt;  // only for 2^64 - 1 and 2^64 - 2
}

TEST(Myl7, OneHalfTreeKeyShowsAlpha) {
  std::mt19937_64 rng(3);
  uint8_t aes_key[1][16];
  for (uint8_t& b : aes_key[0]) b = uint8_t(rng());
  auto block = [&] { return int4{int(rng()), int(rng()), int(rng()), int(rng())}; };
  HalfTree tree{::fss::prg::Aes128MmoRaw<1>(aes_key), block()};
  const Cipher aes(aes_key[0]);
  for (int i = 0; i < 50; ++i) {
    const uint64_t alpha = i == 0 ? 0 : i == 1 ? ~uint64_t{0} << 2 : rng();
    const int4 seeds[2] = {block(), block()};
    HalfTree::Key key[2];
    tree.Gen(key[0], key[1], cuda::std::span<const int4, 2>(seeds), alpha, {1, 0, 0, 0});
    for (int p : {0, 1}) EXPECT_EQ(AlphaOf(key[p], p, aes, BlockOf(tree.hash_key)), alpha) << "party " << p;
  }
}

}  // namespace
}  // namespace suf::reference
