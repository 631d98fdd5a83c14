#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

std::string FormOf(const char* form, const std::string& text) { return NormalOf({{"type", form}}, text); }

TEST(UnicodeForms, EqualHuggingFace) {
  const std::string marks = "e\u0323\u0301\u0301 ﬁ 각", hangul = "\u1100\u1161\u11a8\u212b\u0958";
  EXPECT_EQ(FormOf("NFC", marks), "\u1eb9\u0301\u0301 ﬁ 각");
  EXPECT_EQ(FormOf("NFD", marks), "e\u0323\u0301\u0301 ﬁ \u1100\u1161\u11a8");
  EXPECT_EQ(FormOf("NFKC", marks), "\u1eb9\u0301\u0301 fi 각");
  EXPECT_EQ(FormOf("NFKD", marks), "e\u0323\u0301\u0301 fi \u1100\u1161\u11a8");
  EXPECT_EQ(FormOf("NFC", hangul), "각\u00c5\u0915\u093c");
  EXPECT_EQ(FormOf("NFD", hangul), "\u1100\u1161\u11a8A\u030a\u0915\u093c");
  EXPECT_EQ(FormOf("NFC", "\u1e9b\u0323"), "\u1e9b\u0323");
  EXPECT_EQ(FormOf("NFKC", "\u1e9b\u0323"), "\u1e69");
  EXPECT_EQ(FormOf("NFKD", "\u1e9b\u0323"), "s\u0323\u0307");
  EXPECT_EQ(FormOf("NFC", "\u0344\u0f73"), "\u0f71\u0f72\u0308\u0301");
  EXPECT_EQ(FormOf("NFC", ""), "");
}

// Unicode 13 and 16 added these characters, which `tokenizers` neither decomposes nor composes.
TEST(UnicodeForms, KeepNewerCharacters) {
  for (const char* form : {"NFC", "NFD", "NFKC", "NFKD"})
    EXPECT_EQ(FormOf(form, "\U00011938\U000105d2\u0307"), "\U00011938\U000105d2\u0307") << form;
}

TEST(UnicodeForms, EqualHuggingFaceOnEachCodePoint) {
  EXPECT_EQ(DigestOf(ReadParts({{"type", "NFC"}})), "e2bd2d5f53f4329e049d7e6c9937bc7b0899d2ad179f3e1360d10ecf66d8cd7e");
  EXPECT_EQ(DigestOf(ReadParts({{"type", "NFD"}})), "b21ebd90ae4f70e7a6e8fc7c295e9dff808e1cc2a22a4c69c1d83831c0dfb803");
  EXPECT_EQ(DigestOf(ReadParts({{"type", "NFKC"}})),
            "1b5e81c52edb598073b9a32bd8e4164c25b10c2073b454c2c7ddd62940377444");
  EXPECT_EQ(DigestOf(ReadParts({{"type", "NFKD"}})),
            "69310b82001d463333d88b5df388c95700c34394a314184f662e165e4ea2640e");
}

// Marks of a million characters are sorted in one run.
TEST(UnicodeForms, ALongRunOfMarksTakesLittleTime) {
  CodePoints text = U"a";
  for (int i = 0; i < 500000; ++i) text += U"\u0345\u0301";
  const CodePoints composed = ReadParts({{"type", "NFC"}}).normalizer->Normalise(text);
  EXPECT_EQ(composed.size(), text.size() - 1);
  EXPECT_EQ(composed.substr(0, 3), U"\u00e1\u0301\u0301");
}

TEST(UnicodeForms, FieldsAreRefused) {
  ExpectSentence([] { FormOf("NFKE", ""); }, "normalizer.type is \"NFKE\", and this normalizer is not known here");
  ExpectSentence([] { NormalOf({{"type", "NFC"}, {"version", 9}}, ""); }, "\"version\" is \"9\"");
}

}  // namespace
}  // namespace suf::model
