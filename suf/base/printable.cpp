#include "suf/base/printable.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace suf {

namespace {

struct Range {
  uint32_t first, last;
};
// The invisible characters of Unicode 15.1: categories Cc, Cf, Zl, Zp, Co, Cs, default ignorable code points and
// noncharacters. The list is our own, so that every machine refuses the same texts.
constexpr Range kHidden[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},
    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff},
    {0x2fffe, 0x2ffff}, {0x3fffe, 0x3ffff}, {0x4fffe, 0x4ffff}, {0x5fffe, 0x5ffff}, {0x6fffe, 0x6ffff},
    {0x7fffe, 0x7ffff}, {0x8fffe, 0x8ffff}, {0x9fffe, 0x9ffff}, {0xafffe, 0xaffff}, {0xbfffe, 0xbffff},
    {0xcfffe, 0xcffff}, {0xdfffe, 0x10ffff}};

bool Hidden(uint32_t c) {
  const Range* at = std::lower_bound(std::begin(kHidden), std::end(kHidden), c,
                                     [](const Range& r, uint32_t v) { return r.last < v; });
  return at != std::end(kHidden) && at->first <= c;
}

// A character's length in bytes and its code point. Length 0 marks a byte that begins no character.
struct Character {
  size_t length = 0;
  uint32_t point = 0;
};
// Decodes the character at the front of `s`.
Character Next(std::string_view s) {
  const auto byte = [&](size_t i) { return uint8_t(s[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || s.size() < length) return {};
  uint32_t point = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {length, point};
}

}  // namespace

bool IsPrintable(std::string_view s) {
  while (!s.empty()) {
    const Character c = Next(s);
    if (c.length == 0 || Hidden(c.point)) return false;
    s.remove_prefix(c.length);
  }
  return true;
}

std::string Printable(std::string_view s) {
  std::string out;
  while (!s.empty()) {
    const Character c = Next(s);
    char escape[16];
    if (c.length > 0 && !Hidden(c.point))
      out += s.substr(0, c.length);
    else if (c.point == '\n' || c.point == '\r' || c.point == '\t')
      out += c.point == '\n' ? "\\n" : c.point == '\r' ? "\\r" : "\\t";
    else if (c.length > 1)
      out.append(escape, size_t(std::snprintf(escape, sizeof escape, "\\u{%x}", c.point)));
    else
      out.append(escape, size_t(std::snprintf(escape, sizeof escape, "\\x%02x", uint8_t(s[0]))));
    s.remove_prefix(std::max<size_t>(c.length, 1));
  }
  return out;
}

}  // namespace suf
