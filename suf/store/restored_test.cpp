// Stores that were copied, restored or rolled back, and a dealer that was.
#include "suf/store/dealer_state.hpp"
#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

TEST(Store, AUsedBundlePutBackIsDiscardedAtTheStart) {
  Scratch dir;
  {
    OneLane s(dir / "s");
    Put(s, 1, true);
    Put(s, 2, true);
    fs::copy_file(FileOf(dir / "s", 1), dir / "kept");
    Claim(Witnessed(s, 1), 1);
    s->Finish(1);
  }
  fs::copy_file(dir / "kept", FileOf(dir / "s", 1));
  fs::copy_file(dir / "kept", FileOf(dir / "s", 8));  // under another name
  OneLane s(dir / "s");
  EXPECT_TRUE(Says(s, "spent"));
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 8)));
}

// The files of a store under further names. They return with inode and time of birth, as on a restored disk.
class SavedFiles {
 public:
  SavedFiles(const std::string& store, const std::string& outside) : store_(store) {
    fs::create_directory(outside);
    for (const auto& e : fs::recursive_directory_iterator(store)) {
      if (!e.is_regular_file()) continue;
      const std::string name = outside + "/" + std::to_string(files_.size());
      fs::create_hard_link(e.path(), name);
      std::ifstream in(e.path(), std::ios::binary);
      files_.push_back({e.path(), name, {std::istreambuf_iterator<char>(in), {}}});
    }
  }
  void PutBack() const {
    for (const auto& e : fs::recursive_directory_iterator(store_))
      if (e.is_regular_file()) fs::remove(e.path());
    for (const File& f : files_) {
      std::ofstream(f.outside, std::ios::binary | std::ios::trunc) << f.content;
      fs::create_hard_link(f.outside, f.path);
    }
  }

 private:
  struct File {
    fs::path path, outside;
    std::string content;
  };
  std::string store_;
  std::vector<File> files_;
};

TEST(Store, ARolledBackStoreIsRefusedByTheDealersAnswerWithAllItsBundles) {
  Scratch dir;
  DealerState dealer(dir / "dealer");
  const PairId pair{7}, lane{9};
  (void)dealer.Reserve(9);
  dealer.AddPair(pair);
  auto claim = [&](Lane& s, uint64_t serial) {
    s.BeginWitness(serial, lane);
    s.EndWitness(serial, dealer.RecordUse(pair, lane, 1, serial));
    return Claim(s, serial);
  };
  std::optional<SavedFiles> before, told, inside;
  {
    OneLane s(dir / "s");
    for (uint64_t i = 1; i <= 4; ++i) Put(s, i, true);
    claim(s, 1);
    s->Finish(1);
    before.emplace(dir / "s", dir / "before");
    s->BeginWitness(2, lane);
    told.emplace(dir / "s", dir / "told");
    s->EndWitness(2, dealer.RecordUse(pair, lane, 1, 2));
    (void)Claim(s, 2);
    inside.emplace(dir / "s", dir / "inside");
    s->Finish(2);
  }
  inside->PutBack();
  {
    OneLane s(dir / "s");
    EXPECT_TRUE(Says(s, "bundle 2 was claimed by a session that did not end"));
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3, 4}));
  }
  told->PutBack();
  {
    OneLane s(dir / "s");
    EXPECT_TRUE(Says(s, "the dealer was notified of bundle 2 by a session that did not use it"));
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3, 4}));
  }
  before->PutBack();
  {
    OneLane s(dir / "s");
    EXPECT_TRUE(s.notices.empty());
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2, 3, 4}));
    EXPECT_TRUE(Fails(Cause::kRefused,
                      "bundles up to 2 were used, and this store would have used 2: it was rolled back; "
                      "its 3 bundles are burnt",
                      [&] { claim(s, 2); }));
    EXPECT_TRUE(s->Bundles().empty());
  }
  OneLane s(dir / "s");
  EXPECT_TRUE(fs::is_empty(LaneFolder(dir / "s") + "/bundles"));
  EXPECT_EQ(s->ledger().floor(), 4u);
}

// Lane 1 goes back with its files, as on a restored disk. Lane 2 goes on before and after.
TEST(Store, ARolledBackLaneIsRefusedWhileAnotherGoesOn) {
  constexpr LaneId kSecond{2};
  Scratch dir;
  DealerState dealer(dir / "dealer");
  const PairId pair{7};
  (void)dealer.Reserve(20);
  dealer.AddPair(pair);
  const auto claim = [&](Lane& s, uint64_t serial) {
    PairId name{};
    std::copy(s.id().begin(), s.id().end(), name.begin());
    s.BeginWitness(serial, name);
    s.EndWitness(serial, dealer.RecordUse(pair, name, 1, serial));
    (void)Claim(s, serial);
    s.Finish(serial);
  };
  std::optional<SavedFiles> before;
  {
    Home home(dir / "s");
    const auto one = home.Open({}, kLane), two = home.Open({}, kSecond);
    for (uint64_t i = 1; i <= 4; ++i) Put(*one, i, true);
    for (uint64_t i = 2; i <= 6; ++i) Put(*two, i, true);
    claim(*one, 1);
    before.emplace(LaneFolder(dir / "s"), dir / "before");
    claim(*one, 3);
    claim(*two, 2);
  }
  before->PutBack();
  Home home(dir / "s");
  EXPECT_TRUE(home.TakeNotices().empty());
  const auto one = home.Open({}, kLane), two = home.Open({}, kSecond);
  EXPECT_EQ(Serials(*one), (std::vector<uint64_t>{2, 3, 4}));
  claim(*two, 3);
  EXPECT_TRUE(
      Fails(Cause::kRefused,
            "bundles up to 3 were used, and this store would have used 2: it was rolled back; its 3 bundles are "
            "burnt",
            [&] { claim(*one, 2); }));
  EXPECT_TRUE(one->Bundles().empty());
  claim(*two, 4);
  EXPECT_EQ(Serials(*two), (std::vector<uint64_t>{5, 6}));
}

TEST(Store, ADealerThatKnowsLessThanBeforeIsRefused) {
  Scratch dir;
  const PairId pair{7}, other{8};
  {
    OneLane s(dir / "s");
    for (uint64_t i = 1; i <= 5; ++i) Put(s, i, true);
    s->BeginWitness(2, pair);
    s->EndWitness(2, 0);
    (void)Claim(s, 2);
    s->Finish(2);
    s->BeginWitness(3, other);
    s->EndWitness(3, 0);  // it knows nothing of another pair
    (void)Claim(s, 3);
    s->Finish(3);
  }
  OneLane s(dir / "s");  // started again, without the history
  EXPECT_EQ(s->ledger().witnessed(pair), 2u);
  EXPECT_EQ(s->ledger().witnessed(other), 3u);
  s->BeginWitness(4, pair);
  EXPECT_TRUE(Fails(Cause::kRefused, "knows of bundles up to 1, and this store announced 2: its state was restored",
                    [&] { s->EndWitness(4, 1); }));
  s->DropUnclaimed();
  EXPECT_EQ(s->ledger().LastRecords().at(4), RecordKind::kBurnt);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{5}));
  s->BeginWitness(5, pair);
  s->EndWitness(5, 2);
  (void)Claim(s, 5);
}

TEST(Store, ABundleOnDiskCannotBeClaimedWithoutTheDealersAnswer) {
  Scratch dir;
  OneLane s(dir / "s");
  Put(s, 1, true);
  Put(s, 2, false);
  EXPECT_THROW(Claim(s, 1), Bug);
  s->BeginWitness(1, {});
  EXPECT_THROW(Claim(s, 1), Bug);
  s->EndWitness(1, 0);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2}));  // a bundle that the dealer was notified of is not offered
  Claim(s, 1);
  Claim(s, 2);
}

TEST(Store, ASerialFarAboveTheOthersDoesNotUseThemUp) {
  Scratch dir;
  OneLane s(dir / "s");
  for (uint64_t serial : {~uint64_t{0}, ~uint64_t{0} - 1, Lane::kMaxSerialJump + 1})
    EXPECT_TRUE(Fails(Cause::kRefused, "takes serials up to 2^40 above that", [&] { Put(s, serial, false); }));
  Put(s, 7, false);
  Put(s, Lane::kMaxSerialJump + 7, true);
  EXPECT_TRUE(Fails(Cause::kRefused, "above that", [&] { Put(s, 2 * Lane::kMaxSerialJump + 8, false); }));
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{7, Lane::kMaxSerialJump + 7}));
}

TEST(Store, ACopiedStoreDiscardsItsKeysButKeepsItsHistory) {
  Scratch dir;
  {
    OneLane s(dir / "s");
    for (uint64_t i = 1; i <= 3; ++i) Put(s, i, true);
    Claim(Witnessed(s, 1), 1);
    s->Finish(1);
  }
  fs::copy(dir / "s", dir / "copy", fs::copy_options::recursive);
  {
    OneLane copy(dir / "copy");
    EXPECT_TRUE(Says(copy, "was copied"));
    EXPECT_EQ(copy->Bundles().size(), 0u);
    EXPECT_TRUE(fs::is_empty(LaneFolder(dir / "copy") + "/bundles"));
    EXPECT_EQ(copy->ledger().floor(), 1u);
    Put(copy, 7, true);
  }
  OneLane again(dir / "copy");
  EXPECT_TRUE(again.notices.empty());
  EXPECT_EQ(Serials(again), (std::vector<uint64_t>{7}));
  OneLane original(dir / "s");
  EXPECT_EQ(Serials(original), (std::vector<uint64_t>{2, 3}));
}

TEST(Store, WithoutALedgerNoBundleIsTrusted) {
  Scratch dir;
  {
    OneLane s(dir / "s");
    Put(s, 1, true);
  }
  fs::remove(LaneFolder(dir / "s") + "/ledger");
  OneLane s(dir / "s");
  EXPECT_EQ(s->Bundles().size(), 0u);
}

}  // namespace
}  // namespace suf::store
