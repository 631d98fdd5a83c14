// The dealer's state on disk: the next serial, and the serials that the parties have used. docs/security.md#witness,
// docs/design/bundles.md#witness.
#pragma once
#include <mutex>
#include <string>

#include "suf/store/ledger.hpp"

namespace suf::store {

// The dealer's own directory. It has the next serial. For each pair it has the serials up to which both parties report
// their bundles as used. Thread-safe.
class DealerState {
 public:
  explicit DealerState(const std::string& dir);
  // Reserves `count` serials, which are never given again; returns the first. Durable when it returns.
  uint64_t Reserve(uint64_t count);
  // Adds a pair, unless it is known.
  void AddPair(const PairId& pair);
  // Records that the party is about to use this serial; returns the last serial that it had used. Durable when it
  // returns. Throws Cause::kRefused for a pair or a serial that was never dealt, because this state was restored or
  // lost.
  uint64_t RecordUse(const PairId& pair, int party, uint64_t serial);

 private:
  std::string PathOf(const PairId& pair) const { return dir_ + "/pairs/" + Hex(pair); }
  std::array<uint64_t, 2> Used(const PairId& pair) const;
  void SetUsed(const PairId& pair, const std::array<uint64_t, 2>& used);

  std::string dir_;
  Fd lock_;
  std::mutex m_;
  uint64_t next_ = 1;
};

}  // namespace suf::store
