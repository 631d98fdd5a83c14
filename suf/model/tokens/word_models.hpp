// The readers of the three word models, and their common helpers. Private to the module.
#pragma once
#include <array>

#include "suf/model/tokens/parts.hpp"

namespace suf::model {

// The remedy for a file that another program wrote.
inline constexpr const char* kSaveTokenizer = "save the tokenizer again with Hugging Face's transformers";
// Limits that `tokenizers` lacks. A vocabulary of another party could otherwise make each character of a text cost as
// much as its longest entry. Published entries have at most 256 characters.
inline constexpr size_t kEntryCharacters = 1024, kAllCharacters = 1 << 24;

// Readers of an object `model` of one type. They throw Cause::kInput, naming the field.
std::unique_ptr<const WordModel> ReadWordPiece(const Fields& model);
std::unique_ptr<const WordModel> ReadBpe(const Fields& model);
std::unique_ptr<const WordModel> ReadUnigram(const Fields& model);

// Reads the field `vocab`, an object of entries and ids. The ids must be 0 to size() - 1, each once.
EntryIds ReadVocab(const Fields& model);
// Returns the id of an entry that a text field names, or throws.
int32_t EntryOf(const Fields& model, const char* field, const EntryIds& entries);

// Adds up the lengths of entries and refuses those above the limits.
class EntrySizes {
 public:
  void Add(const Fields& model, const std::string& entry, size_t characters);

 private:
  size_t total_ = 0;
};

// The entries "<0x00>" to "<0xFF>", which stand for the bytes of unknown characters.
class ByteEntries {
 public:
  explicit ByteEntries(const EntryIds& entries);
  // Appends the ids of the UTF-8 bytes of a text. Returns false, and appends nothing, if one has no entry.
  bool Append(PointsView text, Ids* ids) const;

 private:
  std::array<int32_t, 256> ids_;
};

}  // namespace suf::model
