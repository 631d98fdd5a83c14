#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

json BertPart(bool clean, bool chinese, json accents, bool lower) {
  return {{"type", "BertNormalizer"},
          {"clean_text", clean},
          {"handle_chinese_chars", chinese},
          {"strip_accents", std::move(accents)},
          {"lowercase", lower}};
}

TEST(BertNormalizer, EqualsHuggingFace) {
  const std::string text = std::string("Ab\té") + '\0' + "\u200b中İ", marks = "e\u0301\ufffdΣ";
  EXPECT_EQ(NormalOf(BertPart(true, true, nullptr, true), text), "ab e 中 i");
  EXPECT_EQ(NormalOf(BertPart(true, true, nullptr, true), marks), "eσ");
  EXPECT_EQ(NormalOf(BertPart(true, true, nullptr, false), text), "Ab é 中 İ");
  EXPECT_EQ(NormalOf(BertPart(true, true, nullptr, false), marks), "e\u0301Σ");
  EXPECT_EQ(NormalOf(BertPart(false, false, true, false), text), std::string("Ab\te") + '\0' + "\u200b中I");
  EXPECT_EQ(NormalOf(BertPart(false, false, false, true), text), std::string("ab\té") + '\0' + "\u200b中i\u0307");
  EXPECT_EQ(NormalOf(BertPart(false, false, false, true), marks), "e\u0301\ufffdσ");
}

TEST(BertNormalizer, EqualsHuggingFaceOnEachCodePoint) {
  EXPECT_EQ(DigestOf(ReadParts(BertPart(true, true, nullptr, true))),
            "a54a69b414b5921a685a7203c798ce7abfac288fe68c5232e595948181b41d49");
  EXPECT_EQ(DigestOf(ReadParts(BertPart(true, true, nullptr, false))),
            "a98a5de665138c4ebc2df887fdbaece6e8997ecebb4049692764fd5035cb5357");
  EXPECT_EQ(DigestOf(ReadParts(BertPart(false, false, true, false))),
            "f423ae36e67f55b81fd4480a2cd8c6cd4f6f57825674e8a9d1db8bcd5921d7c8");
  EXPECT_EQ(DigestOf(ReadParts(BertPart(false, true, false, true))),
            "b5a8397b3c6b0c427817b29d9f450c47696d1fd090471ae53366eee46ed876fa");
}

TEST(BertNormalizer, OtherSettingsAreRefused) {
  json part = BertPart(true, true, 1, true);
  ExpectSentence([&] { ReadParts(part); }, "t.json: normalizer.strip_accents is \"1\", it must be true or false");
  part = BertPart(true, true, nullptr, true);
  part["keep_accents"] = true;
  ExpectSentence([&] { ReadParts(part); }, "\"keep_accents\" is \"true\", and its effect is not known here");
  part.erase("keep_accents");
  part.erase("lowercase");
  ExpectSentence([&] { ReadParts(part); }, "normalizer.lowercase is missing, it must be true or false");
}

}  // namespace
}  // namespace suf::model
