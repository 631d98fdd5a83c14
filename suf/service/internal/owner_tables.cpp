#include "suf/service/internal/owner_tables.hpp"

#include <algorithm>
#include <functional>

namespace suf::service {

namespace {

bool IsAscii(char c) { return uint8_t(c) < 0x80; }

// Splits a text at its headers [[owner]], so that the tree of one owner is in memory at a time. Follows strings,
// comments and brackets, in which a header is none. In a damaged text all pieces before the damage are right.
//
// Comments alone may have characters beyond ASCII. In damaged texts the behaviour of toml++ is undefined for some of
// these. The last piece ends at a cut, if there is one.
class OwnerPieces {
 public:
  using PieceCut = OwnerTablesReader::PieceCut;

  // A piece has at most `most` bytes without comments.
  OwnerPieces(std::string_view text, size_t most) : text_(text), most_(most) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // the mark of UTF-8
  }

  // Reads the next piece; returns false at the end. The first one may have no header.
  bool Next() {
    line_ += uint32_t(std::count(piece_.begin(), piece_.end(), '\n'));
    const size_t begin = at_;
    size_t comments = 0;
    int depth = 0;
    while (at_ < text_.size() && cut_ == PieceCut::kNone) {
      const char c = text_[at_];
      if (c == '#') {
        const size_t end = std::min(text_.find('\n', at_), text_.size());
        comments += end - at_;
        at_ = end;
      } else if (c == '"' || c == '\'') {
        const size_t end = AfterString(at_);
        while (at_ < end && IsAscii(text_[at_])) ++at_;
        if (at_ < end) cut_ = PieceCut::kNotAscii;
      } else if (!IsAscii(c)) {
        cut_ = PieceCut::kNotAscii;
      } else {
        depth += c == '[' || c == '{';
        depth -= depth && (c == ']' || c == '}');
        ++at_;
      }
      if (at_ - begin - comments > most_) cut_ = PieceCut::kTooLong;
      if (c == '\n' && !depth && IsHeader(at_)) break;
    }
    piece_ = text_.substr(begin, at_ - begin);
    at_ = cut_ == PieceCut::kNone ? at_ : text_.size();
    return !piece_.empty() || cut_ != PieceCut::kNone;
  }

  std::string_view piece() const { return piece_; }
  // Returns the line at which the piece begins.
  uint32_t line() const { return line_; }
  // Returns why the piece was cut. kTooLong says that it has more bytes than a piece may have.
  PieceCut cut() const { return cut_; }

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
  const size_t most_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  PieceCut cut_ = PieceCut::kNone;
};

// Returns whether an error is at the end of a text, which may be due to its cut.
bool IsAtEnd(std::string_view text, const toml::source_position& at) {
  for (uint32_t line = 1; line < at.line; ++line) text.remove_prefix(text.find('\n') + 1);
  return at.column + 4 > text.size();  // a character has up to 4 bytes
}

}  // namespace

const char* TomlKind(const toml::node& node) {
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

void OwnerTablesReader::ReadTables(std::string_view text) {
  bool found = false;
  for (OwnerPieces pieces(text, most_); pieces.Next();) {
    before_ = pieces.line() - 1;
    found |= AddPiece(pieces.piece(), pieces.cut());
  }
  if (!found) Fail(Cause::kInput, source_, " lists no owner; add one under a header [[owner]]");
}

// An assertion of toml++ fails for some damaged texts, at an unknown place.
toml::parse_result OwnerTablesReader::Parse(std::string_view piece) const try {
  if (std::all_of(piece.begin(), piece.end(), IsAscii)) return toml::parse(piece);
  std::string text(piece);  // its comments have other characters
  std::replace_if(text.begin(), text.end(), std::not_fn(IsAscii), '?');
  return toml::parse(text);
} catch (const Bug&) {
  Refuse(before_ + 1, "the text about one owner is no TOML; correct it");
}

bool OwnerTablesReader::AddPiece(std::string_view piece, PieceCut cut) {
  const toml::parse_result parsed = Parse(piece);
  if (!parsed && (cut == PieceCut::kNone || !IsAtEnd(piece, parsed.error().source().begin))) {
    const toml::source_position at = parsed.error().source().begin;
    if (parsed.error().description().ends_with("is not representable in 64 bits"))
      Refuse(before_ + at.line, "a number has more than 64 bits; write a smaller one");
    Refuse(before_ + at.line, "the text is no TOML at column ", at.column, "; correct it there");
  }
  if (cut == PieceCut::kTooLong)
    Refuse(before_ + 1, "the text about one owner has more than ", most_,
           " bytes; shorten it, or close its last bracket or string");
  if (cut == PieceCut::kNotAscii)
    Refuse(before_ + uint32_t(std::count(piece.begin(), piece.end(), '\n') + 1), "column ",
           piece.size() - piece.rfind('\n'),  // also right without one
           " has a character beyond ASCII; ", beyond_);
  for (const auto& [key, node] : parsed.table()) {
    const uint32_t line = LineOf(key.source());
    if (key != "owner") Refuse(line, Quoted(key), " belongs to no owner; remove it, or write it below [[owner]]");
    const toml::array* all = node.as_array();
    if (!all || all->empty() || !std::all_of(all->begin(), all->end(), [](const toml::node& n) {
          return n.is_table() && !n.as_table()->is_inline();
        }))
      Refuse(line, "owner is ", TomlKind(node), "; write each owner below a header [[owner]]");
    for (const toml::node& owner : *all) AddOwner(*owner.as_table());
  }
  return !parsed.table().empty();
}

const std::string& OwnerTablesReader::NameIn(const toml::table& table) const {
  const toml::node* node = table.get("name");
  if (!node) Refuse(LineOf(table), "the owner has no name; add one");
  const toml::value<std::string>* text = node->as_string();
  if (!text) Refuse(LineOf(*node), "the name is ", TomlKind(*node), "; write a string");
  return text->get();
}

}  // namespace suf::service
