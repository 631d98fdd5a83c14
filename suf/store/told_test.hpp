// For tests: a store whose dealer witnesses.
#pragma once
#include "suf/store/store.hpp"

namespace suf::store {

// Told: the dealer was told of this bundle and knew of none; so it may be claimed from disk.
inline Store& Told(Store& s, uint64_t serial) {
  s.Tell(serial, PairId{1});
  s.Answer(serial, s.ledger().answer(PairId{1}));
  return s;
}

}  // namespace suf::store
