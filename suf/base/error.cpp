#include "suf/base/error.hpp"

namespace suf {

const char* Name(Cause cause) {
  static constexpr const char* kNames[] = {"input", "peer", "refused", "resource"};
  return kNames[int(cause)];
}

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 100;
  std::string out = "\"";
  for (char c : text.substr(0, kLongest)) out += c < ' ' || c > '~' || c == '"' ? '?' : c;
  return out + (text.size() > kLongest ? "..\"" : "\"");
}

void Broken(const char* condition, const char* file, int line) {
  throw Bug(Str("internal error: ", condition, " does not hold (", file, ":", line, ")"));
}

}  // namespace suf
