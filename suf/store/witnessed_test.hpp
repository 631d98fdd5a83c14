// Helpers for tests: a store with one lane, whose dealer witnesses, and bundles whose bodies have no sections.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "suf/store/home.hpp"

namespace suf::store {

// The lane of tests that need only one.
inline constexpr LaneId kLane{0x1a, 0x2e};
// Returns the folder of a lane in P1's store.
inline std::string LaneFolder(const std::string& dir, const LaneId& id = kLane) { return dir + "/lanes/" + Hex(id); }

// A store of P1 and its lane, opened.
struct OneLane {
  explicit OneLane(const std::string& dir) : home(dir) {}
  operator Lane&() const { return *lane; }
  Lane& operator*() const { return *lane; }
  Lane* operator->() const { return lane.get(); }
  Home home;
  const std::vector<std::string> notices = home.TakeNotices();
  const std::shared_ptr<Lane> lane = home.Open({}, kLane);
};

// Returns the only lane of an owner, open or not, to be inspected. The home must outlive it.
inline std::shared_ptr<const Lane> OnlyLane(const Home& home, const Hash& owner = {}) {
  const std::vector<LaneId> ids = home.Lanes(owner);
  EXPECT_EQ(ids.size(), 1u);
  return home.Find(owner, ids.at(0));
}

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
