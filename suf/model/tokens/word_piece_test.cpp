#include "suf/model/tokens/word_models_test.hpp"

namespace suf::model {
namespace {

const json kWordPiece = {{"type", "WordPiece"},
                         {"unk_token", "[UNK]"},
                         {"continuing_subword_prefix", "##"},
                         {"max_input_chars_per_word", 6},
                         {"vocab", VocabOf({"[UNK]", "a", "ab", "##b", "##bc", "##é", "##", "語", "##a"})}};

TEST(WordPiece, EqualsHuggingFace) {
  ExpectIds(kWordPiece, {{"", {}},
                         {"a", {1}},
                         {"ab", {2}},
                         {"abc", {0}},
                         {"abb", {2, 3}},
                         {"abbc", {2, 4}},
                         {"é", {0}},
                         {"aé", {1, 5}},
                         {"語a", {7, 8}},
                         {"語語", {0}},
                         {"##b", {3}},
                         {"##", {6}},
                         {"aaaaaa", {1, 8, 8, 8, 8, 8}},
                         {"aaaaaaa", {0}},
                         {"語ééééé", {7, 5, 5, 5, 5, 5}}});
}

TEST(WordPiece, AnEmptyPrefixAndAnotherUnknownTokenEqualHuggingFace) {
  json model = kWordPiece;
  model["continuing_subword_prefix"] = "";
  model["unk_token"] = "ab";
  ExpectIds(model, {{"aba", {2, 1}}, {"ba", {2}}, {"##b", {3}}, {"a##bab", {1, 3, 2}}});
}

TEST(WordPiece, OtherSettingsAreRefused) {
  ExpectNoModel(kWordPiece, {{"unk_token", "x"}},
                "t.json: model.unk_token is \"x\", it must be an entry of the vocabulary; save the tokenizer again");
  ExpectNoModel(kWordPiece, {{"max_input_chars_per_word", 0}},
                "max_input_chars_per_word is \"0\", it must be a whole number from 1 to 1073741824");
  ExpectNoModelWithout(kWordPiece, "continuing_subword_prefix", "continuing_subword_prefix is missing, only a text is");
  ExpectNoModel(kWordPiece, {{"dropout", 0.5}}, "\"dropout\" is \"0.5\", and its effect is not known here");
  ExpectNoModel(kWordPiece, {{"type", "WordLevel"}},
                "model.type is \"WordLevel\", only \"WordPiece\", \"BPE\", \"Unigram\" are supported");
  ExpectSentence([] { (void)ReadWords(json::array()); }, "model is \"[]\", only a WordPiece, BPE or Unigram model is");
  EXPECT_EQ(ReadWords(nullptr), nullptr);
}

TEST(WordPiece, AnotherVocabularyIsRefused) {
  ExpectNoModelWithout(kWordPiece, "vocab", "model.vocab is missing, only an object of entries and ids is supported");
  ExpectNoModel(kWordPiece, {{"vocab", {{"x", 9}, {"y", 11}}}},
                "gives the entry \"y\" the id \"11\", ids must be 0 to 10, each once");
  ExpectNoModel(kWordPiece, {{"vocab", {{"x", 3}}}}, "ids must be 0 to 9, each once");
  ExpectNoModel(kWordPiece, {{"vocab", {{"x", -1}}}}, "the id \"-1\", ids must be 0 to 9");
  ExpectNoModel(kWordPiece, {{"vocab", {{"x", 9.5}}}}, "the id \"9.5\", ids must be 0 to 9");
  ExpectNoModel(kWordPiece, {{"vocab", {{"", 9}}}}, "t.json: model.vocab has an empty entry; save the tokenizer again");
  ExpectNoModel(kWordPiece, {{"vocab", {{std::string(1025, 'x'), 9}}}},
                "of 1025 characters, the limit is 1024; use another model");
}

// Long entries must not make each character of a long word slow.
TEST(WordPiece, ALongWordTakesTimeInProportion) {
  json model = kWordPiece;
  model["max_input_chars_per_word"] = 1 << 20;
  model["vocab"]["##" + std::string(1000, 'a') + "b"] = 9;
  const auto m = ReadWords(model);
  Ids ids;
  m->Encode(CodePoints(5000, U'a'), &ids);
  EXPECT_EQ(ids.size(), 5000u);
}

}  // namespace
}  // namespace suf::model
