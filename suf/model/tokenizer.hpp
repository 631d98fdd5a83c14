// Token ids of raw UTF-8, by the parts that a tokenizer file names (tokens/parts.hpp). The ids are those of Hugging
// Face `tokenizers` 0.23. A vocab.txt stands for uncased BERT with standard settings (Devlin et al., "BERT", 2019).
// Tokenizers with other parts are refused.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "suf/base/bytes.hpp"
#include "suf/base/error.hpp"

namespace suf::model {

// The ids of a text's tokens, as secret as the text.
using Ids = WipedVector<int32_t>;

// The ids of two texts in one sequence, with a token type for each id.
struct TextPair {
  Ids ids, types;
  size_t first = 0, second = 0;  // the number of ids of each text, without special tokens
};

// The parts of a tokenizer file. Immutable; Encode may run on many threads.
class Tokenizer {
 public:
  // Reads a vocab.txt, with one entry a line, or a tokenizer.json of `tokenizers`, under any file name. Throws
  // Cause::kInput for an empty or repeated entry, text that is not UTF-8, or more than 2^20 entries. Throws it also if
  // a special token is missing. Refuses parts and settings that are not supported likewise, naming the field.
  static Tokenizer Load(const std::filesystem::path& vocabulary);
  // Reads the text of such a file; `name` is the file in error messages.
  static Tokenizer Of(std::string_view text, const std::string& name);

  // Returns the ids with special tokens around them. Added tokens written in the text count as themselves, as in
  // Hugging Face. Throws Cause::kInput for text that is not UTF-8, naming the byte, and for a text without any token.
  Ids Encode(std::string_view text) const;
  // Returns the ids of two texts likewise. Each text needs a token.
  TextPair EncodePair(std::string_view first, std::string_view second) const;

  // Returns the first n ids with the special tokens that close the text, as Hugging Face truncates; n <= ids.size().
  // Throws Cause::kInput if the special tokens alone are more than n.
  Ids Shorten(Ids ids, size_t n) const;
  // Shortens the longer text first, then both in turn ("longest_first").
  TextPair Shorten(const TextPair& pair, size_t n) const;

  // Returns the size of the vocabulary: ids are below it.
  size_t size() const;

 private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

// Whether a tokenizer file is a tokenizer.json, by its first character or its name.
bool IsTokenizerJson(std::string_view text, const std::string& name);

// Throws Cause::kInput if the first bytes of `file` are those of a git-lfs pointer or an HTML page. A download may
// leave these in place of a file.
void RefuseStandIn(std::string_view start, const std::filesystem::path& file);

// The error of a text with too many tokens.
class TooLong : public Error {
  using Error::Error;
};
// Returns how many of a text's n tokens to keep, for limit >= 2. Throws TooLong if n > limit and not `truncate`.
size_t CheckLength(size_t n, size_t limit, bool truncate);

}  // namespace suf::model
