// The content of a tokenizer file: its parts and its added tokens. The file is a vocab.txt, with one entry a line, or a
// tokenizer.json of `tokenizers`. A vocab.txt stands for uncased BERT with standard settings. Private to the module.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "suf/model/internal/added.hpp"
#include "suf/model/internal/config.hpp"
#include "suf/model/tokens/parts.hpp"

namespace suf::model {

inline constexpr size_t kVocabularyLimit = 64 << 20, kEntryLimit = 1 << 20;
// The entries that every vocab.txt of uncased BERT has. They are its added tokens.
inline constexpr const char* kSpecials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

struct TokenizerParts {
  std::unique_ptr<const Normalizer> normalizer;       // null: none
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<const WordModel> words;
  Template around;
  std::unordered_map<std::string, AddedToken> added;  // by content; an id is that of an entry, or follows the entries
  int32_t size = 0;                                   // ids are below it
  json settings;                                      // the file without its entries and added tokens

  // Returns the added token with this content, or null.
  const AddedToken* Added(const std::string& content) const;
  // Returns the text of an added token or entry with this id.
  std::string Content(int32_t id) const;
};

// Parses a file's text, in either form. Error messages name the file as `name`. Throws Cause::kInput for an empty or
// repeated entry, a missing special token, or more than kEntryLimit entries. Throws it also for parts of a
// tokenizer.json that are not supported, naming the field.
TokenizerParts ParseTokenizer(std::string_view text, const std::string& name);
// Parses a vocab.txt, which may lack kSpecials.
EntryIds ParseLines(std::string_view text, const std::string& name);

// Returns the normalizer of a BERT tokenizer in a tokenizer.json. Hidden, as Fields.
[[gnu::visibility("hidden")]] json BertNormalizerJson(bool lowercase = true, bool chinese = true,
                                                      const json& strip_accents = {});

}  // namespace suf::model
