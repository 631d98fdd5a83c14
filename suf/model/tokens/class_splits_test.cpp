#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

TEST(ClassSplits, EqualHuggingFace) {
  const std::string text = "it's  5.0\u3000中文—a_b $x";
  EXPECT_EQ(SplitOf({{"type", "BertPreTokenizer"}}, text), "it|'|s|5|.|0|中文|—|a|_|b|$|x");
  EXPECT_EQ(SplitOf({{"type", "Whitespace"}}, text), "it|'|s|5|.|0|中文|—|a_b|$|x");
  EXPECT_EQ(SplitOf({{"type", "WhitespaceSplit"}}, text), "it's|5.0|中文—a_b|$x");
  for (const char* type : {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
    EXPECT_EQ(SplitOf({{"type", type}}, " "), "") << type;
  EXPECT_EQ(SplitOf({{"type", "Digits"}, {"individual_digits", true}}, "a12½b"), "a|1|2|½|b");
  EXPECT_EQ(SplitOf({{"type", "Digits"}, {"individual_digits", false}}, "a12½b"), "a|12½|b");
}

TEST(ClassSplits, PunctuationGoesWhereTheBehaviourSays) {
  const std::tuple<const char*, const char*, const char*, const char*, const char*> cases[] = {
      {"Removed", "the|final|countdown", "a", "a", ""},
      {"Isolated", "the|-|final|-|-|countdown", "-|-|a", "a|-|-", "-"},
      {"MergedWithPrevious", "the-|final-|-|countdown", "-|-|a", "a-|-", "-"},
      {"MergedWithNext", "the|-final|-|-countdown", "-|-a", "a|-|-", "-"},
      {"Contiguous", "the|-|final|--|countdown", "--|a", "a|--", "-"}};
  for (const auto& [behavior, inside, start, end, alone] : cases) {
    const json part = {{"type", "Punctuation"}, {"behavior", behavior}};
    EXPECT_EQ(SplitOf(part, "the-final--countdown"), inside) << behavior;
    EXPECT_EQ(SplitOf(part, "--a"), start) << behavior;
    EXPECT_EQ(SplitOf(part, "a--"), end) << behavior;
    EXPECT_EQ(SplitOf(part, "-"), alone) << behavior;
  }
  EXPECT_EQ(SplitOf({{"type", "Punctuation"}}, "a-b"), "a|-|b");
}

TEST(ClassSplits, EqualHuggingFaceOnEachCodePoint) {
  EXPECT_EQ(DigestOf(ReadParts({}, {{"type", "BertPreTokenizer"}})),
            "8efa803484683dca0fa0be651a85020e1e459a07d0ff2f3888bd1b9c9181a533");
  EXPECT_EQ(DigestOf(ReadParts({}, {{"type", "Whitespace"}})),
            "2736fa5617f32aff7377dff3e8720c7d4e4638809f6c78ca07fead701fc237a1");
  EXPECT_EQ(DigestOf(ReadParts({}, {{"type", "WhitespaceSplit"}})),
            "4df96ba119da86b70e8156e3a14c175b1543ad880bc64cc3e0bb5104f21aac69");
  EXPECT_EQ(DigestOf(ReadParts({}, {{"type", "Digits"}, {"individual_digits", false}})),
            "5c8fc14e4181fb6d7523af1e9dee3a39faa4d8135be6c9837305ecbe9f447656");
  EXPECT_EQ(DigestOf(ReadParts({}, {{"type", "Punctuation"}})),
            "06a659001c4baf08008d8c45103c18d6bcae0a0cf7c42d7d6b791ed17fdc2ec4");
}

TEST(ClassSplits, OtherSettingsAreRefused) {
  ExpectSentence(
      [] {
        SplitOf({{"type", "Punctuation"}, {"behavior", "removed"}}, "");
      },
      "pre_tokenizer.behavior is \"removed\", only \"Removed\"");
  ExpectSentence([] { SplitOf({{"type", "Digits"}}, ""); }, "pre_tokenizer.individual_digits is missing");
  ExpectSentence([] { SplitOf({{"type", "Whitespace"}, {"behavior", "Removed"}}, ""); }, "\"behavior\" is \"Removed\"");
}

}  // namespace
}  // namespace suf::model
