// The file that decides a text's token ids, and published vocabularies by their SHA-256. A text's number of tokens is
// public and follows from the vocabulary, which the model owner chooses. A vocabulary without one word makes that word
// longer, and an added token makes a phrase shorter. Either one counts occurrences in private texts.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "suf/base/bytes.hpp"

namespace suf::model {

// The one tokenizer file that a data owner needs.
struct Vocabulary {
  std::filesystem::path file;
  bool json = false;       // a tokenizer.json; otherwise a vocab.txt
  size_t size = 0;         // ids are below it
  std::string built = {};  // the text that belongs into `file` if the folder lacks it (TokenizerJson); otherwise empty
  std::filesystem::path entries = {};  // the folder's file with the entries, for error messages
};

// Finds the tokenizer file of a model directory: vocab.txt if it is complete, otherwise tokenizer.json. A vocab.txt is
// complete for uncased BERT with standard settings. If only separate files are there, builds the text of a
// tokenizer.json. Throws Cause::kInput, naming file and field, if files disagree or are missing. Refuses rules that are
// not supported likewise.
Vocabulary FindVocabulary(const std::filesystem::path& dir);

// Returns the text of the tokenizer file: that of `file`, or `built`.
std::string VocabularyText(const Vocabulary& vocabulary);

// Returns the text of a tokenizer.json for a folder that has tokenizer_config.json with a vocab.txt, or with vocab.json
// and merges.txt. Its ids are those that Hugging Face `transformers` 5 gives. Throws like FindVocabulary.
std::string TokenizerJson(const std::filesystem::path& dir);

// Returns the model whose tokenizer file this is, "bert-base-uncased"; empty if it is not in the table.
std::string_view KnownVocabulary(const Hash& sha256);

}  // namespace suf::model
