// Fuzzes the text of an owners' file. It is parsed owner by owner; the whole text must give the same answer. A list
// that is accepted keeps its limits.
#include "suf/service/owners.hpp"

#include <algorithm>
#include <optional>

#include "fuzz/fuzz.hpp"

// as in suf/service/owners.cpp
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_MAX_NESTED_VALUES 16
#define TOML_ASSERT(condition) SUF_CHECK(condition)
#include <toml++/toml.h>

namespace {

using namespace suf;
using namespace suf::service;

// Checks a list against the text that it is from.
void CheckList(const OwnerList& list, const std::string& text) {
  SUF_CHECK(list.size() > 0 && list.size() <= kMostOwners);
  for (const Owner& o : list.owners()) {
    SUF_CHECK(!o.name.empty() && o.name.size() <= kLongestOwnerName);
    SUF_CHECK(!o.keys.empty() && o.keys.size() <= kMostKeysOfOwner);
    for (const Hash& key : o.keys) SUF_CHECK(list.Find(key) == &o);
    size_t at = 0;
    for (uint32_t line = 1; line < o.line; ++line) at = text.find('\n', at) + 1;
    SUF_CHECK(text.find("[[", at) < text.find('\n', at));
  }
}

// Parses a whole text. Returns the number of its owners, 0 if it has other tables, or nothing if it is no TOML.
std::optional<size_t> CountWhole(std::string_view text) {
  try {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) return std::nullopt;
    const auto* all = parsed.table().get_as<toml::array>("owner");
    return all && parsed.table().size() == 1 ? all->size() : 0;
  } catch (const Bug&) {  // an assertion of toml++
    return std::nullopt;
  }
}

}  // namespace

SUF_FUZZ(owners) {
  const std::string text = fuzz::TextOf(input);
  // the behaviour of toml++ is undefined for some other characters, which our reader hides from it
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x80; });
  const std::optional<size_t> whole = ascii ? CountWhole(text) : std::nullopt;
  try {
    const OwnerList list = OwnerList::Parse(text, "F", Day{});
    CheckList(list, text);
    SUF_CHECK(!ascii || whole == list.size());
  } catch (const Error& e) {
    const std::string_view sentence = e.what();
    for (const char* end : {"; correct it there", "is no TOML; correct it", "more than 64 bits; write a smaller one"})
      if (sentence.ends_with(end)) SUF_CHECK(!whole);
    throw;
  }
}
