// The dealer's state on disk: the next serial, and the serials that the parties have used. docs/security.md#witness,
// docs/design/bundles.md#witness.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "suf/store/home.hpp"

namespace suf::store {

// Lanes of one pair, at most. The file of a lane is never forgotten. Otherwise a party could make the dealer forget
// that its partner was rolled back.
inline constexpr size_t kMostLanesOfPair = 65'536;

// The dealer's own directory. It has the next serial, and the pairs that it dealt to (pairs/PAIR). For each lane it has
// the serials up to which both parties report their bundles as used (lanes/PAIR/LANE). Thread-safe.
class DealerState {
 public:
  explicit DealerState(const std::string& dir);
  // Reserves `count` serials, which are never given again; returns the first. Durable when it returns.
  uint64_t Reserve(uint64_t count);
  // Adds a pair, unless it is known.
  void AddPair(const PairId& pair);
  // Records that the party is about to use this serial of a lane. Returns the last serial that it had used there, or 0
  // if the lane is new. Durable when it returns. Throws Cause::kRefused for a pair or a serial that was never dealt,
  // because this state was restored or lost. Throws TooManyLanes for a new lane beyond the limit.
  uint64_t RecordUse(const PairId& pair, const PairId& lane, int party, uint64_t serial);

 private:
  std::string FolderOf(const PairId& pair) const { return dir_ + "/lanes/" + Hex(pair); }
  void AddLane(const PairId& pair);

  std::string dir_;
  Fd lock_;
  std::mutex m_;
  uint64_t next_ = 1;
  std::map<PairId, size_t> lanes_;  // how many lanes a pair has, once counted
};

}  // namespace suf::store
