// Counts in sentences.
#pragma once
#include <string>

#include "suf/base/error.hpp"

namespace suf {

// Plural(1, "text") is "1 text", Plural(3, "text") "3 texts". A noun whose plural is no noun and s gives it: Plural(2,
// "class", "classes").
template <class N>
std::string Plural(N count, const std::string& noun, const std::string& several = {}) {
  if (count == 1) return Str(count, " ", noun);
  return several.empty() ? Str(count, " ", noun, "s") : Str(count, " ", several);
}

}  // namespace suf
