#include "suf/service/row_rules.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "suf/base/plural.hpp"
#include "suf/service/internal/owner_tables.hpp"
#include "suf/service/internal/private_text.hpp"

namespace suf::service {

namespace {

constexpr RowSpan kAllRows{0, INT64_MAX};

// Parses a row such as "120", or a range such as "0-99". Returns its first and its last row.
std::optional<std::pair<int64_t, int64_t>> RowsIn(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<int64_t> {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.starts_with('-')) return std::nullopt;
    return value;
  };
  const size_t hyphen = text.find('-');
  const auto first = number(text.substr(0, hyphen));
  const auto last = hyphen == text.npos ? first : number(text.substr(hyphen + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

// Sorts ranges from `begin` on, and joins those that overlap or touch.
void JoinRanges(std::vector<RowSpan>* ranges, size_t begin) {
  const auto from = ranges->begin() + std::ptrdiff_t(begin);
  std::sort(from, ranges->end(), [](const RowSpan& a, const RowSpan& b) { return a.first < b.first; });
  auto to = from;
  for (auto at = from; at != ranges->end(); ++at) {
    if (to != from && at->first <= std::prev(to)->end)
      std::prev(to)->end = std::max(std::prev(to)->end, at->end);
    else
      *to++ = *at;
  }
  ranges->erase(to, ranges->end());
}

}  // namespace

// Builds rules from the tables of a text.
class RowRulesReader : public OwnerTablesReader {
 public:
  RowRulesReader(const std::string& source, const OwnerList& owners, std::span<const IndexRowsView> indexes,
                 RowRules* rules)
      : OwnerTablesReader(source, kMostRowRuleBytes,
                          "write it in double quotes as \\u and four digits in hex, such as \"\\u00e9\""),
        source_(source),
        indexes_(indexes),
        rules_(*rules) {
    for (const Owner& o : owners.owners()) names_.push_back(o.name);
    std::sort(names_.begin(), names_.end());
  }

  void Read(std::string_view text) {
    ReadTables(text);
    rules_.ranges_.shrink_to_fit();
    std::sort(rules_.rules_.begin(), rules_.rules_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.owner, a.index, a.line) < std::tie(b.owner, b.index, b.line);
    });
    const auto twice = std::adjacent_find(rules_.rules_.begin(), rules_.rules_.end(), [](const auto& a, const auto& b) {
      return a.owner == b.owner && a.index == b.index;
    });
    if (twice != rules_.rules_.end())
      Refuse(twice[1].line, "owner \"", twice[1].owner, "\" has rows of index ", twice[1].index, " at line ",
             twice[0].line, "; join both");
    NoteUnnamed();
  }

 private:
  using OwnerRule = RowRules::OwnerRule;

  void AddOwner(const toml::table& table) override {
    if (rules_.rules_.size() == kMostRowRules)
      Refuse(LineOf(table), "there are more than ", kMostRowRules, " rules; remove some");
    OwnerRule rule;
    rule.line = LineOf(table);
    rule.owner = NameIn(table);
    if (!std::binary_search(names_.begin(), names_.end(), rule.owner))
      Refuse(LineOf(*table.get("name")), "the list of owners has no ", Quoted(rule.owner),
             "; list it there, or correct the name");
    whose_ = Str("owner \"", rule.owner, "\"");
    if (const toml::node* index = table.get("index"); index || indexes_.empty()) rule.index = ReadIndex(index, rule);
    rule.begin = rules_.ranges_.size();
    bool named = false;
    for (const auto& [key, node] : table) {
      if (key == "name" || key == "index") continue;
      if (key == "rows")
        ReadRows(node, &rule);
      else if (key == "documents")
        ReadDocuments(node, rule.index);
      else if (key == "all")
        ReadAll(node, &rule);
      else
        Refuse(LineOf(key.source()), whose_, " has the field ", Quoted(key),
               "; use name, index, rows, documents and all");
      named = true;
    }
    if (!named) Refuse(rule.line, whose_, " has neither rows nor documents; add some, or all = true");
    if (rule.all && (table.contains("rows") || table.contains("documents")))
      Refuse(rule.line, whose_, " has all rows and some besides; remove all, or the others");
    JoinRanges(&rules_.ranges_, rule.begin);
    rule.end = rules_.ranges_.size();
    rules_.rules_.push_back(std::move(rule));
  }

  // Reads the number of an index; `node` is null if there is none.
  uint32_t ReadIndex(const toml::node* node, const OwnerRule& rule) const {
    const uint32_t line = node ? LineOf(*node) : rule.line;
    const toml::value<int64_t>* number = node ? node->as_integer() : nullptr;
    if (node && !number) Refuse(line, "index of ", whose_, " is ", TomlKind(*node), "; write a whole number");
    if (indexes_.empty()) Refuse(line, whose_, " has rows of an index, and none is served; serve one");
    if (number->get() < 1 || number->get() > int64_t(indexes_.size()))
      Refuse(line, "index of ", whose_, " is ", number->get(), "; write a number from 1 to ", indexes_.size(),
             ", in the order in which indexes are served");
    return uint32_t(number->get());
  }

  void ReadRows(const toml::node& node, OwnerRule* rule) {
    const toml::array* all = node.as_array();
    if (!all)
      Refuse(LineOf(node), "rows of ", whose_, " is ", TomlKind(node), "; write a list such as [\"0-99\", 120]");
    for (const toml::node& one : *all) {
      AddRows(one, rule->index);
      rule->numbers = true;
    }
  }

  void AddRows(const toml::node& node, uint32_t index) {
    std::optional<std::pair<int64_t, int64_t>> rows;
    std::string value;
    if (const auto* number = node.as_integer()) {
      value = Str(number->get());
      if (number->get() >= 0) rows = std::pair(number->get(), number->get());
    } else if (const auto* text = node.as_string()) {
      value = Quoted(text->get());
      rows = RowsIn(text->get());
    } else {
      Refuse(LineOf(node), "a row of ", whose_, " is ", TomlKind(node),
             "; write one like 120, or a range like \"0-99\"");
    }
    if (!rows) Refuse(LineOf(node), value, " of ", whose_, " is no row; write one like 120, or a range like \"0-99\"");
    const auto [first, last] = *rows;
    if (last < first)
      Refuse(LineOf(node), "the range ", value, " of ", whose_, " ends before it begins; write \"", last, "-", first,
             "\"");
    const int64_t count = indexes_[index - 1].rows;
    if (last >= count)
      Refuse(LineOf(node), "index ", index, " has no row ", std::max(first, count), ", which ", value, " of ", whose_,
             " names; ", count > 0 ? Str("write rows from 0 to ", count - 1) : "add documents to it");
    rules_.ranges_.push_back({first, last + 1});
  }

  void ReadDocuments(const toml::node& node, uint32_t index) {
    const toml::array* all = node.as_array();
    if (!all)
      Refuse(LineOf(node), "documents of ", whose_, " is ", TomlKind(node), "; write a list such as [\"leaflet-7\"]");
    for (const toml::node& one : *all) {
      std::string id;
      if (const auto* text = one.as_string())
        id = text->get();
      else if (const auto* number = one.as_integer())
        id = Str(number->get());
      else
        Refuse(LineOf(one), "a document of ", whose_, " is ", TomlKind(one), "; write its id as a string");
      const std::optional<int64_t> row = indexes_[index - 1].row_of(id);
      if (!row)
        Refuse(LineOf(one), "index ", index, " has no document ", Quoted(id), ", which ", whose_,
               " has; remove it, or correct the id");
      rules_.ranges_.push_back({*row, *row + 1});
    }
  }

  void ReadAll(const toml::node& node, OwnerRule* rule) const {
    const toml::value<bool>* value = node.as_boolean();
    if (!value || !value->get())
      Refuse(LineOf(node), "all of ", whose_, " is ", value ? "false" : TomlKind(node),
             "; write true, or remove the line");
    rule->all = true;
  }

  // Notes the owners that no rule names.
  void NoteUnnamed() {
    const std::string* first = nullptr;
    size_t count = 0;
    auto rule = rules_.rules_.begin();
    for (const std::string& name : names_) {
      while (rule != rules_.rules_.end() && rule->owner < name) ++rule;
      if (rule != rules_.rules_.end() && rule->owner == name) continue;
      if (!count++) first = &name;
    }
    if (count)
      rules_.notices_.push_back(Str(source_, " does not name ", Plural(count, "owner"), " of the list, the first \"",
                                    *first, "\"; without rules ", count == 1 ? "it sees" : "they see", " no row"));
  }

  const std::string& source_;
  const std::span<const IndexRowsView> indexes_;
  RowRules& rules_;
  std::vector<std::string> names_;  // of the list, in order
  std::string whose_;               // the subject of error messages
};

RowRules RowRules::Parse(std::string_view toml, const std::string& source, const OwnerList& owners,
                         std::span<const IndexRowsView> indexes) {
  RowRules rules;
  RowRulesReader(source, owners, indexes, &rules).Read(toml);
  return rules;
}

RowRules RowRules::Read(const std::string& file, const OwnerList& owners, std::span<const IndexRowsView> indexes) {
  return Parse(ReadPrivateText(file, "file of row rules", kMostFileBytes), file, owners, indexes);
}

const RowRules::OwnerRule* RowRules::Find(std::string_view owner, uint32_t index) const {
  const auto at = std::lower_bound(
      rules_.begin(), rules_.end(), std::pair(owner, index),
      [](const OwnerRule& rule, const auto& key) { return std::pair(std::string_view(rule.owner), rule.index) < key; });
  return at != rules_.end() && at->owner == owner && at->index == index ? &*at : nullptr;
}

std::span<const RowSpan> RowRules::Of(std::string_view owner, uint32_t index) const {
  const OwnerRule* const rule = Find(owner, index);
  if (!rule) return {};
  if (rule->all) return {&kAllRows, 1};
  return std::span(ranges_).subspan(rule->begin, rule->end - rule->begin);
}

bool RowRules::SeesAll(std::string_view owner, uint32_t index) const {
  const OwnerRule* const rule = Find(owner, index);
  return rule && rule->all;
}

bool RowRules::HasNumbers(uint32_t index) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const OwnerRule& rule) { return rule.index == index && rule.numbers; });
}

}  // namespace suf::service
