// Text from a file or a peer, as a terminal may show it. Only this file decides which text that is.
#pragma once
#include <string>
#include <string_view>

namespace suf {

// Whether all of `s` is well-formed UTF-8 of visible characters and spaces (U+0020). Control, format, bidirectional,
// invisible and private characters and line separators are not printable.
bool IsPrintable(std::string_view s);
// Returns `s` with everything else escaped: "\n", "\x1b" for a byte, "\u{202e}" for a character. Printable characters
// stay, also the backslash, so that escaping twice changes nothing.
std::string Printable(std::string_view s);

}  // namespace suf
