#include "suf/service/owners.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "suf/base/plural.hpp"
#include "suf/base/private_files.hpp"
#include "suf/net/credentials.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_MAX_NESTED_VALUES 16
#define TOML_ASSERT(condition) SUF_CHECK(condition)
#include <toml++/toml.h>

namespace suf::service {

namespace {

bool IsAscii(char c) { return uint8_t(c) < 0x80; }

// Splits a text at its headers [[owner]], so that the tree of one owner is in memory at a time. Follows strings,
// comments and brackets, in which a header is none. In a damaged text all pieces before the damage are right.
class OwnerPieces {
 public:
  // The last piece ends at a fault, if there is one. Comments alone may have characters beyond ASCII. No field needs
  // them, and the behaviour of toml++ is undefined for some of them in damaged texts.
  enum class Fault { kNone, kTooLong, kNotAscii };

  explicit OwnerPieces(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // the mark of UTF-8
  }

  // Reads the next piece; returns false at the end. The first one may have no header.
  bool Next() {
    line_ += uint32_t(std::count(piece_.begin(), piece_.end(), '\n'));
    const size_t begin = at_;
    size_t comments = 0;
    int depth = 0;
    while (at_ < text_.size() && fault_ == Fault::kNone) {
      const char c = text_[at_];
      if (c == '#') {
        const size_t end = std::min(text_.find('\n', at_), text_.size());
        comments += end - at_;
        at_ = end;
      } else if (c == '"' || c == '\'') {
        const size_t end = AfterString(at_);
        while (at_ < end && IsAscii(text_[at_])) ++at_;
        if (at_ < end) fault_ = Fault::kNotAscii;
      } else if (!IsAscii(c)) {
        fault_ = Fault::kNotAscii;
      } else {
        depth += c == '[' || c == '{';
        depth -= depth && (c == ']' || c == '}');
        ++at_;
      }
      if (at_ - begin - comments > kMostOwnerBytes) fault_ = Fault::kTooLong;
      if (c == '\n' && !depth && IsHeader(at_)) break;
    }
    piece_ = text_.substr(begin, at_ - begin);
    at_ = fault_ == Fault::kNone ? at_ : text_.size();
    return !piece_.empty() || fault_ != Fault::kNone;
  }

  std::string_view piece() const { return piece_; }
  // Returns the line at which the piece begins.
  uint32_t line() const { return line_; }
  // Returns why the piece was cut. kTooLong says that it has more than kMostOwnerBytes.
  Fault fault() const { return fault_; }

 private:
  // Returns the place after a string. One on a single line ends before the end of its line at the latest.
  size_t AfterString(size_t at) const {
    const char quote = text_[at];
    const std::string three(3, quote);
    const bool lines = text_.substr(at, 3) == three;
    for (at += lines ? 3 : 1; at < text_.size(); ++at) {
      if (!lines && text_[at] == '\n') return at;
      if (quote == '"' && text_[at] == '\\') {
        ++at;
      } else if (!lines && text_[at] == quote) {
        return at + 1;
      } else if (lines && text_.substr(at, 3) == three) {
        at += 3;
        for (int more = 0; more < 2 && at < text_.size() && text_[at] == quote; ++more) ++at;  // part of the string
        return at;
      }
    }
    return text_.size();
  }
  bool IsHeader(size_t at) const {
    std::string_view rest = text_.substr(at);
    const auto take = [&](std::string_view word) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
      if (!rest.starts_with(word)) return false;
      rest.remove_prefix(word.size());
      return true;
    };
    return take("[[") && take("owner") && take("]]");
  }

  std::string_view text_, piece_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  Fault fault_ = Fault::kNone;
};

const char* KindOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a point";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time of day";
    case toml::node_type::date_time:
      return "a date with a time";
    case toml::node_type::array:
      return "a list";
    default:
      return "a table";
  }
}

// Returns whether an error is at the end of a text, which may be due to its cut.
bool IsAtEnd(std::string_view text, const toml::source_position& at) {
  for (uint32_t line = 1; line < at.line; ++line) text.remove_prefix(text.find('\n') + 1);
  return at.column + 4 > text.size();  // a character has up to 4 bytes
}

bool IsName(std::string_view s) {
  return !s.empty() && s.size() <= kLongestOwnerName && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace

// Builds a list from the pieces of a text.
class OwnersReader {
 public:
  OwnersReader(const std::string& source, OwnerList* list) : source_(source), list_(*list) {}

  void Read(std::string_view text) {
    for (OwnerPieces pieces(text); pieces.Next();) {
      before_ = pieces.line() - 1;
      Add(pieces.piece(), pieces.fault());
    }
    if (list_.owners_.empty()) Fail(Cause::kInput, source_, " lists no owner; add one under a header [[owner]]");
    CheckNames();
    CheckKeys();
  }

 private:
  uint32_t LineOf(const toml::source_region& at) const { return before_ + at.begin.line; }
  uint32_t LineOf(const toml::node& node) const { return LineOf(node.source()); }

  // Throws the error of a value: its place, the rest of the sentence, and the remedy.
  template <class... T>
  [[noreturn]] void Refuse(uint32_t line, const T&... parts) const {
    Fail(Cause::kInput, source_, ", line ", line, ": ", parts...);
  }

  // Parses a piece. An assertion of toml++ fails for some damaged texts, at an unknown place.
  toml::parse_result Parse(std::string_view piece) const try {
    if (std::all_of(piece.begin(), piece.end(), IsAscii)) return toml::parse(piece);
    std::string text(piece);  // its comments have other characters
    std::replace_if(text.begin(), text.end(), std::not_fn(IsAscii), '?');
    return toml::parse(text);
  } catch (const Bug&) {
    Refuse(before_ + 1, "the text about one owner is no TOML; correct it");
  }

  void Add(std::string_view piece, OwnerPieces::Fault fault) {
    const toml::parse_result parsed = Parse(piece);
    if (!parsed && (fault == OwnerPieces::Fault::kNone || !IsAtEnd(piece, parsed.error().source().begin))) {
      const toml::source_position at = parsed.error().source().begin;
      if (parsed.error().description().ends_with("is not representable in 64 bits"))
        Refuse(before_ + at.line, "a number has more than 64 bits; write a smaller one");
      Refuse(before_ + at.line, "the text is no TOML at column ", at.column, "; correct it there");
    }
    if (fault == OwnerPieces::Fault::kTooLong)
      Refuse(before_ + 1, "the text about one owner has more than ", kMostOwnerBytes,
             " bytes; shorten it, or close its last bracket or string");
    if (fault == OwnerPieces::Fault::kNotAscii)
      Refuse(before_ + uint32_t(std::count(piece.begin(), piece.end(), '\n') + 1), "column ",
             piece.size() - piece.rfind('\n'),  // also right without one
             " has a character beyond ASCII; use such characters in comments alone");
    for (const auto& [key, node] : parsed.table()) {
      const uint32_t line = LineOf(key.source());
      if (key != "owner") Refuse(line, Quoted(key), " belongs to no owner; remove it, or write it below [[owner]]");
      const toml::array* all = node.as_array();
      if (!all || all->empty() || !std::all_of(all->begin(), all->end(), [](const toml::node& n) {
            return n.is_table() && !n.as_table()->is_inline();
          }))
        Refuse(line, "owner is ", KindOf(node), "; write each owner below a header [[owner]]");
      for (const toml::node& owner : *all) AddOwner(*owner.as_table());
    }
  }

  void AddOwner(const toml::table& table) {
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
      else if (key == "at_once")
        owner.at_once = int(ReadNumber("at_once", node, kMostAtOnceOfOwner));
      else if (key == "lanes")
        owner.lanes = int(ReadNumber("lanes", node, kMostLanesOfOwner));
      else if (key == "until")
        owner.until = ReadUntil(node);
      else
        Refuse(LineOf(key.source()), whose_, " has the field ", Quoted(key),
               "; use name, keys, texts, tokens, at_once, lanes and until");
    }
    if (owner.keys.empty()) Refuse(owner.line, whose_, " has no keys; add at least one fingerprint");
    list_.owners_.push_back(std::move(owner));
  }

  void ReadName(const toml::table& table, Owner* owner) const {
    const toml::node* node = table.get("name");
    if (!node) Refuse(owner->line, "the owner has no name; add one");
    const toml::value<std::string>* text = node->as_string();
    if (!text) Refuse(LineOf(*node), "the name is ", KindOf(*node), "; write a string");
    if (!IsName(text->get()))
      Refuse(LineOf(*node), "the name ", Quoted(text->get()), " has ", text->get().size(), " bytes; use 1 to ",
             kLongestOwnerName, " letters, digits, dots, underscores and hyphens");
    if (text->get() == kUnlistedName)
      Refuse(LineOf(*node), "the name \"", kUnlistedName, "\" means all other data owners; use another one");
    owner->name = text->get();
  }

  void ReadKeys(const toml::node& node, Owner* owner) {
    const toml::array* all = node.as_array();
    if (!all) Refuse(LineOf(node), "keys of ", whose_, " is ", KindOf(node), "; write a list of fingerprints");
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
    if (!text) Refuse(LineOf(node), "a key of ", whose_, " is ", KindOf(node), "; write a fingerprint as a string");
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
    if (!number) Refuse(LineOf(node), field, " of ", whose_, " is ", KindOf(node), "; write a whole number");
    if (number->get() < 1 || number->get() > most)
      Refuse(LineOf(node), field, " of ", whose_, " is ", number->get(), "; write a number from 1 to ", most,
             ", or remove the line for no limit");
    return number->get();
  }

  Day ReadUntil(const toml::node& node) const {
    const toml::value<toml::date>* value = node.as_date();
    if (!value)
      Refuse(LineOf(node), "until of ", whose_, " is ", KindOf(node), "; write a date like 2027-01-31 without quotes");
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

  const std::string& source_;
  OwnerList& list_;
  uint32_t before_ = 0;  // lines before the piece
  std::string whose_;    // the subject of error messages
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
  CheckPrivateFile(file);
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd)
    Fail(Cause::kInput, "cannot read the owners' file ", file, " (", SystemError(),
         "); name a file that the user of this process can read");
  struct stat s {};
  if (fstat(fd.get(), &s) || !S_ISREG(s.st_mode))
    Fail(Cause::kInput, "the owners' file ", file, " is ", S_ISDIR(s.st_mode) ? "a folder" : "no ordinary file",
         "; name a file");
  const auto bytes = size_t(s.st_size);
  if (bytes > kMostFileBytes)
    Fail(Cause::kInput, "the owners' file ", file, " has ", bytes, " bytes; list owners in at most ", kMostFileBytes,
         " bytes");
  std::string text(bytes + 1, '\0');  // one more byte shows that the file has grown
  text.resize(ReadInto(fd.get(), {reinterpret_cast<uint8_t*>(text.data()), text.size()}, file));
  if (text.size() != bytes)
    Fail(Cause::kInput, "the owners' file ", file, " had ", bytes,
         " bytes and changed while it was read; write another file and rename it into place");
  return Parse(text, file, now);
}

const Owner* OwnerList::Find(const Hash& key) const {
  const auto at = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                   [&](const KeyPlace& p, const Hash& k) { return KeyAt(p) < k; });
  return at != by_key_.end() && KeyAt(*at) == key ? &owners_[at->owner] : nullptr;
}

}  // namespace suf::service
