#include "suf/model/tokenizer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "suf/model/testing.hpp"

namespace suf::model {
namespace {

const std::string kData = "suf/model/testdata/";

const Tokenizer& Own() {
  static const Tokenizer t = Tokenizer::Load(kData + "vocab.txt");
  return t;
}

// Compares every line of a golden file, which Hugging Face `tokenizers` wrote (tools/tokenizer_golden.py).
void ExpectGolden(const Tokenizer& tokenizer, const std::string& file, int least, int least_empty) {
  std::ifstream in(kData + file);
  int lines = 0, empty = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const auto golden = nlohmann::json::parse(line);
    ASSERT_EQ(golden.size(), 2u);
    const auto text = golden.at("text").get<std::string>();
    const auto ids = golden.at("ids").get<Ids>();
    if (ids.size() == 2) {
      ++empty;
      EXPECT_THROW((void)tokenizer.Encode(text), Error) << line;
    } else {
      EXPECT_EQ(tokenizer.Encode(text), ids) << line;
    }
  }
  EXPECT_GE(lines, least);
  EXPECT_GE(empty, least_empty);
}

TEST(Tokenizer, EqualsHuggingFace) { ExpectGolden(Own(), "tokens.jsonl", 250, 6); }

// Added tokens match raw or normalised text, as single words, with spaces beside them, nested, or in other letters.
TEST(Tokenizer, AddedTokensEqualHuggingFace) {
  ExpectGolden(Tokenizer::Load(kData + "tokenizer.json"), "added.jsonl", 1400, 0);
}

nlohmann::json AddedJson() {
  std::ifstream in(kData + "tokenizer.json");
  return nlohmann::json::parse(in);
}

// A tokenizer.json without its added tokens, or with the model alone, is equivalent to vocab.txt.
TEST(Tokenizer, ATokenizerJsonSaysWhatVocabTxtSays) {
  nlohmann::json plain = AddedJson(), added = nlohmann::json::array();
  for (const auto& t : plain["added_tokens"])
    if (t["special"] == true && t["id"] < 5) added.push_back(t);
  ASSERT_EQ(added.size(), 5u);
  plain["added_tokens"] = added;
  const nlohmann::json model = {{"version", "1.0"}, {"model", plain["model"]}};
  for (const auto& json : {plain, model}) ExpectGolden(Tokenizer::Of(json.dump(), "t"), "tokens.jsonl", 250, 6);
  nlohmann::json processed = plain;
  processed["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  processed["truncation"] = {{"max_length", 3}};
  processed["padding"] = {{"strategy", {{"Fixed", 9}}}};
  EXPECT_EQ(Tokenizer::Of(" \n" + processed.dump(1), "t").Encode("the cat sat"), Own().Encode("the cat sat"));
}

TEST(Tokenizer, RulesOfATokenizerJsonThatAreNotOursAreRefused) {
  const nlohmann::json good = AddedJson();
  EXPECT_NO_THROW((void)Tokenizer::Of(good.dump(), "t"));
  const std::tuple<const char*, nlohmann::json, std::string> cases[] = {
      {"/version", "2.0", "version is the text \"2.0\", only \"1.0\" is supported"},
      {"/model", nullptr, "model is \"null\", only a WordPiece, BPE or Unigram model is supported"},
      {"/model/type", "WordLevel",
       "model.type is \"WordLevel\", only \"WordPiece\", \"BPE\", \"Unigram\" are supported"},
      {"/model/unk_token", "<unk>", "model.unk_token"},
      {"/model/vocab", nlohmann::json::array(), "model.vocab is \"[]\", only an object"},
      {"/model/vocab/cat", 7, "gives the entry"},
      {"/model/vocab/cat", -1, "gives the entry \"cat\" the id \"-1\", ids must be 0 to 1985, each once"},
      {"/model/vocab/cat", "7", "gives the entry \"cat\""},
      {"/normalizer", {{"type", "Fancy"}}, "normalizer.type is \"Fancy\""},
      {"/normalizer/lowercase", 1, "normalizer.lowercase is \"1\", it must be true or false"},
      {"/normalizer/more", 1, "normalizer.\"more\" is \"1\", and its effect is not known here"},
      {"/pre_tokenizer/type", "UnicodeScripts", "pre_tokenizer.type is \"UnicodeScripts\""},
      {"/post_processor/type", "Other", "post_processor.type"},
      {"/post_processor/single", nlohmann::json::array(), "post_processor.single is \"[]\""},
      {"/post_processor/special_tokens/[SEP]/ids", {2}, "ids is \"[2]\""},
      {"/decoder", {{"type", "Other"}}, "decoder.type is \"Other\""},
      {"/added_tokens", nullptr, "added_tokens is \"null\", only a list"},
      {"/added_tokens", nlohmann::json::array(), "added_tokens has no [CLS], which would be cut into pieces"},
      {"/added_tokens/5/id", 9, ".id is \"9\", its place in the vocabulary is "},
      {"/added_tokens/5/content", "", ".content is \"\", only a text"},
      {"/added_tokens/5/content", "[PAD]", ".content is \"[PAD]\", as of a token before it"},
      {"/added_tokens/15/content", std::string(300, 'x'), "has 300 characters, the limit is 256"},
      {"/added_tokens/5/lstrip", nullptr, ".lstrip is \"null\", only true or false"},
      {"/added_tokens/5/lstrap", true, ".\"lstrap\" is \"true\""},
      {"/moreover", true, "\"moreover\" is \"true\", and its effect is not known here"}};
  for (const auto& [place, value, sentence] : cases) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(place)] = value;
    ExpectSentence([&] { (void)Tokenizer::Of(bad.dump(), "t"); }, sentence);
  }
  // fields that are missing
  for (const char* field : {"normalizer", "pre_tokenizer", "post_processor", "added_tokens", "model"}) {
    nlohmann::json bad = good;
    bad.erase(field);
    ExpectSentence([&] { (void)Tokenizer::Of(bad.dump(), "t"); }, Str(field, " is missing, only "));
  }
}

// If two added tokens are one in the normalised text, or empty, chance decides which one the reference takes.
TEST(Tokenizer, AddedTokensThatNormaliseToOneAreRefused) {
  for (const char* content : {"HELLO world", "\xcc\x81"}) {
    nlohmann::json bad = AddedJson();
    bad["added_tokens"].push_back({{"id", bad["added_tokens"].back()["id"].get<int>() + 1},
                                   {"content", content},
                                   {"single_word", false},
                                   {"lstrip", false},
                                   {"rstrip", false},
                                   {"normalized", true},
                                   {"special", false}});
    ExpectSentence([&] { (void)Tokenizer::Of(bad.dump(), "t"); },
                   "is matched in the normalised text, where it is empty or equals another");
  }
}

TEST(Tokenizer, APointerOrAPageIsNamed) {
  const ModelFolder folder;
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 231508\n";
  ExpectSentence([&] { (void)Tokenizer::Load(folder.Write("vocab.txt", pointer)); },
                 "vocab.txt is a git-lfs pointer, not the file itself; fetch it with git lfs pull");
  for (const char* page :
       {"<!DOCTYPE html><html>", "\xef\xbb\xbf\n <HTML lang=\"en\">", "<!doctype HTML PUBLIC", "<!-- x --><html>"})
    ExpectSentence([&] { (void)Tokenizer::Load(folder.Write("vocab.txt", page)); },
                   "vocab.txt is an HTML page, not the file itself; download");
}

TEST(Tokenizer, InvalidUtf8NamesTheByte) {
  const std::pair<std::string, int> cases[] = {
      {"ab\xff", 2},           {"\x80", 0},         {"a\xc3", 1},
      {"\xc0\xaf", 0},         {"\xe0\x80\xaf", 0}, {"é\xed\xa0\x80", 2},
      {"\xf4\x90\x80\x80", 0}, {"\xf0\x9f\x98", 0}, {std::string("a\0\xfe", 3), 2}};
  for (const auto& [text, at] : cases) {
    ExpectSentence([&, &t = text] { (void)Own().Encode(t); }, Str("the text is not UTF-8 at byte ", at, ";"));
  }
}

TEST(Tokenizer, TextsWithoutATokenAreRefused) {
  for (const char* text : {"", " \t\n", "\xe2\x80\x8b", "\xcc\x81"}) {
    ExpectSentence([&] { (void)Own().Encode(text); }, "the text has no token besides [CLS] and [SEP]");
  }
}

TEST(Tokenizer, LengthIsCheckedOrCut) {
  EXPECT_EQ(CheckLength(7, 7, false), 7u);
  EXPECT_EQ(CheckLength(8, 7, true), 7u);
  ExpectSentence([] { (void)CheckLength(8, 7, false); },
                 "the text has 8 tokens; the limit is 7; shorten it or let it be cut");
  EXPECT_EQ(Own().Shorten({2, 10, 11, 12, 3}, 4), (Ids{2, 10, 11, 3}));
  EXPECT_EQ(Own().Shorten({2, 10, 3}, 3), (Ids{2, 10, 3}));
  EXPECT_EQ(Own().Shorten({2, 10, 3}, 2), (Ids{2, 3}));
  EXPECT_THROW((void)Own().Shorten({2, 3}, 3), Bug);
  ExpectSentence(
      [] {
        (void)Own().Shorten({2, 10, 3}, 1);
      },
      "the limit is 1 tokens, and the special tokens alone are 2; raise it");
}

TEST(Tokenizer, BadVocabulariesAreRefused) {
  const ModelFolder folder;
  const auto file = folder.path() / "vocab.txt";
  const std::string good = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  const std::pair<std::string, std::string> cases[] = {
      {good + "a\nb\na\n", "line 8 repeats line 6"},
      {good + "\nb\n", "line 6 is empty"},
      {good + "b\xff\n", "line 6 of"},
      {"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", "has no entry [MASK]"},
      {"", "has no entry [PAD]"},
  };
  for (const auto& [text, sentence] : cases) {
    folder.Write("vocab.txt", text);
    ExpectSentence([&] { (void)Tokenizer::Load(file); }, sentence);
  }
  ExpectSentence([&] { (void)Tokenizer::Load(folder.path() / "none.txt"); }, "there is no file");
  folder.Write("vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na");  // no newline at the end
  EXPECT_EQ(Tokenizer::Load(file).Encode("a b"), (Ids{2, 5, 1, 3}));
  folder.Write("vocab.txt", "\xef\xbb\xbf" + good + "a\n");  // a byte order mark is no part of the first entry
  EXPECT_EQ(Tokenizer::Load(file).Encode("a [PAD]"), (Ids{2, 5, 0, 3}));
}

}  // namespace
}  // namespace suf::model
