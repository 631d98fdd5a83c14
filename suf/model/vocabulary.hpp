// Which file decides a text's token ids, and vocabularies that are published, by their SHA-256. A text's number of
// tokens is public and follows from the vocabulary, which the model owner chooses. A vocabulary without one word makes
// that word longer, an added token makes a phrase shorter, and either counts it.
#pragma once
#include <filesystem>
#include <string_view>

#include "suf/base/bytes.hpp"

namespace suf::model {

// The one vocabulary file that a data owner needs.
struct Vocabulary {
  std::filesystem::path file;
  bool json = false;  // a tokenizer.json, else a vocab.txt
  size_t size = 0;    // ids are below it
};

// Finds the vocabulary file of a model directory: vocab.txt if it says all, else tokenizer.json. Throws Cause::kInput,
// naming file and field, if the directory's files disagree, if neither says all, and for other rules.
Vocabulary FindVocabulary(const std::filesystem::path& dir);

// Whose vocab.txt it is, "bert-base-uncased"; empty when it is not in the table.
std::string_view KnownVocabulary(const Hash& sha256);

}  // namespace suf::model
