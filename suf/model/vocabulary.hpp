// Vocabularies that are published, by the SHA-256 of their vocab.txt. A text's number of tokens is public and follows
// from the vocabulary, which the model owner chooses: one that lacks a word makes that word longer, and so counts it.
#pragma once
#include <string_view>

#include "suf/base/bytes.hpp"

namespace suf::model {

// KnownVocabulary: whose vocab.txt it is, "bert-base-uncased"; empty when it is not in the table.
std::string_view KnownVocabulary(const Hash& sha256);

}  // namespace suf::model
