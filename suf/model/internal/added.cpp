#include "suf/model/internal/added.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/internal/words.hpp"

namespace suf::model {

bool AddedTokens::Add(std::u32string content, const AddedToken& token) {
  SUF_CHECK(!content.empty());
  lengths_[content[0]].insert(content.size());
  return tokens_.try_emplace(std::move(content), token).second;
}

const AddedToken* AddedTokens::LongestAt(std::u32string_view text, size_t* length) const {
  const auto lengths = lengths_.find(text[0]);
  if (lengths == lengths_.end()) return nullptr;
  for (size_t n : lengths->second) {
    if (n > text.size()) continue;
    if (const auto found = tokens_.find(std::u32string(text.substr(0, n))); found != tokens_.end()) {
      *length = n;
      return &found->second;
    }
  }
  return nullptr;
}

std::vector<AddedTokens::TextPart> AddedTokens::Split(std::u32string_view text) const {
  std::vector<TextPart> pieces;
  size_t taken = 0;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at, length = 0;
    const AddedToken* token = LongestAt(text.substr(at), &length);
    at += token ? length : 1;  // also past a match that is not a single word
    if (!token) continue;
    size_t end = at;
    const AddedToken& t = *token;
    if (t.single_word && ((begin > 0 && IsWord(text[begin - 1])) || (end < text.size() && IsWord(text[end])))) continue;
    while (t.lstrip && begin > 0 && IsSpace(text[begin - 1])) --begin;
    while (t.rstrip && end < text.size() && IsSpace(text[end])) ++end;
    if (t.lstrip) begin = std::max(begin, taken);
    if (taken < begin) pieces.push_back({text.substr(taken, begin - taken), {}});
    if (begin < end) pieces.push_back({{}, t.id});  // nothing is left if the previous token took these spaces
    taken = end;
  }
  if (taken < text.size()) pieces.push_back({text.substr(taken), {}});
  return pieces;
}

}  // namespace suf::model
