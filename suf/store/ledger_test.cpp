#include "suf/store/ledger.hpp"

#include <fcntl.h>

#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

TEST(Ledger, IsWrittenAnewWithoutHistoryAtEachStartAndEvery65536Records) {
  Scratch dir("/dev/shm");
  const std::string path = LaneFolder(dir / "s") + "/ledger";
  {
    OneLane s(dir / "s");
    for (uint64_t i : {70'000, 70'001}) Put(s, i, true);
    uintmax_t most = 0;
    for (uint64_t serial = 1; serial <= Ledger::kMostRecords + 10; ++serial) {
      s->Burn(serial);
      most = std::max(most, fs::file_size(path));
    }
    EXPECT_LE(most, 144 + 64 * (Ledger::kMostRecords + 1));
    EXPECT_LT(fs::file_size(path), 64u * 100);
    EXPECT_EQ(s->ledger().floor(), Ledger::kMostRecords + 10);
    EXPECT_LT(s->ledger().LastRecords().size(), 100u);
  }
  OneLane s(dir / "s");
  EXPECT_TRUE(s.notices.empty()) << s.notices[0];
  EXPECT_EQ(fs::file_size(path), 144 + 64 * 3);  // floor and two bundles
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{70'000, 70'001}));
  Claim(Witnessed(s, 70'000), 70'000);
}

TEST(Ledger, ATornLastRecordIsDroppedAndEarlierOnesStay) {
  for (size_t more = 1; more < 64; ++more) {
    Scratch dir("/dev/shm");
    size_t whole;
    {
      OneLane s(dir / "s");
      for (uint64_t i = 1; i <= 3; ++i) Put(s, i, true);
      Claim(Witnessed(s, 1), 1);
      s->Finish(1);
      whole = fs::file_size(LaneFolder(dir / "s") + "/ledger");
      s->BeginWitness(2, {});
      EXPECT_EQ(fs::file_size(LaneFolder(dir / "s") + "/ledger"), whole + 64);
    }
    fs::resize_file(LaneFolder(dir / "s") + "/ledger", whole + more);
    {
      OneLane s(dir / "s");
      EXPECT_TRUE(Says(s, "not written to its end")) << more;
      EXPECT_EQ(s->ledger().floor(), 1u);
      EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2, 3}));
    }
    OneLane s(dir / "s");
    EXPECT_TRUE(s.notices.empty());
    Claim(Witnessed(s, 3), 3);
    s->Finish(3);
  }
}

TEST(Ledger, ADamagedMiddleOrHeadDiscardsTheKeys) {
  for (long at : {3L, 12L, 40L, 100L, 180L}) {  // magic, lane, machine, file, first of three records
    Scratch dir;
    {
      OneLane s(dir / "s");
      for (uint64_t i = 1; i <= 2; ++i) Put(s, i, true);
      Claim(Witnessed(s, 1), 1);
      s->Finish(1);
      s->Burn(1);
    }
    Flip(LaneFolder(dir / "s") + "/ledger", at);
    {
      OneLane s(dir / "s");
      EXPECT_TRUE(Says(s, "damaged")) << at;
      EXPECT_EQ(s->Bundles().size(), 0u);
      Put(s, 9, true);
    }
    OneLane s(dir / "s");
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{9}));
  }
}

}  // namespace
}  // namespace suf::store
