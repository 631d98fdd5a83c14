// SIGKILL and loss of power at every system call by which a store or the dealer's state changes the disk. Deaths also
// happen halfway through a write, and during the repairs of the next start. The life of a store runs in a child, which
// notes its completed operations in shared memory. The store has two lanes of one pair.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <optional>

#include "fuzz/fuzz.hpp"
#include "suf/store/dealer_state.hpp"
#include "suf/store/home.hpp"
#include "suf/store/witnessed_test.hpp"
#include "tests/faults/deaths.hpp"

namespace suf::faults {
namespace {

using namespace net;
using namespace store;

constexpr uint64_t kSerials = 13, kBody = 2000;

// The operations of a lane that the life has completed, on which it would have acted.
struct ToldLane {
  bool received[kSerials], asked[kSerials], claimed[kSerials], finished[kSerials], audited[kSerials];
  uint64_t raised;
};
// All of them.
struct Told {
  ToldLane lanes[2];
  uint64_t reserved;
  bool seeded, pinned, set_up;
  Hash seed;
};
Told* told;

Bytes BodyOf(uint64_t serial) { return Bytes(kBody, uint8_t(serial)); }
Bytes ChunkOf(const Hash& key, View data) {
  Writer w;
  w.Raw(ChunkTags(key).Next(data));
  w.Raw(data);
  return w.Take();
}

void Put(Lane& s, uint64_t serial) {
  BundleHeader h;
  h.job = JobOf(4);
  h.serial = serial;
  h.lane = s.id();
  h.body_bytes = kBody;
  auto in = s.Receive(h, Secret(Hash{5}), EvenBody(kBody), true);
  suf::store::Add(in, ChunkOf(ChunkKey(h), BodyOf(serial)));
  in.Commit();
}

constexpr PairId kPair{1};
constexpr LaneId kOther{3};

ToldLane& ToldOf(const Lane& s) { return told->lanes[s.id() == kOther]; }
// The dealer's name of a lane.
PairId NameOf(const Lane& s) { return {uint8_t(s.id() == kOther ? 3 : 2)}; }

void Receive(Lane& s, uint64_t serial) {
  Put(s, serial);
  ToldOf(s).received[serial] = true;
}

void Witness(DealerState& dealer, Lane& s, uint64_t serial) {
  ToldOf(s).asked[serial] = true;
  s.BeginWitness(serial, NameOf(s));
  const uint64_t known = dealer.RecordUse(kPair, NameOf(s), 1, serial);
  ToldOf(s).raised = serial;
  s.EndWitness(serial, known);
}

void Claim(DealerState& dealer, Lane& s, uint64_t serial, bool finish = true) {
  Witness(dealer, s, serial);
  EXPECT_EQ(suf::store::BodyOf(s.Claim(serial, EvenBody(kBody))), BodyOf(serial));
  ToldOf(s).claimed[serial] = true;
  if (!finish) return;
  s.Finish(serial);
  ToldOf(s).finished[serial] = true;
}

// Runs every operation of a store and of the dealer's state that changes the disk, and two starts. The operations of
// two lanes alternate.
void Life(const std::string& dir) {
  {
    DealerState dealer(dir + "/dealer");
    for (uint64_t count : {uint64_t{1}, kSerials}) told->reserved = dealer.Reserve(count) + count - 1;
    dealer.AddPair(kPair);
    OneLane s(dir + "/store");
    Secret seed = s.home.LongLivedSecret("b.seed");
    std::copy(seed.view().begin(), seed.view().end(), told->seed.begin());
    told->seeded = true;
    told->pinned = s.home.Pin({Role::kDealer, Hash{9}});
    ChunkFile f = s.home.NewSetup(kLane);
    f.Add(ChunkOf(ChunkKey(Hash{1}, Hash{2}), BodyOf(0)));
    s.home.CommitSetup(std::move(f), Hash{2});
    told->set_up = true;
    for (uint64_t serial : {1, 2, 3}) Receive(s, serial);
    const auto other = s.home.Open({}, kOther);
    for (uint64_t serial : {8, 9, 10}) Receive(*other, serial);
    Claim(dealer, s, 1);
    Claim(dealer, *other, 8);
    Claim(dealer, s, 3);  // burns 2
    for (uint64_t serial : {4, 5, 6}) Receive(s, serial);
    Witness(dealer, s, 4);
    (void)s->Audit(4, EvenBody(kBody));
    ToldOf(s).audited[4] = true;
    Claim(dealer, s, 5, false);
    Claim(dealer, *other, 9, false);
  }
  DealerState dealer(dir + "/dealer");
  OneLane s(dir + "/store");
  Receive(s, 7);
  Claim(dealer, s, 6, false);
  s->Burn(6);
}

using Notices = std::vector<std::string>;
bool Says(const Notices& notices, const std::string& words) {
  return std::any_of(notices.begin(), notices.end(), [&](auto& n) { return n.find(words) != std::string::npos; });
}

// Compares a lane's ledger and bundles with the operations of the life. `first`: this is the first start after the
// death, so its notices are checked.
void CheckSerials(const Lane& s, const Notices& notices, bool first) {
  const ToldLane& lane = ToldOf(s);
  std::map<uint64_t, bool> there;
  for (const BundleHeader& h : s.Bundles()) there[h.serial] = true;
  const std::map<uint64_t, RecordKind> fates = s.ledger().LastRecords();
  uint64_t asked = 0;
  for (uint64_t k = 1; k < kSerials; ++k)
    if (lane.asked[k]) asked = k;
  for (uint64_t k = 1; k < kSerials; ++k) {
    const auto fate = fates.find(k);
    const bool spent = lane.claimed[k] || lane.audited[k], burnt_now = Says(notices, Str("bundle ", k, " was claimed"));
    EXPECT_TRUE(fate == fates.end() || fate->second == RecordKind::kBurnt) << k;
    EXPECT_FALSE(spent && (there[k] || s.ledger().floor() < k)) << k;
    EXPECT_FALSE((lane.finished[k] || lane.audited[k]) && burnt_now) << k;
    EXPECT_FALSE(there[k] && s.ledger().floor() >= k) << k;
    // Never requested, and not below a requested one: still there.
    EXPECT_TRUE(!lane.received[k] || k <= asked || there[k]) << k;
    if (first && fate != fates.end()) {
      EXPECT_TRUE(burnt_now || Says(notices, Str("was notified of bundle ", k, " by"))) << k;
    }
  }
  EXPECT_LE(s.ledger().witnessed(NameOf(s)), asked);
}

// Both lanes of a store after a start; the second one may not have been made.
struct BothLanes : OneLane {
  using OneLane::OneLane;
  const std::shared_ptr<Lane> other = home.Find({}, kOther) ? home.Open({}, kOther) : nullptr;
  std::vector<Lane*> all() const { return other ? std::vector{lane.get(), other.get()} : std::vector{lane.get()}; }
};

// Claims all bundles that are left in a lane, whose folder is `folder`.
void UseUp(DealerState& dealer, Lane& s, const std::string& folder) {
  size_t files = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder + "/bundles")) files += e.is_regular_file();
  EXPECT_EQ(files, s.Bundles().size());
  for (const BundleHeader& h : s.Bundles()) Claim(dealer, s, h.serial);
  for (uint64_t k = 1; k < kSerials; ++k) EXPECT_TRUE(!ToldOf(s).claimed[k] || k <= s.ledger().floor());
}

// Checks the state that a start finds after the death.
void Sound(const std::string& dir, bool first) {
  {
    BothLanes s(dir + "/store");
    for (const char* words : {"copied", "damaged", "missing", "may have been used"})
      EXPECT_FALSE(Says(s.notices, words)) << testing::PrintToString(s.notices);
    for (const Lane* lane : s.all()) CheckSerials(*lane, s.notices, first);
    EXPECT_TRUE(s.other || !told->lanes[1].received[8]);
  }
  BothLanes s(dir + "/store");  // nothing is left to repair
  EXPECT_TRUE(s.notices.empty()) << testing::PrintToString(s.notices);
  DealerState dealer(dir + "/dealer");
  for (Lane* lane : s.all()) {
    CheckSerials(*lane, s.notices, false);
    UseUp(dealer, *lane, LaneFolder(dir + "/store", lane->id()));
  }
  EXPECT_TRUE(!told->seeded || Equal(s.home.LongLivedSecret("b.seed").view(), told->seed));
  EXPECT_EQ(s.home.LongLivedSecret("b.seed").view().size(), 32u);
  EXPECT_TRUE(!told->pinned || !s.home.Pin({Role::kDealer, Hash{8}}));
  EXPECT_TRUE(!told->set_up || s.home.HasSetup(Hash{2}));
  if (s.home.HasSetup(Hash{2})) {
    EXPECT_EQ(s.home.LoadSetup(Hash{1}, Hash{2}, kBody), BodyOf(0));
  }
  EXPECT_GT(dealer.Reserve(1), told->reserved);
  dealer.AddPair(kPair);
  for (const Lane* lane : s.all()) EXPECT_GE(dealer.RecordUse(kPair, NameOf(*lane), 1, 1), ToldOf(*lane).raised);
}

struct Crash : testing::Test {
  static void SetUpTestSuite() {
    told = static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(told, MAP_FAILED);
  }
  // Runs a life that ends at call `at`.
  bool Begin(const fuzz::Folder& folder, int at, Death how) {
    *told = {};
    std::filesystem::create_directory(folder / "w");
    return InChild(folder / "w", at, how, [&] { Life(folder / "w"); });
  }
};

TEST_F(Crash, AtEveryCallLeavesASoundLedgerAndNoBundleThatServesTwice) {
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kTorn, Death::kAfter, Death::kPower})
    for (int at = 1;; ++at, ++deaths) {
      fuzz::Folder folder;
      bool died = Begin(folder, at, how);
      SCOPED_TRACE(Str("death ", int(how), " at call ", at));
      Sound(folder / "w", true);
      if (HasFailure()) return;
      if (!died) break;
    }
  EXPECT_GT(deaths, 400);
  RecordProperty("deaths", deaths);
  std::printf("%d deaths\n", deaths);
}

// The store of P0 with as many lanes as a data owner may have. One of them is forgotten for a new one.
constexpr Hash kOwner{7};
constexpr LaneId kForgotten{4}, kNew{5};
constexpr uint64_t kUsed = 4;  // serial of the lane that is forgotten
struct FullHome {
  explicit FullHome(const std::string& dir) : dir_(dir), home_(std::in_place, dir) {}
  static LaneId Filler(size_t i) { return {9, uint8_t(i)}; }
  std::string FolderOf(const LaneId& id) const { return Str(dir_, "/owners/", Hex(kOwner), "/", Hex(id)); }
  // Makes the lanes: kLane with bundles, kForgotten whose bundle is used, and others.
  void Make() {
    home_.reset();
    for (const LaneId& id : {kLane, kForgotten, kNew}) std::filesystem::remove_all(FolderOf(id));
    home_.emplace(dir_);
    for (size_t i = 0; i + 2 < kMostLanes; ++i) (void)home_->Open(kOwner, Filler(i));
    {
      const auto lane = home_->Open(kOwner, kLane), old = home_->Open(kOwner, kForgotten);
      for (uint64_t serial : {1, 2, 3}) Put(*lane, serial);
      Put(*old, kUsed);
      (void)Witnessed(*old, kUsed).Claim(kUsed, EvenBody(kBody));
      old->Finish(kUsed);
    }
    home_.reset();  // a process that forgets a lane opens this store
  }
  // Opens the store. kForgotten was used longest ago, and has the rest of a broken delivery.
  void Open() {
    home_.emplace(dir_);
    BundleHeader h;
    h.serial = 6;
    h.lane = kForgotten;
    h.body_bytes = kBody;
    (void)home_->Open(kOwner, kForgotten)->Receive(h, Secret(), EvenBody(kBody), true);
    const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    SUF_CHECK(!utimensat(AT_FDCWD, (FolderOf(kForgotten) + "/ledger").c_str(), long_ago, 0));
  }
  void ForgetOne() {
    Receive(*home_->Open(kOwner, kNew), 5);
    EXPECT_EQ(home_->Find(kOwner, kForgotten), nullptr);
  }
  // Checks the store of a process that has died.
  void Check() {
    for (bool first : {true, false}) {
      home_.reset();
      home_.emplace(dir_);
      const Notices notices = home_->TakeNotices();
      const auto torn = [](auto& n) { return n.find("was not written to its end") != std::string::npos; };
      EXPECT_TRUE(first ? std::all_of(notices.begin(), notices.end(), torn) : notices.empty())
          << testing::PrintToString(notices);
      EXPECT_EQ(SerialsIn(kLane), (std::vector<uint64_t>{1, 2, 3}));
      EXPECT_TRUE(SerialsIn(kForgotten).empty());
      const std::vector<uint64_t> fresh = SerialsIn(kNew);
      EXPECT_TRUE(fresh == std::vector<uint64_t>{5} || (fresh.empty() && !told->lanes[0].received[5]));
      EXPECT_LE(home_->Lanes(kOwner).size(), kMostLanes);
    }
    // A forgotten lane is a new one, or as it was.
    if (const auto old = home_->Find(kOwner, kForgotten)) {
      EXPECT_TRUE(old->ledger().floor() == kUsed || old->ledger().floor() == 0);
    }
    if (SerialsIn(kNew).empty()) Put(*home_->Open(kOwner, kNew), 5);
    for (const auto& [id, serial] : {std::pair{kLane, 1}, {kNew, 5}, {kLane, 2}}) {
      const auto lane = home_->Open(kOwner, id);
      const uint64_t k = uint64_t(serial);
      EXPECT_EQ(suf::store::BodyOf(Witnessed(*lane, k).Claim(k, EvenBody(kBody))), BodyOf(k));
    }
  }

 private:
  std::vector<uint64_t> SerialsIn(const LaneId& id) const {
    std::vector<uint64_t> all;
    if (const auto lane = home_->Find(kOwner, id))
      for (const BundleHeader& h : lane->Bundles()) all.push_back(h.serial);
    return all;
  }
  const std::string dir_;
  std::optional<Home> home_;
};

TEST_F(Crash, WhileALaneIsForgottenLeavesTheOthersAsTheyWere) {
  fuzz::Folder folder;
  FullHome home(folder / "w");
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kTorn, Death::kAfter, Death::kPower})
    for (int at = 1;; ++at, ++deaths) {
      *told = {};
      home.Make();
      std::filesystem::remove_all(folder / "w.lost");
      const bool died = InChild(
          folder / "w", at, how, [&] { home.ForgetOne(); }, [&] { home.Open(); });
      SCOPED_TRACE(Str("death ", int(how), " at call ", at));
      home.Check();
      if (HasFailure()) return;
      if (!died) break;
    }
  EXPECT_GT(deaths, 80);
  std::printf("%d deaths\n", deaths);
}

TEST_F(Crash, AgainWhileTheStartRepairsLeavesThemSoundToo) {
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kPower})
    for (int first = how == Death::kBefore ? 1 : 2, done = false; !done; first += 2)  // every call in one of both
      for (int at = 1;; ++at, ++deaths) {
        fuzz::Folder folder;
        done = !Begin(folder, first, Death::kBefore);
        bool died = InChild(folder / "w", at, how, [&] { OneLane s(folder / "w/store"); });
        SCOPED_TRACE(Str("death at call ", first, ", then ", int(how), " at call ", at, " of the start"));
        Sound(folder / "w", false);
        if (HasFailure()) return;
        if (!died) break;
      }
  EXPECT_GT(deaths, 4000);
  std::printf("%d deaths\n", deaths);
}

}  // namespace
}  // namespace suf::faults
