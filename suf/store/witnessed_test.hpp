// Helpers for tests: a store with one lane, whose dealer witnesses, and bundles whose bodies have no sections.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "suf/store/home.hpp"

namespace suf::store {

// A store and its lane.
struct OneLane {
  explicit OneLane(const std::string& dir) : home(dir) {}
  operator Lane&() const { return *lane; }
  Lane& operator*() const { return *lane; }
  Lane* operator->() const { return lane.get(); }
  Home home;
  const std::vector<std::string> notices = home.TakeNotices();
  const std::shared_ptr<Lane> lane = home.OpenAny();
};

// Returns the only lane of a store, open or not, to be inspected.
inline std::shared_ptr<const Lane> OnlyLane(Home& home) { return home.OpenAny(); }

// Has the dealer witness this bundle, so that it may be claimed from disk. The dealer knew of none.
inline Lane& Witnessed(Lane& s, uint64_t serial) {
  s.BeginWitness(serial, PairId{1});
  s.EndWitness(serial, s.ledger().witnessed(PairId{1}));
  return s;
}

// Adds a chunk as it arrives.
inline void Add(Lane::IncomingBundle& in, View chunk) {
  const std::span<uint8_t> buffer = in.NextBuffer();
  ASSERT_EQ(buffer.size(), chunk.size());
  std::copy(chunk.begin(), chunk.end(), buffer.begin());
  in.MarkFilled();
}

// Waits for the whole body and returns it.
inline Bytes BodyOf(KeySource& keys) {
  Bytes all;
  for (size_t i = 0; i < keys.layout().sections().size(); ++i) Append(&all, keys.Section(i));
  return all;
}
inline Bytes BodyOf(const Bundle& b) { return BodyOf(*b.keys); }

}  // namespace suf::store
