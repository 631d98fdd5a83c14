#include "suf/model/tokens/word_models.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/tokens/utf8.hpp"

namespace suf::model {

std::unique_ptr<const WordModel> ReadWordModel(const Fields& file, const char* field) {
  if (file.Null(field)) return nullptr;
  const json& object = file.all().at(field);  // large: copied once
  if (!object.is_object()) file.Refuse(field, "only a WordPiece, BPE or Unigram model is supported; ", kAnother);
  const Fields model(file.file(), object, field);
  const std::string type = model.OneOf("type", nullptr, {"WordPiece", "BPE", "Unigram"});
  return type == "WordPiece" ? ReadWordPiece(model) : type == "BPE" ? ReadBpe(model) : ReadUnigram(model);
}

void EntrySizes::Add(const Fields& model, const std::string& entry, size_t characters) {
  if (characters == 0) Fail(Cause::kInput, model.file(), ": model.vocab has an empty entry; ", kSaveTokenizer);
  if (characters > kEntryCharacters)
    Fail(Cause::kInput, model.file(), ": model.vocab has the entry ", Quoted(entry), " of ", characters,
         " characters, the limit is ", kEntryCharacters, "; ", kAnother);
  total_ += characters;
  if (total_ > kAllCharacters)
    Fail(Cause::kInput, model.file(), ": the entries of model.vocab have more than ", kAllCharacters,
         " characters in all; ", kAnother);
}

EntryIds ReadVocab(const Fields& model) {
  const auto vocab = model.all().find("vocab");
  if (vocab == model.all().end() || !vocab->is_object() || vocab->empty())
    model.Refuse("vocab", "only an object of entries and ids is supported; ", kSaveTokenizer);
  if (vocab->size() > kEntryLimit)
    Fail(Cause::kInput, model.file(), " has more than ", kEntryLimit, " entries; ", kAnother);
  EntryIds entries;
  entries.reserve(vocab->size());
  std::vector<bool> seen(vocab->size());
  EntrySizes sizes;
  for (const auto& [entry, id] : vocab->items()) {
    if (!id.is_number_integer() || id < 0 || id >= vocab->size() || seen[id.get<size_t>()])
      Fail(Cause::kInput, model.file(), ": model.vocab gives the entry ", Quoted(entry), " the id ", Quoted(id.dump()),
           ", ids must be 0 to ", vocab->size() - 1, ", each once; ", kSaveTokenizer);
    seen[id.get<size_t>()] = true;
    sizes.Add(model, entry,
              size_t(std::count_if(entry.begin(), entry.end(), [](char c) { return (c & 0xc0) != 0x80; })));
    entries.emplace(entry, id.get<int32_t>());
  }
  return entries;
}

int32_t EntryOf(const Fields& model, const char* field, const EntryIds& entries) {
  const auto entry = model.Value(field).is_string() ? entries.find(model.Text(field)) : entries.end();
  if (entry == entries.end()) model.Refuse(field, "it must be an entry of the vocabulary; ", kSaveTokenizer);
  return entry->second;
}

ByteEntries::ByteEntries(const EntryIds& entries) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t b = 0; b < ids_.size(); ++b) {
    const auto entry = entries.find({'<', '0', 'x', kDigits[b >> 4], kDigits[b & 15], '>'});
    ids_[b] = entry == entries.end() ? -1 : entry->second;
  }
}

bool ByteEntries::Append(PointsView text, Ids* ids) const {
  const std::string bytes = ToUtf8(text);
  for (char b : bytes)
    if (ids_[uint8_t(b)] < 0) return false;
  for (char b : bytes) ids->push_back(ids_[uint8_t(b)]);
  return true;
}

}  // namespace suf::model
