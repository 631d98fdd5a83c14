// Fuzzes the text of an owners' file. It is parsed owner by owner; the whole text must give the same answer. A list
// that is accepted keeps its limits. The text is also parsed as row rules, whose rows must be in their index.
#include "suf/service/owners.hpp"

#include <algorithm>
#include <optional>

#include "fuzz/fuzz.hpp"
#include "suf/service/row_rules.hpp"

// as in suf/service/internal/owner_tables.hpp
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

// Parses a text as rules about two owners and two indexes, and checks them.
void CheckRules(const std::string& text) {
  static const OwnerList owners = [] {
    std::string list;
    for (const char* name : {"ann", "b-o.b_2"})
      list += Str("[[owner]]\nname = '", name, "'\nkeys = ['data=", Hex(Hash{uint8_t(name[0])}), "']\n");
    return OwnerList::Parse(list, "O", Day{});
  }();
  static const std::vector<IndexRowsView> indexes(2, {100, [](const std::string& id) -> std::optional<int64_t> {
                                                        if (id.size() > 9) return std::nullopt;
                                                        return int64_t(id.size());
                                                      }});
  try {
    const RowRules rules = RowRules::Parse(text, "F", owners, indexes);
    for (const char* name : {"ann", "b-o.b_2"})
      for (uint32_t index = 0; index < 4; ++index) {
        int64_t end = -1;
        for (const RowSpan& rows : rules.Of(name, index)) {
          SUF_CHECK(rows.first > end && rows.end > rows.first && (index == 1 || index == 2));
          end = rows.end;
        }
        SUF_CHECK(rules.SeesAll(name, index) ? end == INT64_MAX : end <= 100);
      }
    SUF_CHECK(rules.Of("cy", 1).empty());
  } catch (const Error&) {
  }
}

}  // namespace

SUF_FUZZ(owners) {
  const std::string text = fuzz::TextOf(input);
  CheckRules(text);
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
