// Text from a file or a peer, as a terminal may show it. Nothing else decides this.
#pragma once
#include <string>
#include <string_view>

namespace suf {

// Whether all of `s` is well-formed UTF-8 of visible characters and spaces (U+0020): no control, format,
// bidirectional, invisible or private character and no line separator.
bool IsPrintable(std::string_view s);
// `s` with everything else escaped: "\n", "\x1b" for a byte, "\u{202e}" for a character. What is printable
// stays, a backslash too, so that escaping twice changes nothing.
std::string Printable(std::string_view s);

}  // namespace suf
