// The content of a vocabulary file: entries with their ids, and added tokens. The file is a vocab.txt, with one entry a
// line, or a tokenizer.json of `tokenizers`. The latter has a WordPiece model and the rules of uncased BERT. Private to
// the module.
#pragma once
#include <filesystem>
#include <string>
#include <unordered_map>

#include "suf/model/internal/added.hpp"

namespace suf::model {

inline constexpr size_t kVocabularyLimit = 64 << 20, kEntryLimit = 1 << 20;
// The entries that every vocabulary has. They are the added tokens of a vocab.txt.
inline constexpr const char* kSpecials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

struct Entries {
  std::unordered_map<std::string, int32_t> ids;       // of pieces of words
  std::unordered_map<std::string, AddedToken> added;  // by content; an id is that of an entry, or follows the entries
  int32_t size = 0;                                   // ids are below it
  // Returns the added token with this content, or null.
  const AddedToken* Added(const std::string& content) const;
};

// Parses a file's text, in either form. Error messages name the file as `name`. Throws Cause::kInput for an empty or
// repeated entry, a missing one of kSpecials, or more than kEntryLimit entries. Throws it also for other rules of a
// tokenizer.json, naming the field.
Entries ParseEntries(std::string_view text, const std::string& name);
// Parses a vocab.txt, which may lack kSpecials here. Reads no added tokens.
Entries ParseLines(std::string_view text, const std::string& name);

}  // namespace suf::model
