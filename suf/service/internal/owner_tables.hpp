// The door to toml++. It reads the tables [[owner]] of a text one by one. So the tree of one is in memory at a time.
#pragma once
#include <string>
#include <string_view>

#include "suf/base/error.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_MAX_NESTED_VALUES 16
#define TOML_ASSERT(condition) SUF_CHECK(condition)
#include <toml++/toml.h>

namespace suf::service {

// Returns the type of a value for error messages, such as "a list".
const char* TomlKind(const toml::node& node);

// A derived class reads the fields of a table. All errors are of Cause::kInput.
class OwnerTablesReader {
 public:
  // Why a piece of the text ends before its next header.
  enum class PieceCut { kNone, kTooLong, kNotAscii };

 protected:
  // `source` names the text in error messages, and outlives the reader. The text of a table has at most `most` bytes
  // without comments. `beyond` is the remedy for characters beyond ASCII, which comments alone may have.
  OwnerTablesReader(const std::string& source, size_t most, const char* beyond)
      : source_(source), most_(most), beyond_(beyond) {}
  OwnerTablesReader(const OwnerTablesReader&) = delete;
  OwnerTablesReader& operator=(const OwnerTablesReader&) = delete;
  virtual ~OwnerTablesReader() = default;

  // Calls AddOwner for each table. Throws if there is none, or if the text has anything besides.
  void ReadTables(std::string_view text);
  virtual void AddOwner(const toml::table& table) = 0;

  // Valid while AddOwner runs.
  uint32_t LineOf(const toml::source_region& at) const { return before_ + at.begin.line; }
  uint32_t LineOf(const toml::node& node) const { return LineOf(node.source()); }
  // Returns the string `name` of a table.
  const std::string& NameIn(const toml::table& table) const;
  // Throws the error of a value: its place, the rest of the sentence, and the remedy.
  template <class... T>
  [[noreturn]] void Refuse(uint32_t line, const T&... parts) const {
    Fail(Cause::kInput, source_, ", line ", line, ": ", parts...);
  }

 private:
  toml::parse_result Parse(std::string_view piece) const;
  // Returns whether the piece has a table.
  bool AddPiece(std::string_view piece, PieceCut cut);

  const std::string& source_;
  const size_t most_;
  const char* const beyond_;
  uint32_t before_ = 0;  // lines before the piece
};

}  // namespace suf::service
