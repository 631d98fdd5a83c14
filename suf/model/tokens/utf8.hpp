// Code points as UTF-8. text.hpp has the other direction. Private to the module.
#pragma once
#include <string>

#include "suf/model/tokens/parts.hpp"

namespace suf::model {

// Appends the UTF-8 of a code point, which is not a surrogate.
inline void AppendUtf8(char32_t c, std::string* out) {
  const auto tail = [&](int shift) { out->push_back(char(0x80 | (c >> shift & 0x3f))); };
  if (c < 0x80) {
    out->push_back(char(c));
  } else if (c < 0x800) {
    out->push_back(char(0xc0 | c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out->push_back(char(0xe0 | c >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(char(0xf0 | c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

inline std::string ToUtf8(PointsView text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t c : text) AppendUtf8(c, &out);
  return out;
}

}  // namespace suf::model
