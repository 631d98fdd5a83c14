// The parts of a tokenizer, as a tokenizer.json of Hugging Face `tokenizers` 0.23 names them. First added tokens are
// cut out of a text. The rest is normalised, and pre-tokenizers cut it into words. A model turns each word into ids,
// and a template puts special tokens around them. Each part is immutable, so many threads may use it. Private to the
// module.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "suf/model/internal/config.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {

// A text as code points.
using CodePoints = std::u32string;
using PointsView = std::u32string_view;

// A piece of a text. The pieces that the last pre-tokenizer returns are encoded one by one.
struct TextWord {
  CodePoints text;
  // The number of code points at the start that stem from the first character of the raw text. A raw text has 1 if it
  // is not cut at its start. A normalizer may increase this number, or set it to 0. A slice of a word from code point
  // k has k less, and at least 0. `tokenizers` treats a word as the first one if this is not 0.
  size_t first = 0;
};

// Replaces each code point c by those that append(c, &out) appends, at least one.
template <class Function>
TextWord Expand(const TextWord& word, Function append) {
  TextWord out;
  out.text.reserve(word.text.size());
  for (size_t i = 0; i < word.text.size(); ++i) {
    append(word.text[i], &out.text);
    if (i < word.first) out.first = out.text.size();
  }
  return out;
}

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Normalises the text between two added tokens.
  virtual TextWord Apply(TextWord word) const = 0;
  CodePoints Normalise(CodePoints text) const { return Apply({std::move(text)}).text; }
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Cuts each word further. Never returns an empty word.
  virtual std::vector<TextWord> Split(std::vector<TextWord> words) const = 0;
};

// The entries of a model with their ids.
using EntryIds = std::unordered_map<std::string, int32_t>;

class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the ids of one word.
  virtual void Encode(PointsView word, Ids* ids) const = 0;
  // The entries of the file; their ids are 0 to size() - 1.
  virtual const EntryIds& entries() const = 0;
};

// Special tokens around one text, or around two.
struct Template {
  struct Item {
    enum Kind : uint8_t { kToken, kText, kPair } kind = kText;
    int32_t id = 0;    // of kToken
    int32_t type = 0;  // the token type of these ids
  };
  std::vector<Item> single = {{}}, pair = {{}, {Item::kPair, 0, 1}};
};

// Readers of a field of a tokenizer.json. They throw Cause::kInput, naming file and field, for an unknown type or
// field. They refuse a setting that would be computed wrongly likewise. A null part gives null.
std::unique_ptr<const Normalizer> ReadNormalizer(const Fields& file, const char* field);
std::unique_ptr<const PreTokenizer> ReadPreTokenizer(const Fields& file, const char* field);
std::unique_ptr<const WordModel> ReadWordModel(const Fields& file, const char* field);
// `entries` has the id of each special token by its content.
Template ReadTemplate(const Fields& file, const char* field, const EntryIds& entries);

}  // namespace suf::model
