// Sequences of normalizers, Replace, and limits of files.
#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

json ReplacePart(const char* kind, const char* pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}
json SequenceOf(std::vector<json> parts) { return {{"type", "Sequence"}, {"normalizers", std::move(parts)}}; }

TEST(Replace, EqualsHuggingFace) {
  EXPECT_EQ(NormalOf(ReplacePart("Regex", " {2,}", " "), "a  b c    "), "a b c ");
  EXPECT_EQ(NormalOf(ReplacePart("Regex", " {2,}", " "), " "), " ");
  EXPECT_EQ(NormalOf(ReplacePart("Regex", "\\s+", "_"), "a \n\u3000b "), "a_b_");
  EXPECT_EQ(NormalOf(ReplacePart("String", "aa", "b."), "aaaaa a"), "b.b.a a");
  EXPECT_EQ(NormalOf(ReplacePart("String", ".", ""), "a.b"), "ab");
  EXPECT_EQ(NormalOf(ReplacePart("String", "#&~", "\\1$1"), "a#&~b"), "a\\1$1b");
}

TEST(Replace, OtherPatternsAreRefused) {
  ExpectSentence([] { NormalOf(ReplacePart("Regex", "[aeiou]+$", ""), ""); },
                 "normalizer.pattern is \"{\\\"Regex\\\":\\\"[aeiou]+$\\\"}\", and this expression is not among the 2");
  ExpectSentence([] { NormalOf(ReplacePart("String", "", "a"), ""); }, "it must be a text of 1 to 256 characters");
  ExpectSentence([] { NormalOf(ReplacePart("Glob", "*", "a"), ""); }, "\"Glob\" is \"*\"");
  json both = ReplacePart("String", "a", "b");
  both["pattern"]["Regex"] = "\\s+";
  ExpectSentence([&] { NormalOf(both, ""); }, "and this expression is not among the 2");
}

TEST(Normalizers, ASequenceAppliesItsPartsInOrder) {
  const json lower = {{"type", "Lowercase"}}, replace = ReplacePart("String", "a", "B");
  EXPECT_EQ(NormalOf(SequenceOf({lower, replace}), "AbA"), "BbB");
  EXPECT_EQ(NormalOf(SequenceOf({replace, lower}), "AbA"), "aba");
  EXPECT_EQ(NormalOf(SequenceOf({SequenceOf({lower}), replace}), "AbA"), "BbB");
  EXPECT_EQ(NormalOf(SequenceOf({}), "AbA"), "AbA");
  EXPECT_EQ(ReadParts(nullptr).normalizer, nullptr);
}

TEST(Normalizers, UnknownOnesAreRefused) {
  ExpectSentence(
      [] {
        ReadParts({{"type", "ByteLevel"}});
      },
      "t.json: normalizer.type is \"ByteLevel\", and this normalizer is not known here");
  ExpectSentence(
      [] {
        ReadParts(SequenceOf({{{"type", "NFC"}}, {{"type", "X"}}}));
      },
      "t.json: normalizer.normalizers[1].type is \"X\"");
  ExpectSentence([] { ReadParts(SequenceOf({json(1)})); }, "normalizer.normalizers[0] is not a JSON object");
  ExpectSentence([] { ReadParts("NFC"); }, "normalizer is \"NFC\", only a normalizer is supported");
  ExpectSentence([] { ReadParts({{"type", "Sequence"}}); }, "normalizer.normalizers is missing, it must be a list");
}

TEST(Normalizers, LimitsOfAFile) {
  ExpectSentence(
      [] {
        ReadParts(SequenceOf(std::vector<json>(33, {{"type", "NFC"}})));
      },
      "it must be a list of up to 32");
  json deep = {{"type", "NFC"}};
  for (int i = 0; i < 4; ++i) deep = SequenceOf({deep});
  ExpectSentence([&] { ReadParts(deep); }, "is \"Sequence\", and it is inside 3 others");
  const json doubled = ReplacePart("String", "a", "aa");
  EXPECT_EQ(NormalOf(SequenceOf(std::vector<json>(6, doubled)), "a").size(), 64u);
  ExpectSentence([&] { ReadParts(SequenceOf(std::vector<json>(7, doubled))); },
                 "and it may make a text 128 times as long; the limit is 64");
}

}  // namespace
}  // namespace suf::model
