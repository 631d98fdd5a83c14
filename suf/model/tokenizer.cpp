#include "suf/model/tokenizer.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/internal/words.hpp"

namespace suf::model {
namespace {

constexpr size_t kWordLimit = 100;  // code points; a longer word is [UNK]

using Pieces = std::unordered_map<std::u32string, int32_t>;

}  // namespace

struct Tokenizer::Rules {
  void EncodePlain(std::u32string_view normalised, Ids* ids) const;
  void EncodeWord(const std::u32string& word, Ids* ids) const;

  size_t size = 0, longest = 0;  // longest: code points of an entry
  Pieces first, rest;            // entries that start a word; "##" ones, without it
  AddedTokens raw, normalised;   // matched in the raw text; in the text between those, normalised
  int32_t unknown = 0, begin = 0, end = 0;
};

Tokenizer Tokenizer::Load(const std::filesystem::path& vocabulary) {
  return Of(ReadText(vocabulary, kVocabularyLimit), vocabulary.string());
}

Tokenizer Tokenizer::Of(std::string_view text, const std::string& name) {
  const Entries entries = ParseEntries(text, name);
  Rules r;
  r.size = size_t(entries.size);
  for (const auto& [entry, id] : entries.ids) {
    const std::u32string points = Decode(entry, Str("line ", id + 1, " of ", name));
    const bool rest = points.size() > 2 && points.starts_with(U"##");
    (rest ? r.rest[points.substr(2)] : r.first[points]) = id;
    r.longest = std::max(r.longest, points.size());
  }
  for (const auto& [written, token] : entries.added) {
    std::u32string content = Decode(written, Str("an added token of ", name));
    if (token.normalized) content = Normalised(content);
    if (content.empty() || !(token.normalized ? r.normalised : r.raw).Add(std::move(content), token))
      Fail(
          Cause::kInput, name, ": the added token ", Quoted(written),
          " is matched in the normalised text, where it is empty or equals another; set its field normalized to false");
  }
  r.unknown = entries.ids.at("[UNK]");
  r.begin = entries.Added("[CLS]")->id;
  r.end = entries.Added("[SEP]")->id;
  Tokenizer t;
  t.rules_ = std::make_shared<const Rules>(std::move(r));
  return t;
}

size_t Tokenizer::size() const { return rules_->size; }

Ids Tokenizer::Encode(std::string_view text) const {
  const std::u32string points = Decode(text, "the text");
  Ids ids = {rules_->begin};
  for (const AddedTokens::TextPart& piece : rules_->raw.Split(points)) {
    if (piece.id)
      ids.push_back(*piece.id);
    else
      rules_->EncodePlain(Normalised(piece.text), &ids);
  }
  if (ids.size() == 1)
    Fail(Cause::kInput, "the text has no token besides [CLS] and [SEP], the least is one; write a word");
  ids.push_back(rules_->end);
  return ids;
}

void Tokenizer::Rules::EncodePlain(std::u32string_view normalised_text, Ids* ids) const {
  for (const AddedTokens::TextPart& piece : normalised.Split(normalised_text)) {
    if (piece.id) ids->push_back(*piece.id);
    for (const std::u32string& word : Words(piece.text)) EncodeWord(word, ids);
  }
}

// Encodes a word greedily, longest piece first. A word that cannot be covered is one [UNK].
void Tokenizer::Rules::EncodeWord(const std::u32string& word, Ids* ids) const {
  const size_t before = ids->size();
  for (size_t at = 0; at < word.size() && word.size() <= kWordLimit;) {
    const Pieces& pieces = at == 0 ? first : rest;
    auto found = pieces.end();
    size_t n = std::min(word.size() - at, longest);
    while (n > 0 && (found = pieces.find(word.substr(at, n))) == pieces.end()) --n;
    if (n == 0) break;
    ids->push_back(found->second);
    at += n;
    if (at == word.size()) return;
  }
  ids->resize(before);
  ids->push_back(unknown);
}

size_t CheckLength(size_t n, size_t limit, bool truncate) {
  SUF_CHECK(limit >= 2);
  if (n > limit && !truncate) {
    Fail(Cause::kInput, "the text has ", n, " tokens; the limit is ", limit, "; shorten it or let it be cut");
  }
  return std::min(n, limit);
}

Ids Shorten(Ids ids, size_t n) {
  if (n == ids.size()) return ids;
  SUF_CHECK(n >= 2 && n <= ids.size());
  ids[n - 1] = ids.back();
  ids.resize(n);
  return ids;
}

}  // namespace suf::model
