// The file that decides a text's token ids, and published vocabularies by their SHA-256. A text's number of tokens is
// public and follows from the vocabulary, which the model owner chooses. A vocabulary without one word makes that word
// longer, and an added token makes a phrase shorter. Either one counts occurrences in private texts.
#pragma once
#include <filesystem>
#include <string_view>

#include "suf/base/bytes.hpp"

namespace suf::model {

// The one vocabulary file that a data owner needs.
struct Vocabulary {
  std::filesystem::path file;
  bool json = false;  // a tokenizer.json; otherwise a vocab.txt
  size_t size = 0;    // ids are below it
};

// Finds the vocabulary file of a model directory: vocab.txt if it is complete, otherwise tokenizer.json. Throws
// Cause::kInput, naming file and field, if the directory's files disagree, if neither is complete, and for other rules.
Vocabulary FindVocabulary(const std::filesystem::path& dir);

// Returns the model whose vocab.txt this is, "bert-base-uncased"; empty if it is not in the table.
std::string_view KnownVocabulary(const Hash& sha256);

}  // namespace suf::model
