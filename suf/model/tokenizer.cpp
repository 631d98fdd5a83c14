#include "suf/model/tokenizer.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/internal/words.hpp"

namespace suf::model {
namespace {

constexpr size_t kFileLimit = 64 << 20, kEntryLimit = 1 << 20;
constexpr size_t kWordLimit = 100;  // code points; a longer word is [UNK]

}  // namespace

std::vector<std::string> ReadVocabulary(const std::filesystem::path& file) {
  const std::string text = ReadText(file, kFileLimit);
  std::vector<std::string> entries;
  std::unordered_map<std::string, size_t> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string entry = text.substr(at, end - at);
    if (!entry.empty() && entry.back() == '\r') entry.pop_back();
    at = end + 1;
    const size_t line = entries.size() + 1;
    if (line > kEntryLimit)
      Fail(Cause::kInput, file.string(), " has more than ", kEntryLimit, " entries; use another model");
    if (entry.empty()) Fail(Cause::kInput, file.string(), ": line ", line, " is empty; fetch the vocabulary again");
    if (const auto [first, fresh] = lines.try_emplace(entry, line); !fresh) {
      Fail(Cause::kInput, file.string(), ": line ", line, " repeats line ", first->second,
           "; fetch the vocabulary again");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Tokenizer Tokenizer::Load(const std::filesystem::path& vocabulary) {
  Tokenizer t;
  std::unordered_map<std::string, int32_t> ids;
  for (const std::string& entry : ReadVocabulary(vocabulary)) {
    const auto id = int32_t(t.size_++);
    ids[entry] = id;
    const std::u32string points = Decode(entry, Str("line ", t.size_, " of ", vocabulary.string()));
    const bool rest = points.size() > 2 && points.starts_with(U"##");
    (rest ? t.rest_[points.substr(2)] : t.first_[points]) = id;
    t.longest_ = std::max(t.longest_, points.size());
  }
  const auto special = [&](const char* name) {
    const auto found = ids.find(name);
    if (found == ids.end()) {
      Fail(Cause::kInput, vocabulary.string(), " has no entry ", name, "; use the vocab.txt of an uncased BERT model");
    }
    t.specials_.emplace_back(Decode(name, name), found->second);
    return found->second;
  };
  special("[PAD]"), special("[MASK]");
  t.unknown_ = special("[UNK]"), t.begin_ = special("[CLS]"), t.end_ = special("[SEP]");
  return t;
}

Ids Tokenizer::Encode(std::string_view text) const {
  const std::u32string points = Decode(text, "the text");
  const std::u32string_view all = points;
  Ids ids = {begin_};
  size_t from = 0;
  for (size_t at = all.find(U'['); at != all.npos; at = all.find(U'[', at)) {
    const auto match = std::find_if(specials_.begin(), specials_.end(),
                                    [&](const auto& s) { return all.substr(at).starts_with(s.first); });
    if (match == specials_.end()) {
      ++at;
      continue;
    }
    EncodePlain(all.substr(from, at - from), &ids);
    ids.push_back(match->second);
    from = at += match->first.size();
  }
  EncodePlain(all.substr(from), &ids);
  if (ids.size() == 1)
    Fail(Cause::kInput, "the text has no token besides [CLS] and [SEP], the least is one; write a word");
  ids.push_back(end_);
  return ids;
}

void Tokenizer::EncodePlain(std::u32string_view text, Ids* ids) const {
  for (const std::u32string& word : Words(text)) EncodeWord(word, ids);
}

// Greedy, longest piece first; a word that cannot be covered is one [UNK].
void Tokenizer::EncodeWord(const std::u32string& word, Ids* ids) const {
  const size_t before = ids->size();
  for (size_t at = 0; at < word.size() && word.size() <= kWordLimit;) {
    const Pieces& pieces = at == 0 ? first_ : rest_;
    auto found = pieces.end();
    size_t n = std::min(word.size() - at, longest_);
    while (n > 0 && (found = pieces.find(word.substr(at, n))) == pieces.end()) --n;
    if (n == 0) break;
    ids->push_back(found->second);
    at += n;
    if (at == word.size()) return;
  }
  ids->resize(before);
  ids->push_back(unknown_);
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
