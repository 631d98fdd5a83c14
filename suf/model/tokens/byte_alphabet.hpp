// The alphabet of byte-level tokenizers (Radford et al., "GPT-2", 2019): one visible character for each byte. The bytes
// 33 to 126, 161 to 172 and 174 to 255 are themselves; the 68 others are U+0100 to U+0143, in order. Private to the
// module.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace suf::model {

// The characters are below this.
inline constexpr char32_t kByteCharEnd = 0x144;

// The character of each byte.
inline constexpr std::array<char32_t, 256> kByteChars = [] {
  std::array<char32_t, 256> chars{};
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    chars[b] = visible ? b : next++;
  }
  return chars;
}();

// The byte of each character below kByteCharEnd, or -1.
inline constexpr std::array<int16_t, kByteCharEnd> kCharBytes = [] {
  std::array<int16_t, kByteCharEnd> bytes{};
  for (int16_t& b : bytes) b = -1;
  for (std::size_t b = 0; b < 256; ++b) bytes[kByteChars[b]] = int16_t(b);
  return bytes;
}();

// Returns the byte of a character, or -1 if it is not in the alphabet.
constexpr int ByteOf(char32_t c) { return c < kByteCharEnd ? kCharBytes[c] : -1; }

}  // namespace suf::model
