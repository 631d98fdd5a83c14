// Code points of a text, and their classes. The classes are tables of `tokenizers` 0.23 (unicode_tables.hpp), so the
// installed utf8proc makes no difference. utf8.hpp encodes. Private to the module.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "suf/model/tokens/unicode_tables.hpp"

namespace suf::model {

// Returns the code points of UTF-8. Throws Cause::kInput: "<what> is not UTF-8 at byte <offset>; ..".
std::u32string Decode(std::string_view utf8, std::string_view what);

// Whether c is in a table of unicode_tables.hpp.
template <size_t N>
bool In(const CodeRange (&ranges)[N], char32_t c) {
  const CodeRange* r =
      std::upper_bound(ranges, ranges + N, c, [](char32_t v, const CodeRange& range) { return v < range.first; });
  return r != ranges && c <= r[-1].last;
}

// Whether c is \w of the reference, which decides where an added token begins and ends.
inline bool IsWord(char32_t c) { return In(kWord, c); }
// Whether c is \s of the reference.
inline bool IsSpace(char32_t c) { return In(kBlank, c); }
// Whether c is a punctuation mark of Unicode or of ASCII.
inline bool IsPunctuation(char32_t c) { return In(kPunctuation, c); }
inline bool IsNumeric(char32_t c) { return In(kNumeric, c); }
// Whether c is \p{L} of an expression.
inline bool IsLetter(char32_t c) { return In(kLetter, c); }
// Whether c is \p{N} of an expression.
inline bool IsNumber(char32_t c) { return In(kNumber, c); }

}  // namespace suf::model
