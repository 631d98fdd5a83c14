// Builds a tokenizer.json for a folder that has only older files: tokenizer_config.json and either vocab.txt or
// vocab.json with merges.txt. The result is that of Hugging Face `transformers` 5. Private to the module.
#pragma once
#include <filesystem>
#include <string>

#include "suf/model/internal/config.hpp"

namespace suf::model {

// The tokenizer classes of `transformers`, by the rules that they have.
enum class TokenizerRules : uint8_t {
  kUnknown,     // no class, or one that reads tokenizer.json alone
  kWordPiece,   // BERT: [CLS] text [SEP]
  kSWordPiece,  // likewise, with <s> text </s>
  kBytes,       // byte-level pairs
  kSBytes,      // likewise, with <s> text </s>
  kSplitBytes,  // byte-level pairs of NFC text, split by another expression
  kPieces,      // SentencePiece; needs a tokenizer.json
};
// Returns the rules of a class of `transformers`. Throws Cause::kInput, naming the field of `file`, if the class is not
// supported.
TokenizerRules RulesOf(const Fields& tokenizer_config);

// Returns whether tokenizer_config.json requests the settings that a vocab.txt stands for.
bool IsUncased(const Fields& tokenizer_config);

// The text of a tokenizer.json, and the file with its entries.
struct BuiltTokenizer {
  std::string text;
  std::filesystem::path entries;
};
// Builds the text of the tokenizer.json. Throws Cause::kInput, naming file and field, if a file is missing or a setting
// is not supported.
BuiltTokenizer BuildTokenizerJson(const std::filesystem::path& dir);

}  // namespace suf::model
