#include "suf/model/tokens/word_models_test.hpp"

namespace suf::model {
namespace {

// Returns a model with the pieces and scores of a JSON list.
json UnigramOf(const std::string& vocab) {
  return {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", false}, {"vocab", json::parse(vocab)}};
}

const json kUnigram = UnigramOf(
    R"([["<unk>", 0], ["a", -1], ["b", -1], ["ab", -2], ["abc", -3.5], ["cd", -1.5], ["é", -2], ["abcd", -9]])");

TEST(Unigram, EqualsHuggingFace) {
  ExpectIds(kUnigram, {{"", {}},
                       {"ab", {3}},
                       {"abc", {4}},
                       {"abcd", {3, 5}},
                       {"cab", {0, 3}},
                       {"xya", {0, 1}},
                       {"xy", {0}},
                       {"a<unk>x", {1, 0}},
                       {"é", {6}},
                       {"<unk>", {0}}});
}

TEST(Unigram, BytesOfUnknownCharactersEqualHuggingFace) {
  json model = kUnigram;
  model["byte_fallback"] = true;
  for (const char* byte : {"<0x78>", "<0xC3>", "<0xB1>"}) model["vocab"].push_back(json::array({byte, -5}));
  ExpectIds(
      model,
      {{"xa", {8, 1}}, {"xxañ", {8, 8, 1, 9, 10}}, {"xy", {0}}, {"ñx", {9, 10, 8}}, {"<unk>x", {0}}, {"<unk>", {0}}});
}

// Two unknown characters may win over the piece that both are.
TEST(Unigram, JoinedUnknownCharactersThatAreAPieceEqualHuggingFace) {
  const json model = UnigramOf(R"([["<unk>", 30], ["a", 25], ["xy", 21]])");
  ExpectIds(model, {{"xy", {2}}, {"xyx", {0}}, {"axya", {1, 2, 1}}});
}

TEST(Unigram, TiesEqualHuggingFace) {
  const json model =
      UnigramOf(R"([["<unk>", 0], ["a", -0.1], ["b", -0.2], ["ab", -0.30000000000000004], ["c", -0.2], ["ac", -0.3]])");
  ExpectIds(model, {{"ab", {3}}, {"ac", {5}}, {"abac", {3, 5}}});
}

// The sum is exact, but `tokenizers` reads the scores with an error.
TEST(Unigram, ScoresAreReadAsHuggingFaceReadsThem) {
  const json model = UnigramOf(
      R"([["<unk>", -20.0], ["a", -6.5266947746276855], ["b", -12.225502967834473], ["ab", -18.752197742462158]])");
  ExpectIds(model, {{"ab", {1, 2}}});
}

TEST(Unigram, OtherSettingsAreRefused) {
  ExpectNoModel(kUnigram, {{"unk_id", 8}},
                "t.json: model.unk_id is \"8\", it must be a whole number from 0 to 7; save");
  ExpectNoModel(kUnigram, {{"unk_id", nullptr}}, "model.unk_id is missing, it must be a whole number from 0 to 7");
  ExpectNoModel(kUnigram, {{"byte_fallback", "yes"}}, "byte_fallback is \"yes\", it must be true or false");
  ExpectNoModel(kUnigram, {{"alpha", 0.5}}, "is \"0.5\", and its effect is not known here");
}

TEST(Unigram, AnotherVocabularyIsRefused) {
  const auto refused = [](const std::string& vocab, const std::string& sentence) {
    ExpectSentence([&] { (void)ReadWords(UnigramOf(vocab)); }, sentence);
  };
  refused("[]", "model.vocab is \"[]\", only a list of pieces and scores is supported");
  refused(R"([["a", 0], ["b", 1], ["a", 1]])", "model.vocab[2] repeats the piece \"a\" of model.vocab[0]");
  refused(R"([["a", 0], ["", 1]])", "model.vocab has an empty entry");
  refused("[[\"" + std::string(1025, 'x') + "\", 0]]", "of 1025 characters, the limit is 1024; use another model");
  for (const char* vocab : {R"([["a", "b"]])", R"([["a"]])", R"(["a"])", R"([[0, "a"]])"})
    refused(vocab, "only a list of a piece and a score is supported");
}

TEST(Unigram, ALongWordTakesTimeInProportion) {
  const auto m = ReadWords(kUnigram);
  Ids ids;
  m->Encode(CodePoints(200001, U'x') + CodePoints(100000, U'a'), &ids);
  EXPECT_EQ(ids.size(), 100001u);
}

}  // namespace
}  // namespace suf::model
