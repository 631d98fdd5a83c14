// The pre-tokenizers of `tokenizers` 0.23, with their readers and common functions. Private to the module.
#pragma once
#include <memory>
#include <vector>

#include "suf/model/tokens/parts.hpp"
#include "suf/model/tokens/patterns.hpp"

namespace suf::model {

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

// Readers of a part. They throw Cause::kInput for a setting that is missing, unknown or not supported.
PreTokenizerPtr ReadClassSplit(
    const Fields& part);  // BertPreTokenizer, Whitespace, WhitespaceSplit, Digits, Punctuation
PreTokenizerPtr ReadMetaspace(const Fields& part);
PreTokenizerPtr ReadByteLevel(const Fields& part);
PreTokenizerPtr ReadSplit(const Fields& part);

// The place of a match after a split.
enum class Behavior : uint8_t {
  kDropped,       // nowhere
  kIsolated,      // a word of its own
  kWithPrevious,  // at the end of the word before, if that is no match
  kWithNext,      // at the start of the word behind, likewise
  kContiguous     // a word with the matches beside it
};
// Reads the field "behavior" of a part, or returns `absent` if there is none. If `absent` is null, it must exist.
Behavior ReadBehavior(const Fields& part, const char* absent);

// Puts a character before a word, which is not empty, unless it begins with that.
inline void PutFirst(char32_t c, TextWord* word) {
  if (word->text[0] == c) return;
  word->text.insert(word->text.begin(), c);
  if (word->first > 0) ++word->first;
}

// Appends the words that a word is cut into.
void AppendWords(const TextWord& word, const std::vector<MatchSpan>& spans, Behavior behavior,
                 std::vector<TextWord>* out);

// Returns the spans of a text of which each code point in a class is a match.
template <class Predicate>
std::vector<MatchSpan> SpansOfEach(PointsView text, Predicate in) {
  std::vector<MatchSpan> spans;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool match = in(text[i]);
    if (match || spans.empty() || spans.back().match)
      spans.push_back({i, i + 1, match});
    else
      spans.back().end = i + 1;
  }
  return spans;
}

}  // namespace suf::model
