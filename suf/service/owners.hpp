// A model owner's list of the data owners that it serves, with their keys and limits. An operator writes it as TOML.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/service/day.hpp"
#include "suf/store/home.hpp"

namespace suf::service {

// Limits of an owners' file.
inline constexpr size_t kMostOwners = 100'000, kMostKeysOfOwner = 64, kLongestOwnerName = 64;
// The name of all data owners that are not listed, in metrics and logs.
inline constexpr const char* kUnlistedName = "unlisted";
inline constexpr size_t kMostFileBytes = size_t{64} << 20;
inline constexpr size_t kMostOwnerBytes = 16'384;  // of the text about one owner, without comments
inline constexpr int64_t kMostADay = 1'000'000'000'000;
inline constexpr int64_t kMostAtOnceOfOwner = store::kMostLanes, kMostLanesOfOwner = store::kMostLanes;

// A data owner that P0 serves. An absent limit does not apply.
struct Owner {
  std::string name;        // of [A-Za-z0-9._-]; so other characters mark names that no owner has
  std::vector<Hash> keys;  // SHA-256 of P1's public keys
  std::optional<uint64_t> texts, tokens, searches;  // a day, in UTC
  std::optional<int> at_once, lanes;
  std::optional<Day> until;  // the last day, in UTC, on which P0 serves it
  uint32_t line = 0;         // of its header in the file

  // Returns whether `until` has passed. The whole of that day is served.
  bool HasExpired(Instant now) const { return until && DayOf(now) > *until; }
};

// An owners' file. It does not change; a reader of the file makes another list.
class OwnerList {
 public:
  // Reads a file. Throws Cause::kInput if it is missing, a folder, too large or wrong, with file, line, value, limit
  // and remedy. Throws Cause::kRefused if another user can write it, Cause::kResource if the disk cannot be read.
  static OwnerList Read(const std::string& file, Instant now = std::chrono::system_clock::now());
  // Parses a text like Read. `source` names it in error messages. A list without owners is an error, because a file
  // that is being written looks like one.
  static OwnerList Parse(std::string_view toml, const std::string& source,
                         Instant now = std::chrono::system_clock::now());

  // Returns the owner of a key; null if the key is not listed. Lives as long as the list.
  const Owner* Find(const Hash& key) const;
  // Returns all owners, in the order of the file.
  const std::vector<Owner>& owners() const { return owners_; }
  size_t size() const { return owners_.size(); }
  // Returns sentences about owners that have expired. They are no error, because a list must load on any day.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  friend class OwnersReader;
  // A key's owner, index among the owner's keys, and line.
  struct KeyPlace {
    uint32_t owner = 0, key = 0, line = 0;
  };
  const Hash& KeyAt(const KeyPlace& p) const { return owners_[p.owner].keys[p.key]; }

  std::vector<Owner> owners_;
  std::vector<KeyPlace> by_key_;
  std::vector<std::string> notices_;
};

}  // namespace suf::service
