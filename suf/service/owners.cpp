#include "suf/service/owners.hpp"

#include <algorithm>
#include <tuple>

#include "suf/base/plural.hpp"
#include "suf/net/credentials.hpp"
#include "suf/service/internal/owner_tables.hpp"
#include "suf/service/internal/private_text.hpp"

namespace suf::service {

namespace {

bool IsName(std::string_view s) {
  return !s.empty() && s.size() <= kLongestOwnerName && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace

// Builds a list from the tables of a text.
class OwnersReader : public OwnerTablesReader {
 public:
  OwnersReader(const std::string& source, OwnerList* list)
      : OwnerTablesReader(source, kMostOwnerBytes, "use such characters in comments alone"), list_(*list) {}

  void Read(std::string_view text) {
    ReadTables(text);
    CheckNames();
    CheckKeys();
  }

 private:
  void AddOwner(const toml::table& table) override {
    if (list_.owners_.size() == kMostOwners)
      Refuse(LineOf(table), "the list has more than ", kMostOwners, " owners; remove some");
    Owner owner;
    owner.line = LineOf(table);
    whose_ = "the owner";
    ReadName(table, &owner);
    whose_ = Str("owner \"", owner.name, "\"");
    for (const auto& [key, node] : table) {
      if (key == "name") continue;
      if (key == "keys")
        ReadKeys(node, &owner);
      else if (key == "texts")
        owner.texts = uint64_t(ReadNumber("texts", node, kMostADay));
      else if (key == "tokens")
        owner.tokens = uint64_t(ReadNumber("tokens", node, kMostADay));
      else if (key == "searches")
        owner.searches = uint64_t(ReadNumber("searches", node, kMostADay));
      else if (key == "at_once")
        owner.at_once = int(ReadNumber("at_once", node, kMostAtOnceOfOwner));
      else if (key == "lanes")
        owner.lanes = int(ReadNumber("lanes", node, kMostLanesOfOwner));
      else if (key == "until")
        owner.until = ReadUntil(node);
      else
        Refuse(LineOf(key.source()), whose_, " has the field ", Quoted(key),
               "; use name, keys, texts, tokens, searches, at_once, lanes and until");
    }
    if (owner.keys.empty()) Refuse(owner.line, whose_, " has no keys; add at least one fingerprint");
    list_.owners_.push_back(std::move(owner));
  }

  void ReadName(const toml::table& table, Owner* owner) const {
    const std::string& name = NameIn(table);
    const uint32_t line = LineOf(*table.get("name"));
    if (!IsName(name))
      Refuse(line, "the name ", Quoted(name), " has ", name.size(), " bytes; use 1 to ", kLongestOwnerName,
             " letters, digits, dots, underscores and hyphens");
    if (name == kUnlistedName)
      Refuse(line, "the name \"", kUnlistedName, "\" means all other data owners; use another one");
    owner->name = name;
  }

  void ReadKeys(const toml::node& node, Owner* owner) {
    const toml::array* all = node.as_array();
    if (!all) Refuse(LineOf(node), "keys of ", whose_, " is ", TomlKind(node), "; write a list of fingerprints");
    if (all->size() > kMostKeysOfOwner)
      Refuse(LineOf(node), whose_, " has ", all->size(), " keys; list at most ", kMostKeysOfOwner);
    owner->keys.reserve(all->size());
    for (const toml::node& one : *all) {
      list_.by_key_.push_back({uint32_t(list_.owners_.size()), uint32_t(owner->keys.size()), LineOf(one)});
      owner->keys.push_back(ReadKey(one));
    }
  }

  Hash ReadKey(const toml::node& node) const {
    const toml::value<std::string>* text = node.as_string();
    if (!text) Refuse(LineOf(node), "a key of ", whose_, " is ", TomlKind(node), "; write a fingerprint as a string");
    net::Identity who;
    try {
      who = net::FromFingerprint(text->get());
    } catch (const Error&) {
      Refuse(LineOf(node), "the key ", Quoted(text->get()), " of ", whose_,
             " is no fingerprint; write data= and 64 lower-case digits in hex");
    }
    if (who.role != Role::kData)
      Refuse(LineOf(node), "the key ", Quoted(text->get()), " of ", whose_, " is ", Title(who.role),
             "'s; list fingerprints of data owners alone");
    return who.key;
  }

  int64_t ReadNumber(const char* field, const toml::node& node, int64_t most) const {
    const toml::value<int64_t>* number = node.as_integer();
    if (!number) Refuse(LineOf(node), field, " of ", whose_, " is ", TomlKind(node), "; write a whole number");
    if (number->get() < 1 || number->get() > most)
      Refuse(LineOf(node), field, " of ", whose_, " is ", number->get(), "; write a number from 1 to ", most,
             ", or remove the line for no limit");
    return number->get();
  }

  Day ReadUntil(const toml::node& node) const {
    const toml::value<toml::date>* value = node.as_date();
    if (!value)
      Refuse(LineOf(node), "until of ", whose_, " is ", TomlKind(node),
             "; write a date like 2027-01-31 without quotes");
    const toml::date& d = value->get();
    const auto date = std::chrono::year(d.year) / d.month / d.day;
    SUF_CHECK(date.ok());
    return date;
  }

  void CheckNames() const {
    std::vector<const Owner*> all;
    for (const Owner& o : list_.owners_) all.push_back(&o);
    std::sort(all.begin(), all.end(),
              [](auto* a, auto* b) { return std::tie(a->name, a->line) < std::tie(b->name, b->line); });
    const auto twice = std::adjacent_find(all.begin(), all.end(), [](auto* a, auto* b) { return a->name == b->name; });
    if (twice == all.end()) return;
    Refuse(twice[1]->line, "the name \"", twice[0]->name, "\" is that of the owner at line ", twice[0]->line,
           "; give each owner a name of its own");
  }

  void CheckKeys() {
    std::vector<OwnerList::KeyPlace>& all = list_.by_key_;
    all.shrink_to_fit();
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return std::tie(list_.KeyAt(a), a.owner, a.key) < std::tie(list_.KeyAt(b), b.owner, b.key);
    });
    const auto twice = std::adjacent_find(
        all.begin(), all.end(), [&](const auto& a, const auto& b) { return list_.KeyAt(a) == list_.KeyAt(b); });
    if (twice == all.end()) return;
    Refuse(twice[1].line, "the key data=", Hex(list_.KeyAt(twice[0])), " is that of owner \"",
           list_.owners_[twice[0].owner].name, "\" at line ", twice[0].line, "; list each key once");
  }

  OwnerList& list_;
  std::string whose_;  // the subject of error messages
};

OwnerList OwnerList::Parse(std::string_view toml, const std::string& source, Instant now) {
  OwnerList list;
  OwnersReader(source, &list).Read(toml);
  list.owners_.shrink_to_fit();
  const Owner* first = nullptr;
  size_t count = 0;
  for (const Owner& o : list.owners_) {
    if (!o.HasExpired(now)) continue;
    if (!count++) first = &o;
  }
  if (first)
    list.notices_.push_back(Str("in ", source, " ", Plural(count, "owner has", "owners have"), " expired and ",
                                count == 1 ? "is" : "are", " refused, the first at line ", first->line, " (\"",
                                first->name, "\", until ", DayText(*first->until), "); extend or remove ",
                                count == 1 ? "it" : "them"));
  return list;
}

OwnerList OwnerList::Read(const std::string& file, Instant now) {
  return Parse(ReadPrivateText(file, "owners' file", kMostFileBytes), file, now);
}

const Owner* OwnerList::Find(const Hash& key) const {
  const auto at = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                   [&](const KeyPlace& p, const Hash& k) { return KeyAt(p) < k; });
  return at != by_key_.end() && KeyAt(*at) == key ? &owners_[at->owner] : nullptr;
}

}  // namespace suf::service
