#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

json MetaspacePart(const char* scheme, bool split) {
  return {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", split}};
}

TEST(Metaspace, EqualsHuggingFace) {
  EXPECT_EQ(SplitOf(MetaspacePart("always", true), "a b"), "▁a|▁b");
  EXPECT_EQ(SplitOf(MetaspacePart("always", true), " a  b "), "▁a|▁|▁b|▁");
  EXPECT_EQ(SplitOf(MetaspacePart("always", true), "▁a☃b"), "▁a|☃|▁b");
  EXPECT_EQ(SplitOf(MetaspacePart("always", false), " a  b "), "▁a▁▁b▁");
  EXPECT_EQ(SplitOf(MetaspacePart("never", true), "a b"), "a|▁b");
  EXPECT_EQ(SplitOf(MetaspacePart("never", false), "a b☃c"), "a▁b|☃|c");
  EXPECT_EQ(SplitOf(MetaspacePart("first", true), "a b"), "▁a|▁b");
  EXPECT_EQ(SplitOf(MetaspacePart("first", true), " a"), "▁a");
  EXPECT_EQ(SplitOf(MetaspacePart("first", true), "☃a"), "☃|a");
  EXPECT_EQ(SplitOf(MetaspacePart("first", false), "a☃b"), "▁a|☃|b");
}

// A word is the first one if its first character stems from the first character of the raw text.
TEST(Metaspace, TheFirstWordIsThatOfTheRawText) {
  const auto words = [](json normalizer, const char* text) {
    return WordsOf(ReadParts(std::move(normalizer), MetaspacePart("first", true)), text);
  };
  const json strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}};
  EXPECT_EQ(words(strip, "a"), "▁a");
  EXPECT_EQ(words(strip, " a"), "a");
  EXPECT_EQ(words({{"type", "StripAccents"}}, "\u0301a"), "a");
  EXPECT_EQ(words({{"type", "Prepend"}, {"prepend", "-"}}, "a"), "▁-a");
  // The content of Replace stems from the last character of the match.
  const auto replace = [](const char* from, const char* to) {
    return json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  EXPECT_EQ(words(replace("ab", "x"), "abc"), "xc");
  EXPECT_EQ(words(replace("ab", "x"), "bc"), "▁bc");
  EXPECT_EQ(words(replace("a", "xyz"), "abc"), "▁xyzbc");
}

// Several words are the first one if a normalizer made them of one character.
TEST(Metaspace, OneCharacterMayGiveSeveralFirstWords) {
  const json split = {
      {"type", "Sequence"},
      {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, MetaspacePart("first", true)}}};
  const TextParts parts = ReadParts({{"type", "NFKC"}}, split);
  EXPECT_EQ(WordsOf(parts, "½"), "▁1|▁⁄|▁2");
  EXPECT_EQ(WordsOf(parts, "1½"), "▁1|1|⁄|2");
}

TEST(Metaspace, OlderFilesHaveAddPrefixSpace) {
  const json old = {{"type", "Metaspace"}, {"replacement", "▁"}, {"add_prefix_space", true}, {"str_rep", "▁"}};
  EXPECT_EQ(SplitOf(old, "a b☃c"), "▁a|▁b|☃|▁c");
  json never = MetaspacePart("never", true);
  never["add_prefix_space"] = false;
  EXPECT_EQ(SplitOf(never, "a b"), "a|▁b");
  never["prepend_scheme"] = "first";
  ExpectSentence([&] { SplitOf(never, ""); },
                 "pre_tokenizer.add_prefix_space is \"false\", and prepend_scheme is \"first\", which contradicts it");
}

TEST(Metaspace, OtherSettingsAreRefused) {
  json part = MetaspacePart("last", true);
  ExpectSentence([&] { SplitOf(part, ""); }, "pre_tokenizer.prepend_scheme is \"last\", only \"always\"");
  part = MetaspacePart("first", true);
  part["replacement"] = "__";
  ExpectSentence([&] { SplitOf(part, ""); }, "replacement is \"__\", it must be a text of 1 to 1 characters");
  part["replacement"] = "_";
  part["split"] = 0;
  ExpectSentence([&] { SplitOf(part, ""); }, "split is \"0\", it must be true or false");
}

}  // namespace
}  // namespace suf::model
