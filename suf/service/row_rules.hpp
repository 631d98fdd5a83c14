// The rows of indexes that each data owner may see. An operator of the model owner writes them in TOML. An owner that
// is not named for an index sees none of its rows.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suf/service/owners.hpp"

namespace suf::service {

// Limits of a file of row rules.
inline constexpr size_t kMostRowRules = 200'000;
inline constexpr size_t kMostRowRuleBytes = size_t{4} << 20;  // of the text of one rule, without comments

// Rows of an index, from `first` to before `end`.
struct RowSpan {
  int64_t first = 0, end = 0;
  bool operator==(const RowSpan&) const = default;
};

// The rows of an index while rules are read.
struct IndexRowsView {
  int64_t rows = 0;
  // Returns the row of a document; nothing if the index has none of this id.
  std::function<std::optional<int64_t>(const std::string& id)> row_of;
};

// The rules of a file. They do not change; a reader of the file makes others. Row numbers and documents are those of
// the indexes at the reading.
class RowRules {
 public:
  // Reads a file. `indexes` are those that are served, in order. Throws Cause::kInput if the file is missing, a folder,
  // too large or wrong. It is wrong if it names an unknown owner, index, row or document. The error message has file,
  // line, value, limit and remedy. Throws Cause::kRefused if another user can write the file. Throws Cause::kResource
  // if the disk cannot be read.
  static RowRules Read(const std::string& file, const OwnerList& owners, std::span<const IndexRowsView> indexes);
  // Parses a text like Read. `source` names it in error messages.
  static RowRules Parse(std::string_view toml, const std::string& source, const OwnerList& owners,
                        std::span<const IndexRowsView> indexes);

  // Returns the rows that an owner may see in an index (from 1): sorted ranges, with rows between them. If the owner
  // may see all, the one range has no end (INT64_MAX), because it includes rows that come later. Lives as long as the
  // rules.
  std::span<const RowSpan> Of(std::string_view owner, uint32_t index) const;
  // Returns whether an owner may see all rows of an index, also those that come later.
  bool SeesAll(std::string_view owner, uint32_t index) const;
  // Returns whether a rule names rows of this index by number. After a compaction, which numbers rows anew, they are
  // other documents.
  bool HasNumbers(uint32_t index) const;
  // Returns sentences about owners of the list that see no row.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  friend class RowRulesReader;
  // The rule of one owner for one index.
  struct OwnerRule {
    std::string owner;
    uint32_t index = 1, line = 0;
    size_t begin = 0, end = 0;  // in ranges_
    bool all = false, numbers = false;
  };
  const OwnerRule* Find(std::string_view owner, uint32_t index) const;

  std::vector<OwnerRule> rules_;  // by owner and index
  std::vector<RowSpan> ranges_;
  std::vector<std::string> notices_;
};

}  // namespace suf::service
