// From raw text to the words that WordPiece cuts: what `tokenizers` 0.23 calls BertNormalizer (clean text, spaces
// around Chinese characters, canonical decomposition without nonspacing marks, lower case) and BertPreTokenizer.
// Private to the room. Its Unicode tables are of three versions; unicode_tables.hpp has them, so that the utf8proc at
// hand makes no difference.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace suf::model {

// The code points of UTF-8; throws Cause::kInput: "<what> is not UTF-8 at byte <offset>; ..".
std::u32string Decode(std::string_view utf8, std::string_view what);

// Cleaned, spaced, without marks and in lower case.
std::u32string Normalised(std::u32string_view text);

// Of a normalised text, words and single punctuation marks, in order.
std::vector<std::u32string> Words(std::u32string_view normalised);

// IsWord, IsSpace: \w and \s of the reference, which decide where an added token begins and ends.
bool IsWord(char32_t c);
bool IsSpace(char32_t c);

}  // namespace suf::model
