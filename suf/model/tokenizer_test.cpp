#include "suf/model/tokenizer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/model/internal/words.hpp"
#include "suf/model/testing.hpp"

namespace suf::model {
namespace {

const std::string kData = "suf/model/testdata/";

const Tokenizer& Own() {
  static const Tokenizer t = Tokenizer::Load(kData + "vocab.txt");
  return t;
}

// Every line of the golden file, which Hugging Face `tokenizers` wrote (tools/tokenizer_golden.py).
TEST(Tokenizer, EqualsHuggingFace) {
  std::ifstream in(kData + "tokens.jsonl");
  int lines = 0, empty = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const auto golden = nlohmann::json::parse(line);
    ASSERT_EQ(golden.size(), 2u);
    const auto text = golden.at("text").get<std::string>();
    const auto ids = golden.at("ids").get<Ids>();
    if (ids.size() == 2) {
      ++empty;
      EXPECT_THROW((void)Own().Encode(text), Error) << line;
    } else {
      EXPECT_EQ(Own().Encode(text), ids) << line;
    }
  }
  EXPECT_GT(lines, 1400);
  EXPECT_GT(empty, 5);
}

// Every code point there is, between two letters.
TEST(Tokenizer, WordsOfEveryCodePoint) {
  std::ifstream in(kData + "words.txt");
  char32_t next = 0;
  for (std::string start, digest; in >> start >> digest;) {
    Sha256 hash;
    for (const char32_t end = next + 4096; next < end; ++next) {
      if (next >= 0xD800 && next < 0xE000) continue;
      for (const std::u32string& word : Words(std::u32string{U'x', next, U'y'})) {
        for (char32_t c : word) hash.Number(uint32_t(c));
        hash.Number(uint32_t('\n'));
      }
      hash.Number(uint32_t('\n'));
    }
    EXPECT_EQ(Hex(hash.Done()), digest) << "the block at " << start;
  }
  EXPECT_EQ(next, char32_t(0x110000));
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
  EXPECT_EQ(Shorten({2, 10, 11, 12, 3}, 4), (Ids{2, 10, 11, 3}));
  EXPECT_EQ(Shorten({2, 10, 3}, 3), (Ids{2, 10, 3}));
  EXPECT_THROW((void)Shorten({2, 3}, 3), Bug);
}

TEST(Tokenizer, BadVocabulariesAreRefused) {
  const Folder folder;
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
}

}  // namespace
}  // namespace suf::model
