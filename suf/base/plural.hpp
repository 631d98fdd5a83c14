// Counts in sentences.
#pragma once
#include <string>

#include "suf/base/error.hpp"

namespace suf {

// Returns "1 text" for Plural(1, "text"), "3 texts" for Plural(3, "text"). `several` is an irregular plural, as in
// Plural(2, "class", "classes").
template <class N>
std::string Plural(N count, const std::string& noun, const std::string& several = {}) {
  if (count == 1) return Str(count, " ", noun);
  return several.empty() ? Str(count, " ", noun, "s") : Str(count, " ", several);
}

}  // namespace suf
