// The dealers of a list, by keys and places.
#include "suf/roles/dial.hpp"

#include <gtest/gtest.h>

#include "suf/base/scratch_test.hpp"

namespace suf::roles {
namespace {

const Hash kOne{1}, kTwo{2}, kThree{3};

// Places where dealers listen. Each counts its connections.
struct Places {
  // Returns places where dealers with these keys listen; zeros: no process answers.
  std::vector<DialPlace> Of(std::vector<Hash> keys) {
    listening = std::move(keys);
    dialled.assign(listening.size(), 0);
    std::vector<DialPlace> all;
    for (size_t i = 0; i < listening.size(); ++i)
      all.push_back([this, i](net::Millis, std::stop_token stop) {
        ++dialled[i];
        if (listening[i] == Hash{}) Fail(Cause::kPeer, "no process answers at place ", i);
        auto [near, far] =
            net::InProcessPair({Role::kData, {9}}, {Role::kDealer, listening[i]}, net::kTimeout, std::move(stop));
        ends.push_back(std::move(far));
        return std::move(near);
      });
    return all;
  }
  std::vector<Hash> listening;
  std::vector<int> dialled;
  std::vector<std::unique_ptr<net::Channel>> ends;
};

Hash KeyAt(const proto::Dealers& dealers, size_t i) { return dealers[i].Dial({})->peer().key; }

TEST(ListedDealers, KeysInOrderAreFoundAtOnce) {
  Places places;
  const proto::Dealers dealers = ListedDealers(places.Of({kOne, kTwo, kThree}), {kOne, kTwo, kThree}, net::kTimeout);
  for (size_t i : {2, 0, 1}) EXPECT_EQ(KeyAt(dealers, i), dealers[i].key);
  EXPECT_EQ(places.dialled, (std::vector<int>{1, 1, 1}));
}

TEST(ListedDealers, KeysInAnotherOrderAreFound) {
  Places places;
  const proto::Dealers dealers = ListedDealers(places.Of({kThree, kOne, kTwo}), {kOne, kTwo, kThree}, net::kTimeout);
  for (size_t i : {0, 1, 2}) EXPECT_EQ(KeyAt(dealers, i), dealers[i].key);
  places.dialled.assign(3, 0);
  for (size_t i : {0, 1, 2}) EXPECT_EQ(KeyAt(dealers, i), dealers[i].key);
  EXPECT_EQ(places.dialled, (std::vector<int>{1, 1, 1})) << "places are remembered";
}

// A dealer that cannot be reached is not replaced by another one.
TEST(ListedDealers, OneThatCannotBeReachedFailsAlone) {
  Places places;
  const proto::Dealers dealers = ListedDealers(places.Of({kOne, {}, kThree}), {kOne, kTwo, kThree}, net::Millis(300));
  EXPECT_EQ(KeyAt(dealers, 0), kOne);
  EXPECT_EQ(KeyAt(dealers, 2), kThree);
  EXPECT_TRUE(Fails(Cause::kPeer, "no process answers at place 1", [&] { (void)KeyAt(dealers, 1); }));
  EXPECT_GE(places.dialled[1], 2) << "it is dialled again until the time is over";
  places.listening[1] = kTwo;
  EXPECT_EQ(KeyAt(dealers, 1), kTwo);
}

TEST(ListedDealers, AKeyOfNoPlaceIsRefused) {
  Places places;
  const proto::Dealers dealers = ListedDealers(places.Of({kOne, kOne}), {kOne, kTwo}, net::kTimeout);
  EXPECT_TRUE(
      Fails(Cause::kRefused, "none of the 2 listed dealers shows the pinned key", [&] { (void)KeyAt(dealers, 1); }));
}

TEST(ListedDealers, AStopEndsTheWait) {
  Places places;
  const proto::Dealers dealers = ListedDealers(places.Of({kOne, {}}), {kOne, kTwo}, net::Millis(600'000));
  std::stop_source stop;
  (void)stop.request_stop();
  EXPECT_TRUE(Fails(Cause::kPeer, "no process answers", [&] { (void)dealers[1].Dial(stop.get_token()); }));
}

}  // namespace
}  // namespace suf::roles
