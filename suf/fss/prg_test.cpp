#include "suf/fss/prg.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "suf/base/digest.hpp"
#include "suf/base/known_answers_test.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss {
namespace {

const internal::AesKernels& Aes(Isa v) {
  const internal::AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
  return *ring::Pick(kTable, v);
}

TEST(Aes, KnownAnswers) {
  for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/aes.txt")) {
    const Bytes key = r.Hex("key"), plain = r.Hex("plain"), cipher = r.Hex("cipher");
    r.ExpectAllRead();
    for (Isa v : ring::Supported()) {
      uint8_t keys[176], out[16];
      Aes(v).expand(key.data(), keys);
      Aes(v).encrypt(keys, plain.data(), out, 1);
      EXPECT_EQ(Hex(out), Hex(cipher)) << ring::Name(v);
    }
  }
}

TEST(Aes, EveryVariantEqualsThePortableOne) {
  std::mt19937_64 rng(3);
  for (Isa v : ring::Supported()) {
    for (size_t n = 0; n <= 70; ++n) {
      Bytes key(16), in(16 * n), want(16 * n), got(16 * n + 16, 0xa5);
      for (uint8_t& b : key) b = uint8_t(rng());
      for (uint8_t& b : in) b = uint8_t(rng());
      uint8_t k0[176], k1[176];
      Aes(Isa::kPortable).expand(key.data(), k0);
      Aes(v).expand(key.data(), k1);
      ASSERT_EQ(Hex(k0), Hex(k1)) << ring::Name(v);
      for (auto f : {&internal::AesKernels::encrypt, &internal::AesKernels::hash}) {
        (Aes(Isa::kPortable).*f)(k0, in.data(), want.data(), n);
        (Aes(v).*f)(k0, in.data(), got.data(), n);
        ASSERT_EQ(Hex(View(got).first(16 * n)), Hex(want)) << ring::Name(v) << " " << n;
        ASSERT_EQ(got[16 * n], 0xa5);
      }
      if (n == 0) continue;
      Bytes same = in;  // encrypted in place
      Aes(v).encrypt(k0, same.data(), same.data(), n);
      Aes(Isa::kPortable).encrypt(k0, in.data(), want.data(), n);
      ASSERT_EQ(Hex(same), Hex(want));
    }
  }
}

TEST(Prg, KnownAnswers) {
  EXPECT_EQ(kPrgId, 1u);
  EXPECT_STREQ(kPrgName, "aes128-ctr-sha256");
  for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/prg.txt")) {
    const Hash key = r.Array<32>("key"), rho = r.Array<32>("rho");
    const Bytes want = r.Hex("out");
    const uint64_t offset = r.Number("offset");
    const int party = int(r.Number("party"));
    const uint32_t section = uint32_t(r.Number("section"));
    r.ExpectAllRead();
    for (Isa v : ring::Supported()) {
      const Prg prg(Secret(View(key)), rho, party, v);
      Bytes got(want.size() + 8, 0xa5);
      prg.At(section).Fill(offset, std::span(got).first(want.size()));
      EXPECT_EQ(Hex(View(got).first(want.size())), Hex(want)) << ring::Name(v);
      EXPECT_EQ(got[want.size()], 0xa5) << "wrote beyond";
      const uint32_t list[] = {section + 1, section, 0, section};
      const auto keys = prg.KeysOf(list);
      ASSERT_EQ(keys.size(), 4u);
      for (size_t i : {1u, 3u}) {
        Bytes again(want.size());
        Aes(v).ctr(keys[i].round_keys.data(), keys[i].nonce.data(), uint32_t(offset / 16), again.data(), again.size());
        EXPECT_EQ(Hex(again), Hex(want)) << ring::Name(v) << " " << i;
      }
      EXPECT_NE(Hex(keys[0].round_keys), Hex(keys[1].round_keys));
      EXPECT_NE(Hex(keys[0].nonce), Hex(keys[1].nonce));
    }
  }
}

TEST(Prg, AnAddressGivesTheSameBytesHoweverItIsRead) {
  const Hash key = HashOf({AsView("key")}), rho = HashOf({AsView("rho")});
  Bytes whole(3000);
  Prg(Secret(View(key)), rho, 1, Isa::kPortable).At(5).Fill(0, whole);
  for (Isa v : ring::Supported()) {
    const Prg prg(Secret(View(key)), rho, 1, v);
    const auto section = prg.At(5);
    for (size_t at = 0; at < 1100; at += 16) {
      for (size_t n : {size_t(0), size_t(1), size_t(15), size_t(16), size_t(127), size_t(128), size_t(513),
                       size_t(1024), size_t(1700)}) {
        Bytes part(n);
        section.Fill(at, part);
        ASSERT_TRUE(Equal(part, View(whole).subspan(at, n))) << ring::Name(v) << " " << at << " " << n;
      }
    }
  }
}

TEST(Prg, SectionsPartiesKeysAndSaltsDiffer) {
  auto first = [](uint8_t key, uint8_t rho, int party, uint32_t section) {
    Hash k{}, r{};
    k[0] = key;
    r[0] = rho;
    Bytes out(16);
    Prg(Secret(View(k)), r, party).At(section).Fill(0, out);
    return Hex(out);
  };
  std::set<std::string> seen;
  for (int i = 0; i < 16; ++i) seen.insert(first(i & 1, i >> 1 & 1, i >> 2 & 1, uint32_t(i >> 3)));
  EXPECT_EQ(seen.size(), 16u);
}

TEST(Prg, ASectionEndsAfterTwoToThe32Blocks) {
  const Prg prg(Secret(), Hash{}, 0);
  const auto section = prg.At(0);
  Bytes out(32);
  section.Fill((uint64_t{1} << 36) - 32, out);
  EXPECT_THROW(section.Fill((uint64_t{1} << 36) - 16, out), Bug);
  EXPECT_THROW(section.Fill(8, out), Bug);
}

}  // namespace
}  // namespace suf::fss
