#include "suf/model/tokens/text.hpp"

#include <utf8proc.h>

#include "suf/base/error.hpp"

namespace suf::model {

std::u32string Decode(std::string_view utf8, std::string_view what) {
  std::u32string out;
  out.reserve(utf8.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(utf8.data());
  for (size_t at = 0; at < utf8.size();) {
    int32_t point = 0;
    const auto n = utf8proc_iterate(bytes + at, utf8proc_ssize_t(utf8.size() - at), &point);
    if (n <= 0) Fail(Cause::kInput, what, " is not UTF-8 at byte ", at, "; save it as UTF-8");
    out.push_back(char32_t(point));
    at += size_t(n);
  }
  return out;
}

}  // namespace suf::model
