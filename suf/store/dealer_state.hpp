// What a dealer keeps on disk: which serial is next, and which of them the parties have used.
// docs/security.md#witness, docs/design/bundles.md#witness.
#pragma once
#include <mutex>
#include <string>

#include "suf/store/ledger.hpp"

namespace suf::store {

// The dealer's own directory: the next serial, and for each pair the serial up to which either party has
// used its bundles, as it says itself. Thread-safe.
class DealerState {
 public:
  explicit DealerState(const std::string& dir);
  // The first of `count` serials that nobody gets again; durable when it returns.
  uint64_t Reserve(uint64_t count);
  // From now on there is this pair.
  void Know(const PairId& pair);
  // The party is about to use this serial; the one it had used up to then. Durable when it returns. Throws
  // Cause::kRefused for a pair or a serial that was never dealt: this state was restored, or lost.
  uint64_t Raise(const PairId& pair, int party, uint64_t serial);

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
