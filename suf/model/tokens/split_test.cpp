// Split, and Sequences of pre-tokenizers.
#include "suf/model/tokens/parts_test.hpp"
#include "suf/model/tokens/patterns.hpp"

namespace suf::model {
namespace {

json SplitPart(const char* kind, const char* pattern, const char* behavior = "Isolated", bool invert = false) {
  return {{"type", "Split"}, {"pattern", {{kind, pattern}}}, {"behavior", behavior}, {"invert", invert}};
}
json Gpt2Part() { return SplitPart("Regex", SplitExpressions()[0].text); }
json Llama3Part() { return SplitPart("Regex", SplitExpressions()[1].text); }
json Qwen2Part() { return SplitPart("Regex", SplitExpressions()[2].text); }

TEST(Split, ExpressionsEqualHuggingFace) {
  const std::string text = "I'M 12345 don't  we'LL\r\n\n x";
  EXPECT_EQ(SplitOf(Gpt2Part(), text), "I|'|M| 12345| don|'t| | we|'|LL|\r\n\n| x");
  EXPECT_EQ(SplitOf(Llama3Part(), text), "I|'M| |123|45| don|'t| | we|'LL|\r\n\n| x");
  EXPECT_EQ(SplitOf(Qwen2Part(), text), "I|'M| |1|2|3|4|5| don|'t| | we|'LL|\r\n\n| x");
  EXPECT_EQ(SplitOf(Gpt2Part(), "a\t\tb  "), "a|\t|\t|b|  ");
  EXPECT_EQ(SplitOf(Llama3Part(), "a\t\tb  "), "a|\t|\tb|  ");
  EXPECT_EQ(SplitOf(Gpt2Part(), "'ſ 's\u3000é\u0301½"), "'|ſ| '|s|\u3000|é|\u0301|½");
  EXPECT_EQ(SplitOf(Llama3Part(), "'ſ 's\u3000é\u0301½"), "'ſ| '|s|\u3000é|\u0301|½");
  EXPECT_EQ(SplitOf(Gpt2Part(), "...\r\n!!"), "...|\r|\n|!!");
  EXPECT_EQ(SplitOf(Llama3Part(), "...\r\n!!"), "...\r\n|!!");
  EXPECT_EQ(SplitOf(Gpt2Part(), "  \n  "), "  \n  ");
  EXPECT_EQ(SplitOf(Qwen2Part(), "  \n  "), "  \n|  ");
}

TEST(Split, EqualsHuggingFaceOnEachCodePoint) {
  EXPECT_EQ(DigestOf(ReadParts({}, Gpt2Part())), "ff4341d58632caf1b3e03e10dd5e84b8ca65dd44b713a54cd9a8e7b41a81edad");
  EXPECT_EQ(DigestOf(ReadParts({}, Llama3Part())), "0a2de2485a893fedb212161ae21a8ad7d7ee91d2e1445da0fbb28598cde33020");
  EXPECT_EQ(DigestOf(ReadParts({}, Qwen2Part())), "0a2de2485a893fedb212161ae21a8ad7d7ee91d2e1445da0fbb28598cde33020");
}

TEST(Split, MatchesGoWhereTheBehaviourSays) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"Removed", "x|y", "ab|ab|ab"},
      {"Isolated", "x|ab|ab|y|ab", "x|ab|ab|y|ab"},
      {"MergedWithPrevious", "xab|ab|yab", "x|ab|aby|ab"},
      {"MergedWithNext", "x|ab|aby|ab", "xab|ab|yab"},
      {"Contiguous", "x|abab|y|ab", "x|abab|y|ab"}};
  for (const auto& [behavior, matches, others] : cases) {
    EXPECT_EQ(SplitOf(SplitPart("String", "ab", behavior, false), "xababyab"), matches) << behavior;
    EXPECT_EQ(SplitOf(SplitPart("String", "ab", behavior, true), "xababyab"), others) << behavior;
  }
}

// A matcher that scanned a run again for each of its characters would take minutes.
TEST(Split, LongRunsTakeLittleTime) {
  constexpr size_t kLength = 1 << 20;
  for (const json& part : {Gpt2Part(), Llama3Part(), Qwen2Part()})
    for (const char32_t c : {U' ', U'\n', U'a', U'1', U'.', U'\''}) {
      const TextParts parts = ReadParts({}, part);
      size_t length = 0;
      for (const CodePoints& word : parts.Words(U"\n" + CodePoints(kLength, c) + U"x")) length += word.size();
      EXPECT_EQ(length, kLength + 2);
    }
}

TEST(Split, OtherPatternsAreRefused) {
  ExpectSentence(
      [] { SplitOf(SplitPart("Regex", "\\d+"), ""); },
      "t.json: pre_tokenizer.pattern is \"{\\\"Regex\\\":\\\"\\\\d+\\\"}\", and this expression is not among the 3");
  ExpectSentence([] { SplitOf(SplitPart("String", ""), ""); }, "it must be a text of 1 to 256 characters");
  json part = Gpt2Part();
  part["pattern"] = "a";
  ExpectSentence([&] { SplitOf(part, ""); }, "pre_tokenizer.pattern is \"a\", only a String or a Regex is supported");
  part = Gpt2Part();
  part.erase("behavior");
  ExpectSentence([&] { SplitOf(part, ""); }, "pre_tokenizer.behavior is missing, only \"Removed\"");
}

TEST(PreTokenizers, ASequenceAppliesItsPartsInOrder) {
  const auto sequence = [](std::vector<json> parts) {
    return json{{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
  };
  const json digits = {{"type", "Digits"}, {"individual_digits", true}}, spaces = {{"type", "WhitespaceSplit"}};
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}};
  EXPECT_EQ(SplitOf(sequence({spaces, digits, bytes}), "ab1 é"), "Ġab|Ġ1|ĠÃ©");
  EXPECT_EQ(SplitOf(sequence({}), "a b"), "a b");
  EXPECT_EQ(ReadParts(nullptr, nullptr).pre_tokenizer, nullptr);
  ExpectSentence(
      [&] {
        SplitOf(sequence({bytes, sequence({bytes})}), "");
      },
      "pre_tokenizer.pretokenizers[1].pretokenizers[0].type is \"ByteLevel\", and it occurs twice");
  ExpectSentence(
      [&] {
        SplitOf(sequence({spaces, {{"type", "UnicodeScripts"}}}), "");
      },
      "pre_tokenizer.pretokenizers[1].type is \"UnicodeScripts\", and this pre-tokenizer is not known here");
  ExpectSentence([&] { SplitOf(sequence({sequence({sequence({sequence({spaces})})})}), ""); }, "inside 3 others");
}

}  // namespace
}  // namespace suf::model
