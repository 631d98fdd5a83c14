#include "suf/store/dealer_state.hpp"

#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

TEST(DealerState, SerialsThatAreUsedUpAreRefused) {
  Scratch dir;
  DealerState d(dir / "d");
  EXPECT_EQ(d.Reserve(~uint64_t{0} - 2), 1u);
  EXPECT_TRUE(Fails(Cause::kResource, "used up", [&] { d.Reserve(2); }));
  EXPECT_TRUE(Fails(Cause::kResource, "used up", [&] { d.Reserve(~uint64_t{0}); }));
}

TEST(DealerState, NeverGivesASerialTwice) {
  Scratch dir;
  {
    DealerState d(dir / "d");
    EXPECT_EQ(d.Reserve(1), 1u);
    EXPECT_EQ(d.Reserve(5), 2u);
    EXPECT_TRUE(Fails(Cause::kResource, "in use", [&] { DealerState e(dir / "d"); }));
  }
  {
    DealerState d(dir / "d");
    EXPECT_EQ(d.Reserve(1), 7u);
  }
  Flip(dir / "d/serial", 2);
  EXPECT_TRUE(Fails(Cause::kResource, "damaged", [&] { DealerState d(dir / "d"); }));
}

TEST(DealerState, KnowsPairsAndTheUseOfEachLane) {
  const PairId pair{1}, other{2}, lane{3}, second{4};
  Scratch dir;
  {
    DealerState d(dir / "d");
    (void)d.Reserve(9);
    EXPECT_TRUE(Fails(Cause::kRefused, "never dealt", [&] { (void)d.RecordUse(pair, lane, 0, 1); }));
    d.AddPair(pair);
    EXPECT_EQ(d.RecordUse(pair, lane, 0, 5), 0u);
    EXPECT_EQ(d.RecordUse(pair, lane, 1, 4), 0u);
    EXPECT_EQ(d.RecordUse(pair, lane, 0, 3), 5u);  // an earlier one is answered, and does not count
    EXPECT_EQ(d.RecordUse(pair, second, 0, 3), 0u);
    EXPECT_TRUE(Fails(Cause::kRefused, "never dealt", [&] { (void)d.RecordUse(other, lane, 0, 1); }));
    EXPECT_TRUE(Fails(Cause::kRefused, "never dealt", [&] { (void)d.RecordUse(pair, lane, 0, 10); }));
  }
  DealerState d(dir / "d");
  d.AddPair(pair);
  EXPECT_EQ(d.RecordUse(pair, lane, 0, 6), 5u);
  EXPECT_EQ(d.RecordUse(pair, lane, 1, 6), 4u);
  EXPECT_EQ(d.RecordUse(pair, second, 0, 4), 3u);
  const std::string file = dir / ("d/lanes/" + Hex(pair) + "/" + Hex(lane));
  fs::remove(file);
  EXPECT_EQ(d.RecordUse(pair, lane, 0, 7), 0u);  // a lost file reads as 0
  Flip(file, 9);
  EXPECT_TRUE(
      Fails(Cause::kResource, "the dealer's record of a lane in", [&] { (void)d.RecordUse(pair, lane, 0, 8); }));
  fs::remove_all(dir / "d/pairs");
  fs::create_directory(dir / "d/pairs");
  EXPECT_TRUE(Fails(Cause::kRefused, "was restored or lost", [&] { (void)d.RecordUse(pair, second, 0, 5); }));
}

TEST(DealerState, APairHas65536LanesAtMost) {
  const PairId pair{1}, lane{3};
  Scratch dir("/dev/shm");
  const std::string folder = dir / ("d/lanes/" + Hex(pair));
  DealerState d(dir / "d");
  (void)d.Reserve(9);
  for (const PairId& p : {pair, PairId{2}}) d.AddPair(p);
  fs::create_directories(folder);
  for (const std::string& f : {dir / "d/lanes", folder}) fs::permissions(f, fs::perms::owner_all);
  for (size_t i = 0; i + 1 < kMostLanesOfPair; ++i) std::ofstream(folder + "/" + std::to_string(i));
  EXPECT_EQ(d.RecordUse(pair, lane, 0, 1), 0u);
  EXPECT_THROW((void)d.RecordUse(pair, PairId{4}, 0, 1), TooManyLanes);
  EXPECT_TRUE(Fails(Cause::kRefused, "have 65536 lanes in", [&] { (void)d.RecordUse(pair, PairId{5}, 0, 1); }));
  EXPECT_EQ(d.RecordUse(pair, lane, 0, 2), 1u);
  EXPECT_EQ(d.RecordUse(PairId{2}, lane, 0, 2), 0u);
}

}  // namespace
}  // namespace suf::store
