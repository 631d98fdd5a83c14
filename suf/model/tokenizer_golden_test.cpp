// One small tokenizer of each kind against Hugging Face `tokenizers` 0.23.3, on generated texts. The data and the rules
// of the texts are in tools/tokenizer_kinds.py.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "suf/base/digest.hpp"
#include "suf/model/tokenizer.hpp"
#include "suf/model/tokens/utf8.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

const std::string kKinds = "suf/model/testdata/kinds/";
constexpr uint64_t kGoldenTexts = 25 * 4096, kGoldenBlock = 4096, kGoldenRows = 1000;

std::vector<std::string> KindLines(const std::string& file) {
  std::ifstream in(kKinds + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

json KindJson(const std::string& file) {
  std::ifstream in(kKinds + file);
  return json::parse(in);
}

// The lists that texts are made of.
class TextMaker {
 public:
  TextMaker() {
    const json parts = KindJson("parts.json");
    for (const char* name : {"words", "specials", "odd", "emoji", "endings", "blanks", "punctuation"})
      for (const json& text : parts.at(name)) lists_[name].push_back(PointsOf(text.get<std::string>()));
    for (const json& script : parts.at("scripts")) scripts_.push_back({script[0], script[1]});
  }

  std::string Text(uint64_t i) {
    state_ = i * 1'000'003;
    out_.clear();
    for (uint64_t n = 1 + Below(3 + std::min<uint64_t>(i / 1000, 9)); n > 0; --n) {
      AddPart();
      if (Below(5) >= 2) out_ += U' ';
    }
    return ToUtf8(out_);
  }

 private:
  static std::u32string PointsOf(const std::string& utf8) {
    std::u32string out;
    for (size_t at = 0; at < utf8.size();) {
      const auto lead = uint8_t(utf8[at]);
      const int more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      char32_t c = more == 0 ? lead : lead & (0x3f >> more);
      for (int k = 0; k < more; ++k) c = c << 6 | (uint8_t(utf8[++at]) & 0x3f);
      out += c;
      ++at;
    }
    return out;
  }

  uint64_t Below(uint64_t n) {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (z ^ z >> 31) % n;
  }
  const std::u32string& Of(const char* list) {
    const auto& texts = lists_[list];
    return texts[Below(texts.size())];
  }
  void AddPoint(uint64_t c) { out_ += c >= 0xD800 && c < 0xE000 ? U' ' : char32_t(c); }

  void AddPart() {
    const uint64_t kind = Below(16);
    if (kind < 2) return AddSoup();
    if (kind < 6) return AddWord();
    if (kind == 6) out_ += Of("specials");
    if (kind == 7) out_ += Of("odd");
    if (kind == 8) {
      out_ += Of("emoji");
      if (Below(3) == 0) out_.pop_back();
    }
    if (kind == 9) AddRun();
    if (kind == 10)
      for (uint64_t n = 1 + Below(8); n > 0; --n) AddPoint(48 + Below(10));
    if (kind == 11) out_ += Of("endings");
    if (kind == 12)
      for (uint64_t n = 1 + Below(4); n > 0; --n) out_ += Of("blanks");
    if (kind == 13) {
      AddPoint(97 + Below(26));
      for (uint64_t n = Below(5); n > 0; --n) AddPoint(0x300 + Below(112));
    }
    if (kind == 14) {
      const uint64_t n = 1 + Below(5);
      const auto [first, count] = scripts_[Below(scripts_.size())];
      for (uint64_t k = 0; k < n; ++k) AddPoint(first + Below(count));
    }
    if (kind == 15)
      for (uint64_t n = 1 + Below(5); n > 0; --n) out_ += Of("punctuation");
  }

  void AddSoup() {
    constexpr std::array<uint64_t, 7> kLimits = {0x80, 0x250, 0x800, 0x3000, 0x10000, 0x20000, 0x110000};
    const uint64_t n = 1 + Below(6), limit = kLimits[Below(7)];
    for (uint64_t k = 0; k < n; ++k) AddPoint(Below(limit));
  }
  void AddWord() {
    std::u32string word = Of("words");
    const uint64_t shape = Below(4);
    for (size_t k = 0; k < word.size() && (shape == 3 || (shape == 2 && k == 0)); ++k)
      if (word[k] >= U'a' && word[k] <= U'z') word[k] -= 32;
    out_ += word;
  }
  void AddRun() {
    const std::u32string& word = Of("words");
    const char32_t c = word[Below(word.size())];
    const uint64_t n = 1 + Below(40);
    out_.append(Below(8) == 0 ? 8 * n : n, c);
  }

  uint64_t state_ = 0;
  std::u32string out_;
  std::map<std::string, std::vector<std::u32string>> lists_;
  std::vector<std::pair<uint64_t, uint64_t>> scripts_;
};

Tokenizer KindTokenizer(const std::string& kind) {
  return Tokenizer::Load(kind == "bert_uncased" ? "suf/model/testdata/vocab.txt" : kKinds + kind + ".json");
}

// Returns no ids for a text that has no token.
Ids IdsOrNone(const Tokenizer& tokenizer, const std::string& text) {
  try {
    return tokenizer.Encode(text);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the text has no token"), std::string::npos) << e.what();
    return {};
  }
}

class TokenizerGolden : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerGolden, RowsEqualHuggingFace) {
  const Tokenizer tokenizer = KindTokenizer(GetParam());
  const std::vector<std::string> texts = KindLines("texts.jsonl"), rows = KindLines(Str(GetParam(), ".ids"));
  ASSERT_EQ(texts.size(), kGoldenRows);
  ASSERT_EQ(rows.size(), kGoldenRows);
  TextMaker maker;
  size_t empty = 0;
  for (size_t i = 0; i < kGoldenRows; ++i) {
    const auto text = json::parse(texts[i]).get<std::string>();
    ASSERT_EQ(maker.Text(i), text) << i;
    const Ids ids = IdsOrNone(tokenizer, text);
    std::string row;
    for (int32_t id : ids) row += Str(row.empty() ? "" : " ", id);
    empty += ids.empty();
    if (ids.empty()) continue;
    EXPECT_EQ(row, rows[i]) << i << ": " << texts[i];
  }
  EXPECT_LE(empty, kGoldenRows / 20);
}

TEST_P(TokenizerGolden, PairsEqualHuggingFace) {
  const Tokenizer tokenizer = KindTokenizer(GetParam());
  TextMaker maker;
  const std::vector<std::string> rows = KindLines(Str(GetParam(), ".pairs"));
  EXPECT_EQ(rows.size(), 60u);
  for (const std::string& row : rows) {
    const json golden = json::parse(row);
    TextPair pair = tokenizer.EncodePair(maker.Text(golden["first"]), maker.Text(golden["second"]));
    if (golden["n"] != 0) pair = tokenizer.Shorten(pair, golden["n"].get<size_t>());
    EXPECT_EQ(pair.ids, golden["ids"].get<Ids>()) << row;
    EXPECT_EQ(pair.types, golden["types"].get<Ids>()) << row;
  }
}

TEST_P(TokenizerGolden, DigestsEqualHuggingFace) {
  const Tokenizer tokenizer = KindTokenizer(GetParam());
  const json golden = KindJson("digests.json").at(GetParam());
  ASSERT_EQ(golden.size(), kGoldenTexts / kGoldenBlock);
  TextMaker maker;
  for (uint64_t start = 0; start < kGoldenTexts; start += kGoldenBlock) {
    Sha256 hash;
    for (uint64_t i = start; i < start + kGoldenBlock; ++i) {
      const Ids ids = IdsOrNone(tokenizer, maker.Text(i));
      hash.Number(uint32_t(ids.size()));
      for (int32_t id : ids) hash.Number(uint32_t(id));
    }
    EXPECT_EQ(Hex(hash.Done()), golden[start / kGoldenBlock].get<std::string>()) << "texts from " << start;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerGolden,
                         testing::Values("bert_uncased", "bert_cased", "mpnet", "roberta", "llama3", "qwen2", "xlmr"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace suf::model
