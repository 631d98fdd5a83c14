// P1's draws of a dealer for each text, if it lists several. A text keeps its dealer until it has a result, in later
// sessions and processes as well. Otherwise P0 could refuse texts until each of them is drawn to a dealer of its
// choice. docs/design/dealers.md, docs/security.md#several-dealers.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "suf/store/home.hpp"

namespace suf::store {

// The draws are in the file `draws` of a store. A text is there as an HMAC under a key of the store, until it has a
// result. Thread-safe.
class Draws {
 public:
  // `dealers` are at least two keys. The home outlives the object. Throws Cause::kResource if the file is damaged.
  Draws(Home& home, std::vector<Hash> dealers);
  // Returns the tag of a text: an HMAC of its bytes.
  Hash TagOf(View text) const;
  // Returns the number of a dealer for each text, from 0. A text that has none from before receives a random one. All
  // are durable when it returns. Throws Cause::kInput if a text's dealer of before is not one of ours. Throws
  // Cause::kResource if the disk refuses. Nothing is drawn then.
  std::vector<size_t> Draw(std::span<const Hash> tags);
  // Forgets the draw of a text that has its result. Best effort: if the disk refuses, a later run of the text keeps its
  // dealer.
  void Settle(const Hash& tag, size_t dealer) noexcept;
  // Lets a later run of a text that has no result keep its dealer in this process.
  void Keep(const Hash& tag, size_t dealer) noexcept;

 private:
  void Load();
  void Append(const Bytes& records);

  const std::string path_;
  const std::vector<Hash> dealers_;
  const Secret key_;
  std::mutex m_;  // guards the members below
  Fd file_;
  uint64_t end_ = 0;                      // of the last whole record
  std::multimap<Hash, Hash> unfinished_;  // dealers of texts that have no result and do not run, by tag
};

}  // namespace suf::store
