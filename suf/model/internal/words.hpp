// From raw text to the words that WordPiece cuts, like BertNormalizer and BertPreTokenizer of `tokenizers` 0.23.
// BertNormalizer cleans text, puts spaces around Chinese characters, decomposes canonically without nonspacing marks,
// and lowers case. Its Unicode tables are of three versions. They are in unicode_tables.hpp, so the installed utf8proc
// makes no difference. Private to the module.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace suf::model {

// Returns the code points of UTF-8. Throws Cause::kInput: "<what> is not UTF-8 at byte <offset>; ..".
std::u32string Decode(std::string_view utf8, std::string_view what);

// Returns the text cleaned, spaced, without marks and in lower case.
std::u32string Normalised(std::u32string_view text);

// Returns the words and the single punctuation marks of a normalised text, in order.
std::vector<std::u32string> Words(std::u32string_view normalised);

// Whether c is \w of the reference, which decides where an added token begins and ends.
bool IsWord(char32_t c);
// Whether c is \s of the reference, which decides the spaces beside an added token.
bool IsSpace(char32_t c);

}  // namespace suf::model
