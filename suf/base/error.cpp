#include "suf/base/error.hpp"

#include <algorithm>
#include <cstdint>

#include "suf/base/printable.hpp"

namespace suf {

const char* Name(Cause cause) {
  static constexpr const char* kNames[] = {"input", "peer", "refused", "resource"};
  return kNames[int(cause)];
}

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 100;
  size_t end = std::min(text.size(), kLongest);
  while (end < text.size() && end > 0 && (uint8_t(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
  std::string out = "\"";
  for (char c : Printable(text.substr(0, end))) out += c == '"' ? std::string("\\\"") : std::string(1, c);
  return out + (end < text.size() ? "..\"" : "\"");
}

Error::Error(Cause cause, const std::string& sentence) : std::runtime_error(Printable(sentence)), cause_(cause) {}

void Broken(const char* condition, const char* file, int line) {
  throw Bug(Str("internal error: ", condition, " does not hold (", file, ":", line, ")"));
}

}  // namespace suf
