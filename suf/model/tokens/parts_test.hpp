// For tests of normalizers and pre-tokenizers: the words that a part makes of a text. Expectations come from PyPI
// `tokenizers` 0.23.3.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/base/digest.hpp"
#include "suf/model/testing.hpp"
#include "suf/model/tokens/parts.hpp"
#include "suf/model/tokens/text.hpp"
#include "suf/model/tokens/utf8.hpp"

namespace suf::model {

// The normalizer and the pre-tokenizer of a file; either may be null.
struct TextParts {
  std::unique_ptr<const Normalizer> normalizer;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;

  // Returns the words of a text. U+2603 stands for an added token that is matched in the raw text.
  std::vector<CodePoints> Words(PointsView text) const {
    constexpr char32_t kToken = U'\u2603';
    std::vector<CodePoints> words;
    for (size_t begin = 0;; ++begin) {
      const size_t end = std::min(text.find(kToken, begin), text.size());
      TextWord piece{CodePoints(text.substr(begin, end - begin)), begin == 0};
      if (normalizer && begin < end) piece = normalizer->Apply(std::move(piece));
      std::vector<TextWord> cut;
      if (!piece.text.empty()) cut.push_back(std::move(piece));
      if (pre_tokenizer) cut = pre_tokenizer->Split(std::move(cut));
      for (TextWord& word : cut) words.push_back(std::move(word.text));
      if (end == text.size()) return words;
      words.emplace_back(1, kToken);
      begin = end;
    }
  }
};

inline TextParts ReadParts(json normalizer, json pre_tokenizer = {}) {
  const Fields file("t.json", {{"normalizer", std::move(normalizer)}, {"pre_tokenizer", std::move(pre_tokenizer)}}, "");
  return {ReadNormalizer(file, "normalizer"), ReadPreTokenizer(file, "pre_tokenizer")};
}

// Returns the words of a text in UTF-8, with "|" between them.
inline std::string WordsOf(const TextParts& parts, const std::string& text) {
  std::string all;
  for (const CodePoints& word : parts.Words(Decode(text, "the text"))) all += (all.empty() ? "" : "|") + ToUtf8(word);
  return all;
}
inline std::string NormalOf(json normalizer, const std::string& text) {
  return WordsOf(ReadParts(std::move(normalizer)), text);
}
inline std::string SplitOf(json pre_tokenizer, const std::string& text) {
  return WordsOf(ReadParts({}, std::move(pre_tokenizer)), text);
}

// Returns a SHA-256 of the words of many texts, as tools/unicode_tables.py --digests prints it.
inline std::string DigestOf(const TextParts& parts) {
  Sha256 digest;
  for (char32_t c = 0; c < 0xE0200; ++c) {
    if ((c >= 0xD800 && c < 0xE000) || (c >= 0x32000 && c < 0xE0000)) continue;
    const CodePoints text = {U' ', U'x', c, U'y', c};
    CodePoints all;
    if (parts.normalizer) {
      all = parts.normalizer->Normalise(text) + U'\n';
    } else {
      for (const TextWord& word : parts.pre_tokenizer->Split({{text, 1}})) all += word.text + U'\n';
    }
    all += U'\n';
    digest.Add(View(reinterpret_cast<const uint8_t*>(all.data()), all.size() * sizeof all[0]));
  }
  return Hex(digest.Done());
}

}  // namespace suf::model
