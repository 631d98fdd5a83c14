// BERT-uncased WordPiece on raw UTF-8, the same ids as Hugging Face `tokenizers` 0.23 with BertNormalizer,
// BertPreTokenizer and WordPiece (Devlin et al., "BERT", 2019). Not a tokenizer for other models: config.hpp refuses
// those.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "suf/base/bytes.hpp"

namespace suf::model {

// Of a text's tokens, as secret as the text.
using Ids = Wiped<int32_t>;

// A vocabulary, its added tokens and its WordPiece rule. Immutable; Encode may run on many threads.
class Tokenizer {
 public:
  // Of a vocab.txt, an entry a line, or a tokenizer.json of `tokenizers`, whatever the file is called. Throws
  // Cause::kInput for an empty or repeated entry, text that is not UTF-8, more than 2^20 entries, one of [PAD] [UNK]
  // [CLS] [SEP] [MASK] that is missing, and for rules that are not ours, naming the field. Of: of a file's text; `name`
  // is the file in sentences.
  static Tokenizer Load(const std::filesystem::path& vocabulary);
  static Tokenizer Of(std::string_view text, const std::string& name);

  // [CLS] ids.. [SEP]. Added tokens written in the text count as themselves, as in Hugging Face.
  // Throws Cause::kInput naming the byte where the text is not UTF-8, and for a text without any token.
  Ids Encode(std::string_view text) const;

  // size: ids are below it.
  size_t size() const;

 private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

// Throws Cause::kInput if the first bytes of `file` are those of a git-lfs pointer or an HTML page,
// which a download may leave in place of a file.
void RefuseStandIn(std::string_view start, const std::filesystem::path& file);

// How many of a text's n tokens to keep, limit >= 2. Throws Cause::kInput when n > limit and not
// `truncate`.
size_t CheckLength(size_t n, size_t limit, bool truncate);

// The first n - 1 ids and the closing [SEP], as Hugging Face truncates; 2 <= n <= ids.size().
Ids Shorten(Ids ids, size_t n);

}  // namespace suf::model
