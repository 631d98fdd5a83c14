#include "suf/model/internal/added.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {

void AddedTokens::Add(std::u32string content, const AddedToken& token) {
  SUF_CHECK(!content.empty());
  tokens_.emplace_back(std::move(content), token);
}

const AddedToken* AddedTokens::Sort() {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const ContentEntry& a, const ContentEntry& b) { return a.first < b.first; });
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (i > 0 && tokens_[i].first == tokens_[i - 1].first) return &tokens_[i].second;
    by_first_.try_emplace(tokens_[i].first[0], i, i).first->second.second = i + 1;
  }
  return nullptr;
}

const AddedToken* AddedTokens::LongestAt(std::u32string_view text, size_t* length) const {
  const auto range = by_first_.find(text[0]);
  if (range == by_first_.end()) return nullptr;
  auto low = tokens_.begin() + ptrdiff_t(range->second.first), high = tokens_.begin() + ptrdiff_t(range->second.second);
  const AddedToken* longest = nullptr;
  for (size_t n = 1; low != high; ++n) {  // the tokens from low to high begin with n characters of the text
    if (low->first.size() == n) {
      longest = &low->second;
      *length = n;
      ++low;
    }
    if (n == text.size()) break;
    low = std::lower_bound(low, high, text[n], [n](const ContentEntry& e, char32_t c) { return e.first[n] < c; });
    high = std::upper_bound(low, high, text[n], [n](char32_t c, const ContentEntry& e) { return c < e.first[n]; });
  }
  return longest;
}

std::vector<AddedTokens::TextPart> AddedTokens::Split(std::u32string_view text) const {
  std::vector<TextPart> pieces;
  size_t taken = 0, blank_end = 0;  // blank_end: end of the last spaces behind a token
  for (size_t at = 0; at < text.size() && !tokens_.empty();) {
    size_t begin = at, length = 0;
    const AddedToken* token = LongestAt(text.substr(at), &length);
    at += token ? length : 1;  // also past a match that is not a single word
    if (!token) continue;
    size_t end = at;
    const AddedToken& t = *token;
    if (t.single_word && ((begin > 0 && IsWord(text[begin - 1])) || (end < text.size() && IsWord(text[end])))) continue;
    while (t.lstrip && begin > taken && IsSpace(text[begin - 1])) --begin;
    if (t.rstrip) {
      end = std::max(end, blank_end);
      while (end < text.size() && IsSpace(text[end])) ++end;
      blank_end = end;
    }
    if (t.lstrip) begin = std::max(begin, taken);
    if (taken < begin) pieces.push_back({text.substr(taken, begin - taken), {}});
    if (begin < end) pieces.push_back({{}, t.id});  // nothing is left if the previous token took these spaces
    taken = end;
  }
  if (taken < text.size()) pieces.push_back({text.substr(taken), {}});
  return pieces;
}

}  // namespace suf::model
