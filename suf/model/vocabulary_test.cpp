#include "suf/model/vocabulary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace suf::model {
namespace {

TEST(Vocabulary, OnlyAWholeDigestIsKnown) {
  const Bytes digest = FromHex("07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", 32, "a digest");
  Hash bert{};
  std::copy(digest.begin(), digest.end(), bert.begin());
  EXPECT_EQ(KnownVocabulary(bert), "bert-base-uncased");
  EXPECT_EQ(KnownVocabulary(Hash{}), "");
  for (size_t bit = 0; bit < 8 * bert.size(); ++bit) {
    Hash other = bert;
    other[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_EQ(KnownVocabulary(other), "");
  }
}

}  // namespace
}  // namespace suf::model
