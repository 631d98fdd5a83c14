#include "suf/model/tokens/word_models_test.hpp"

namespace suf::model {
namespace {

const json kBpe = json::parse(R"({
  "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": "",
  "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
  "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "aa": 6, "aaaa": 7, "<unk>": 8, "<0xC3>": 9,
            "<0xA9>": 10, "cab": 11},
  "merges": [["b", "c"], ["a", "b"], ["ab", "c"], ["a", "bc"], ["a", "a"], ["aa", "aa"]]})");

json BpeWith(const json& patch) {
  json model = kBpe;
  model.merge_patch(patch);
  return model;
}

TEST(Bpe, EqualsHuggingFace) {
  const std::vector<std::pair<std::string, Ids>> words = {
      {"", {}},        {"abc", {5}}, {"aaaaa", {7, 0}}, {"aaaaaaa", {7, 6, 0}},
      {"cab", {2, 3}}, {"xax", {0}}, {"xyéya", {0}},    {"é", {}}};
  ExpectIds(kBpe, words);
  ExpectIds(BpeWith({{"merges", {"#version: 0.2", "b c", "a b", "ab c", "a bc", "a a", "aa aa"}}}), words);
  ExpectIds({{"type", "BPE"}, {"vocab", VocabOf({"b", "a"})}, {"merges", json::array()}}, {{"abé", {1, 0}}});
  ExpectIds(BpeWith({{"dropout", 0}, {"ignore_merges", true}}), {{"cab", {11}}, {"abcab", {5, 3}}});
}

TEST(Bpe, TheLeastRankIsMergedFirst) {
  json model = kBpe;
  model["vocab"] = VocabOf({"a", "b", "c", "d", "ab", "bc", "abc", "cd", "bcd"});
  model["merges"] = {"c d", "a b", "b c", "ab c", "a bc", "b cd"};
  ExpectIds(model, {{"abc", {6}}, {"abcd", {4, 7}}, {"bcd", {8}}});
}

TEST(Bpe, UnknownCharactersEqualHuggingFace) {
  ExpectIds(BpeWith({{"unk_token", "<unk>"}}),
            {{"xax", {8, 0, 8}}, {"xxa", {8, 8, 0}}, {"xyéya", {8, 8, 8, 8, 0}}, {"é", {8}}});
  ExpectIds(BpeWith({{"unk_token", "<unk>"}, {"fuse_unk", true}}),
            {{"xax", {8, 0, 8}}, {"xxa", {8, 0}}, {"xyéya", {8, 0}}, {"é", {8}}});
  ExpectIds(BpeWith({{"unk_token", "<unk>"}, {"byte_fallback", true}}),
            {{"xxa", {8, 8, 0}}, {"xéa", {9, 10, 8, 0}}, {"xyéya", {8, 9, 10, 8, 8, 0}}, {"é", {9, 10}}});
  ExpectIds(BpeWith({{"unk_token", "<unk>"}, {"byte_fallback", true}, {"fuse_unk", true}}),
            {{"xxa", {8, 0}}, {"xéa", {9, 10, 8, 0}}, {"xyéya", {9, 10, 8, 0}}});
}

TEST(Bpe, OtherSettingsAreRefused) {
  ExpectNoModel(kBpe, {{"dropout", 0.1}}, "t.json: model.dropout is \"0.1\", only null is supported");
  ExpectNoModel(kBpe, {{"unk_token", "?"}}, "model.unk_token is \"?\", it must be an entry of the vocabulary");
  ExpectNoModel(kBpe, {{"continuing_subword_prefix", "##"}}, "continuing_subword_prefix is \"##\", which changes the");
  ExpectNoModel(kBpe, {{"end_of_word_suffix", "</w>"}}, "end_of_word_suffix is \"</w>\", which changes the result");
  ExpectNoModel(kBpe, {{"fuse_unk", 1}}, "model.fuse_unk is \"1\", it must be true or false");
  ExpectNoModel(kBpe, {{"cache", 5}}, "\"cache\" is \"5\", and its effect is not known here");
  ExpectNoModel(kBpe, {{"vocab", {{"x", 11}}}}, "ids must be 0 to 12, each once");
}

TEST(Bpe, WrongMergesAreRefused) {
  ExpectNoModelWithout(kBpe, "merges", "model.merges is missing, only a list is supported");
  const auto refused = [](const std::string& merges, const std::string& sentence) {
    ExpectNoModel(kBpe, {{"merges", json::parse(merges)}}, sentence);
  };
  refused(R"([["a", "b"], ["a", "x"]])", "and \"x\" is no entry of the vocabulary; save the tokenizer again");
  refused(R"([["c", "c"]])", "and \"cc\" is no entry of the vocabulary");
  refused(R"(["a b", " b"])", "and \"\" is no entry of the vocabulary");
  refused(R"([["b", "c"], ["a", "b"], ["b", "c"]])", "t.json: the merges 0 and 2 join the same pair");
  for (const char* merges : {R"(["a b c"])", R"(["ab"])", R"([["a", "b", "c"]])", R"([["a", 1]])", "[7]"})
    refused(merges, "only two texts, or one text with one space, are supported");
  refused(R"(["a b", ["b", "c"]])", "and the first one has another form");
}

TEST(Bpe, ALongWordTakesTimeInProportion) {
  const auto m = ReadWords(kBpe);
  Ids ids;
  m->Encode(CodePoints(400002, U'a'), &ids);
  EXPECT_EQ(ids.size(), 100001u);
  EXPECT_EQ(ids.back(), 6);
}

}  // namespace
}  // namespace suf::model
