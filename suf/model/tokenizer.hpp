// BERT-uncased WordPiece on raw UTF-8 (Devlin et al., "BERT", 2019). The ids are those of Hugging Face `tokenizers`
// 0.23 with BertNormalizer, BertPreTokenizer and WordPiece. Tokenizers of other models are refused (entries.hpp,
// vocabulary.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "suf/base/bytes.hpp"

namespace suf::model {

// The ids of a text's tokens, as secret as the text.
using Ids = WipedVector<int32_t>;

// A vocabulary, its added tokens and its WordPiece rule. Immutable; Encode may run on many threads.
class Tokenizer {
 public:
  // Reads a vocab.txt, with one entry a line, or a tokenizer.json of `tokenizers`, under any file name. Throws
  // Cause::kInput for an empty or repeated entry, text that is not UTF-8, or more than 2^20 entries. Throws it also if
  // one of [PAD] [UNK] [CLS] [SEP] [MASK] is missing. Refuses rules that are not ours likewise, naming the field.
  static Tokenizer Load(const std::filesystem::path& vocabulary);
  // Reads the text of such a file; `name` is the file in error messages.
  static Tokenizer Of(std::string_view text, const std::string& name);

  // Returns [CLS] ids.. [SEP]. Added tokens written in the text count as themselves, as in Hugging Face. Throws
  // Cause::kInput for text that is not UTF-8, naming the byte, and for a text without any token.
  Ids Encode(std::string_view text) const;

  // Returns the size of the vocabulary: ids are below it.
  size_t size() const;

 private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

// Throws Cause::kInput if the first bytes of `file` are those of a git-lfs pointer or an HTML page. A download may
// leave these in place of a file.
void RefuseStandIn(std::string_view start, const std::filesystem::path& file);

// Returns how many of a text's n tokens to keep, for limit >= 2. Throws Cause::kInput if n > limit and not `truncate`.
size_t CheckLength(size_t n, size_t limit, bool truncate);

// Returns the first n - 1 ids and the closing [SEP], as Hugging Face truncates; 2 <= n <= ids.size().
Ids Shorten(Ids ids, size_t n);

}  // namespace suf::model
