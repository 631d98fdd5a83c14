// BERT-uncased WordPiece on raw UTF-8, the same ids as Hugging Face `tokenizers` 0.23 with BertNormalizer,
// BertPreTokenizer and WordPiece (Devlin et al., "BERT", 2019). Not a tokenizer for other models: config.hpp refuses
// those.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "suf/base/bytes.hpp"

namespace suf::model {

// Ids: of a text's tokens, as secret as the text.
using Ids = Wiped<int32_t>;

// ReadVocabulary: the entries of a vocab.txt, one a line, the line number is the id. Throws Cause::kInput for an empty
// or repeated entry, text that is not UTF-8, or more than 2^20 entries.
std::vector<std::string> ReadVocabulary(const std::filesystem::path& file);

// Tokenizer: a vocabulary and its WordPiece rule. Immutable; Encode may run on many threads.
class Tokenizer {
 public:
  // Load: throws Cause::kInput as ReadVocabulary, and when one of [PAD] [UNK] [CLS] [SEP] [MASK] is not an entry.
  static Tokenizer Load(const std::filesystem::path& vocabulary);

  // Encode: [CLS] ids.. [SEP]. Special tokens written in the text count as themselves, as in Hugging Face.
  // Throws Cause::kInput naming the byte where the text is not UTF-8, and for a text without any token.
  Ids Encode(std::string_view text) const;

  size_t size() const { return size_; }

 private:
  using Pieces = std::unordered_map<std::u32string, int32_t>;
  void EncodePlain(std::u32string_view text, Ids* ids) const;
  void EncodeWord(const std::u32string& word, Ids* ids) const;

  size_t size_ = 0, longest_ = 0;                             // longest: code points of an entry
  Pieces first_, rest_;                                       // entries that start a word; "##" ones, without it
  std::vector<std::pair<std::u32string, int32_t>> specials_;  // matched in the raw text
  int32_t unknown_ = 0, begin_ = 0, end_ = 0;
};

// CheckLength: how many of a text's n tokens to keep, limit >= 2. Throws Cause::kInput when n > limit and not
// `truncate`.
size_t CheckLength(size_t n, size_t limit, bool truncate);

// Shorten: the first n - 1 ids and the closing [SEP], as Hugging Face truncates; 2 <= n <= ids.size().
Ids Shorten(Ids ids, size_t n);

}  // namespace suf::model
