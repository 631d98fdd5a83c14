#include "suf/base/aead.hpp"

#include <gtest/gtest.h>

#include "suf/base/digest.hpp"

namespace suf {
namespace {

TEST(Aead, OpensWhatItSealedAndNothingElse) {
  Bytes key(kAeadKeyBytes);
  RandomBytes(key);
  const Bytes context{1, 2, 3}, plain{9, 8, 7, 6, 5};
  const Bytes sealed = SealOnce(key, context, plain);
  EXPECT_EQ(sealed.size(), plain.size() + kAeadTagBytes);
  EXPECT_EQ(OpenSealed(key, context, sealed), plain);
  for (size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Bytes other = sealed;
    other[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_EQ(OpenSealed(key, context, other), std::nullopt) << bit;
  }
  for (size_t n = 0; n < sealed.size(); ++n) EXPECT_EQ(OpenSealed(key, context, View(sealed).first(n)), std::nullopt);
  EXPECT_EQ(OpenSealed(key, Bytes{1, 2}, sealed), std::nullopt);
  key[15] ^= 1;
  EXPECT_EQ(OpenSealed(key, context, sealed), std::nullopt);
}

// Test case 2 of the GCM specification: a zero key and a zero nonce.
TEST(Aead, KnowsAPublishedAnswer) {
  const Bytes zeros(16);
  EXPECT_EQ(Hex(SealOnce(zeros, {}, zeros)), "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf");
}

TEST(Aead, SealsNothing) {
  const Bytes zeros(16);
  EXPECT_EQ(OpenSealed(zeros, {}, SealOnce(zeros, {}, {})), Bytes());
}

}  // namespace
}  // namespace suf
