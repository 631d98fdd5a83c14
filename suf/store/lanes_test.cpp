// Several lanes in one store: their serials, limits and files.
#include <fcntl.h>
#include <sys/stat.h>

#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

constexpr LaneId kOther{0x2b};
constexpr Hash kOwner{7}, kAnother{8};

std::string OwnerFolder(const std::string& dir, const Hash& owner, const LaneId& id = kLane) {
  return Str(dir, "/owners/", Hex(owner), "/", Hex(id));
}

// Returns the number of open files of this process.
size_t OpenFiles() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& e : fs::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

// Sets the time at which a lane was last used, in seconds.
void SetUse(const std::string& folder, int seconds) {
  const timespec both[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder + "/ledger").c_str(), both, 0), 0);
}

LaneId Numbered(int i) {
  LaneId id{};
  id[0] = uint8_t(i >> 8);
  id[1] = uint8_t(i);
  return id;
}

bool Tells(const std::vector<std::string>& notices, const std::string& words) {
  return std::any_of(notices.begin(), notices.end(), [&](auto& n) { return n.find(words) != std::string::npos; });
}

TEST(Lanes, EachHasItsOwnSerials) {
  Scratch dir;
  for (const Hash& owner : {Hash{}, kOwner}) {
    const std::string place = dir / Hex(owner);
    {
      Home home(place);
      const auto one = home.Open(owner, kLane), two = home.Open(owner, kOther);
      for (uint64_t serial : {3, 5, 9}) Put(*one, serial, true);
      for (uint64_t serial : {3, 4, 5}) Put(*two, serial, true);
      Claim(Witnessed(*one, 5), 5);
      one->Finish(5);
      EXPECT_EQ(Serials(*one), (std::vector<uint64_t>{9}));
      EXPECT_EQ(Serials(*two), (std::vector<uint64_t>{3, 4, 5}));
      Claim(Witnessed(*two, 3), 3);
      two->Finish(3);
    }
    Home home(place);
    EXPECT_TRUE(home.TakeNotices().empty());
    EXPECT_EQ(home.Lanes(owner), (std::vector<LaneId>{kLane, kOther}));
    EXPECT_EQ(Serials(*home.Find(owner, kLane)), (std::vector<uint64_t>{9}));
    EXPECT_EQ(Serials(*home.Find(owner, kOther)), (std::vector<uint64_t>{4, 5}));
    EXPECT_EQ(home.Find(owner, kLane)->ledger().floor(), 5u);
    EXPECT_EQ(home.Find(owner, kOther)->ledger().floor(), 3u);
  }
  EXPECT_TRUE(fs::is_directory(LaneFolder(dir / Hex(Hash{}), kOther)));
  EXPECT_TRUE(fs::is_directory(OwnerFolder(dir / Hex(kOwner), kOwner, kOther)));
}

// A start names the runs that its process did not end. A bundle that was only reported to the dealer ran nowhere.
TEST(Lanes, AStartNamesTheClaimsThatItBurns) {
  Scratch dir;
  {
    Home home(dir / "s");
    const auto one = home.Open(kOwner, kLane), two = home.Open(kAnother, kOther);
    for (uint64_t serial : {3, 5, 7}) Put(*one, serial, false);
    Put(*two, 4, true);
    Claim(*one, 3);
    one->Finish(3);
    Claim(*one, 5);
    one->Burn(5);
    Claim(*one, 7);
    two->BeginWitness(4, PairId{1});
  }
  {
    Home home(dir / "s");
    const std::vector<BurntClaim> burnt = home.TakeBurntClaims();
    ASSERT_EQ(burnt.size(), 1u);
    EXPECT_EQ(burnt[0].owner, kOwner);
    EXPECT_EQ(burnt[0].lane, kLane);
    EXPECT_EQ(burnt[0].serial, 7u);
    EXPECT_TRUE(home.TakeBurntClaims().empty());
  }
  EXPECT_TRUE(Home(dir / "s").TakeBurntClaims().empty());
}

// The lane of a data owner has nothing to do with another one's of the same id.
TEST(Lanes, AnotherOwnersIdIsAnotherLane) {
  Scratch dir;
  Home home(dir / "s");
  const auto mine = home.Open(kOwner, kLane), theirs = home.Open(kAnother, kLane);
  Put(*mine, 3, true);
  EXPECT_TRUE(theirs->Bundles().empty());
  EXPECT_TRUE(Fails(Cause::kRefused, "was never here", [&] { (void)theirs->Header(3); }));
  Put(*theirs, 3, true);
  theirs->BurnAll();
  EXPECT_EQ(Serials(*mine), (std::vector<uint64_t>{3}));
  EXPECT_EQ(home.Find(Hash{}, kLane), nullptr);
}

TEST(Lanes, OneSessionHasALaneAtATime) {
  Scratch dir;
  Home home(dir / "s");
  auto lane = home.Open(kOwner, kLane);
  EXPECT_THROW((void)home.Open(kOwner, kLane), LaneInUse);
  EXPECT_TRUE(
      Fails(Cause::kPeer, "the lane 1a2e0000.. is in use by another session", [&] { (void)home.Open(kOwner, kLane); }));
  auto copy = lane;  // the lane is closed with the last pointer
  lane.reset();
  EXPECT_THROW((void)home.Open(kOwner, kLane), LaneInUse);
  copy.reset();
  Put(*home.Open(kOwner, kLane), 3, true);
  EXPECT_EQ(Serials(*home.Open(kOwner, kLane)), (std::vector<uint64_t>{3}));
}

TEST(Lanes, AnIdleLaneHasNoFileOpen) {
  Scratch dir("/dev/shm");
  Home home(dir / "s");
  const size_t before = OpenFiles();
  for (int i = 0; i < 20; ++i) Put(*home.Open(kOwner, Numbered(i)), 3, true);
  EXPECT_EQ(OpenFiles(), before);
  for (int i = 0; i < 20; ++i) home.Open(kOwner, Numbered(i))->Burn(3);
  (void)home.BurnPair(kOwner);
  EXPECT_EQ(OpenFiles(), before);
}

// P1 takes an idle lane with bundles, else an idle one, else a new one.
TEST(Lanes, AnyLaneIsOneWithBundlesFirst) {
  Scratch dir;
  Home home(dir / "s");
  std::vector<std::shared_ptr<Lane>> all;
  for (int i = 0; i < 3; ++i) all.push_back(home.OpenAny());
  EXPECT_EQ(home.Lanes({}).size(), 3u);
  const std::vector<LaneId> ids = home.Lanes({});
  Put(*all[1], 3, true);
  const LaneId with = all[1]->id();
  all.clear();
  const auto first = home.OpenAny(), second = home.OpenAny(), third = home.OpenAny();
  EXPECT_EQ(first->id(), with);
  EXPECT_NE(second->id(), third->id());
  EXPECT_EQ(home.Lanes({}), ids);
  const auto fourth = home.OpenAny();
  EXPECT_EQ(home.Lanes({}).size(), 4u);
}

// A listed dealer has lanes of its own, and each process of the model owner as well.
TEST(Lanes, ALaneFitsItsDealerAndItsPlace) {
  const Hash one{1}, two{2};
  Scratch dir;
  Home home(dir / "s");
  const LaneId plain = home.OpenAny()->id();
  EXPECT_FALSE(BelongsTo(plain, one));
  const LaneId of_one = home.OpenAny({one, true})->id();
  EXPECT_TRUE(BelongsTo(of_one, one));
  EXPECT_FALSE(BelongsTo(of_one, two));
  EXPECT_EQ(home.OpenAny({one, true})->id(), of_one);
  EXPECT_NE(home.OpenAny({two, true})->id(), of_one);
  // a dealer that is known, but no list, uses its own lanes, and others only while they have bundles
  EXPECT_EQ(home.Lanes({}).size(), 3u);
  EXPECT_EQ(home.OpenAny({one, false})->id(), of_one);
  EXPECT_TRUE(BelongsTo(home.OpenAny({Hash{3}, false})->id(), Hash{3}));
  EXPECT_EQ(home.Lanes({}).size(), 4u);
  Put(*home.Open({}, plain), 3, true);
  EXPECT_EQ(home.OpenAny({Hash{3}, false})->id(), plain);
  for (uint8_t places : {2, 3, 64})
    for (uint8_t place = 0; place < places; ++place) {
      const LaneId id = home.OpenAny({two, true, place, places})->id();
      EXPECT_TRUE(BelongsTo(id, two));
      EXPECT_EQ(id[0] % places, place);
    }
}

TEST(Lanes, ABundleOfAnotherLaneIsWiped) {
  enum class How { kCopied, kLinked, kMoved };
  for (How how : {How::kCopied, How::kLinked, How::kMoved}) {
    Scratch dir;
    {
      Home home(dir / "s");
      Put(*home.Open({}, kLane), 3, true);
      Put(*home.Open({}, kOther), 2, true);
    }
    const std::string from = FileOf(dir / "s", 3), to = FileOf(dir / "s", 3, kOther);
    if (how == How::kCopied) fs::copy_file(from, to);
    if (how == How::kLinked) fs::create_hard_link(from, to);
    if (how == How::kMoved) fs::rename(from, to);
    Home home(dir / "s");
    EXPECT_TRUE(Tells(home.TakeNotices(), "that were copied or restored: 1")) << int(how);
    EXPECT_EQ(Serials(*home.Find({}, kOther)), (std::vector<uint64_t>{2}));
    EXPECT_FALSE(fs::exists(to));
    if (how == How::kCopied) {
      EXPECT_EQ(Serials(*home.Find({}, kLane)), (std::vector<uint64_t>{3}));
    }
  }
}

// A file that the lane itself wrote, with another lane's header.
TEST(Lanes, AHeaderOfAnotherLaneIsRefused) {
  for (bool restarts : {true, false}) {
    Scratch dir;
    std::optional<OneLane> s(std::in_place, dir / "s");
    Put(*s, 3, true);
    if (restarts) s.reset();
    Bytes preamble = Encode(HeaderOf(3, kOther));
    preamble.resize(preamble.size() + 32);
    ChunkFile(dir / "other", preamble);
    std::ifstream other(dir / "other", std::ios::binary);
    {
      std::fstream file(FileOf(dir / "s", 3), std::ios::binary | std::ios::in | std::ios::out);
      file << other.rdbuf();
    }
    if (restarts) {
      s.emplace(dir / "s");
      EXPECT_TRUE(Says(*s, "copied or restored"));
      EXPECT_TRUE((*s)->Bundles().empty());
    } else {
      EXPECT_TRUE(Fails(Cause::kRefused, "was altered", [&] { Claim(Witnessed(**s, 3), 3); }));
    }
  }
}

TEST(Lanes, ACopiedFolderIsNoticedAndTheOriginalGoesOn) {
  Scratch dir;
  {
    Home home(dir / "s");
    const auto lane = home.Open(kOwner, kLane);
    for (uint64_t i = 1; i <= 3; ++i) Put(*lane, i, true);
    Claim(Witnessed(*lane, 1), 1);
    lane->Finish(1);
  }
  fs::create_directories(dir / ("s/owners/" + Hex(kAnother)));
  const std::string from = OwnerFolder(dir / "s", kOwner);
  const std::string copies[] = {OwnerFolder(dir / "s", kOwner, kOther), OwnerFolder(dir / "s", kAnother)};
  for (const std::string& to : copies) fs::copy(from, to, fs::copy_options::recursive);
  Home home(dir / "s");
  const std::vector<std::string> notices = home.TakeNotices();
  for (const std::string& to : copies) EXPECT_TRUE(Tells(notices, Str("the store ", to, " was copied or restored")));
  EXPECT_TRUE(home.Find(kOwner, kOther)->Bundles().empty());
  EXPECT_TRUE(home.Find(kAnother, kLane)->Bundles().empty());
  EXPECT_EQ(Serials(*home.Find(kOwner, kLane)), (std::vector<uint64_t>{2, 3}));
}

// The process died after it had made a lane's folder, before or after the folder of its bundles.
TEST(Lanes, AFolderWithoutALedgerIsANewLane) {
  for (const char* inside : {"", "/bundles"})
    for (const Hash& owner : {Hash{}, kOwner}) {
      Scratch dir;
      {
        Home home(dir / "s");
        Put(*home.Open(owner, kOther), 3, true);
      }
      const std::string folder = owner == Hash{} ? LaneFolder(dir / "s") : OwnerFolder(dir / "s", owner);
      fs::create_directories(folder + inside);
      fs::permissions(folder, fs::perms::owner_all);
      if (*inside) fs::permissions(folder + inside, fs::perms::owner_all);
      for (int start = 0; start < 2; ++start) {
        Home home(dir / "s");
        EXPECT_TRUE(home.TakeNotices().empty()) << start;
        const auto lane = home.Open(owner, kLane);
        EXPECT_FALSE(lane->ledger().keys_lost() && start);
        EXPECT_EQ(Serials(*lane), start ? std::vector<uint64_t>{7} : std::vector<uint64_t>{});
        if (!start) Put(*lane, 7, true);
        EXPECT_EQ(Serials(*home.Find(owner, kOther)), (std::vector<uint64_t>{3}));
      }
    }
}

// The process died after it had forgotten the last lane of an owner, before it removed the owner's folder.
TEST(Lanes, AnOwnersFolderWithoutLanesIsLikeNone) {
  Scratch dir;
  {
    Home home(dir / "s");
    Put(*home.Open(kOwner, kLane), 3, true);
    Put(*home.Open(kAnother, kLane), 4, true);
  }
  fs::remove_all(OwnerFolder(dir / "s", kOwner));
  for (int start = 0; start < 2; ++start) {
    Home home(dir / "s");
    EXPECT_TRUE(home.TakeNotices().empty()) << start;
    EXPECT_EQ(home.Lanes(kOwner).size(), size_t(start));
    EXPECT_EQ(Serials(*home.Find(kAnother, kLane)), (std::vector<uint64_t>{4}));
    if (!start) Put(*home.Open(kOwner, kOther), 7, true);
  }
  EXPECT_EQ(Serials(*Home(dir / "s").Find(kOwner, kOther)), (std::vector<uint64_t>{7}));
}

TEST(Lanes, AFolderOfAnotherNameIsLeftAlone) {
  Scratch dir;
  { Put(*std::make_unique<OneLane>(dir / "s"), 3, true); }
  const std::string kept = dir / "s/lanes/kept", upper = dir / ("s/lanes/1A" + Hex(kLane).substr(2));
  for (const std::string& name : {kept, upper, dir / "s/owners/somebody"}) fs::create_directories(name);
  fs::permissions(dir / "s/owners", fs::perms::owner_all);
  Home home(dir / "s");
  const std::vector<std::string> notices = home.TakeNotices();
  EXPECT_TRUE(Tells(notices, kept + " is named like no lane; it is left alone"));
  EXPECT_TRUE(Tells(notices, upper + " is named like no lane; it is left alone"));
  EXPECT_TRUE(Tells(notices, "owners/somebody is named like no data owner; it is left alone"));
  EXPECT_EQ(home.Lanes({}), (std::vector<LaneId>{kLane}));
}

// Of 64 lanes, the 65th replaces the idle one without bundles that was used longest ago.
TEST(Lanes, The65thReplacesAnIdleEmptyOneOrIsRefused) {
  Scratch dir("/dev/shm");
  Home home(dir / "s");
  const int most = int(kMostLanes);
  for (int i = 0; i < most; ++i) {
    const auto lane = home.Open(kOwner, Numbered(i));
    if (i >= 4) Put(*lane, 3, true);
  }
  for (int i = 0; i < most; ++i) SetUse(OwnerFolder(dir / "s", kOwner, Numbered(i)), 1'000'000 - 1000 * i);
  const auto open = home.Open(kOwner, Numbered(3));  // the oldest of the empty ones, in use
  for (int forgotten : {2, 1, 0}) {
    const LaneId id = Numbered(100 + forgotten);
    Put(*home.Open(kOwner, id), 3, true);
    EXPECT_EQ(home.Find(kOwner, Numbered(forgotten)), nullptr);
    EXPECT_FALSE(fs::exists(OwnerFolder(dir / "s", kOwner, Numbered(forgotten))));
    EXPECT_EQ(home.Lanes(kOwner).size(), kMostLanes);
  }
  EXPECT_THROW((void)home.Open(kOwner, Numbered(200)), TooManyLanes);
  EXPECT_TRUE(Fails(Cause::kResource,
                    "this data owner has 64 lanes, each of them open or with bundles, and 64 are allowed",
                    [&] { (void)home.Open(kOwner, Numbered(200)); }));
  EXPECT_EQ(Serials(*home.Open(kOwner, Numbered(5))), (std::vector<uint64_t>{3}));  // one that exists opens
  Put(*home.Open(kAnother, Numbered(200)), 3, true);                                // so does another owner's
  const LaneId used = Numbered(5);
  home.Open(kOwner, used)->BurnAll();
  (void)home.Open(kOwner, Numbered(200));
  EXPECT_EQ(home.Find(kOwner, used), nullptr);
}

TEST(Lanes, AStoreHasSoManyInAll) {
  Scratch dir("/dev/shm");
  Home home(dir / "s");
  const size_t owners = kMostLanesInAll / kMostLanes;
  for (size_t o = 0; o < owners; ++o)
    for (size_t i = 0; i < kMostLanes; ++i) (void)home.Open(Hash{1, uint8_t(o)}, Numbered(int(i)));
  SetUse(OwnerFolder(dir / "s", Hash{1, 5}, Numbered(9)), 1000);
  (void)home.Open(kOwner, kLane);
  EXPECT_EQ(home.Find(Hash{1, 5}, Numbered(9)), nullptr);
  EXPECT_EQ(home.Lanes(Hash{1, 5}).size(), kMostLanes - 1);
}

// A lane that was forgotten begins anew, and its owner's folder goes with the last one.
TEST(Lanes, AForgottenLaneLeavesNothing) {
  Scratch dir("/dev/shm");
  {
    Home home(dir / "s");
    for (size_t o = 0; o < kMostLanesInAll / kMostLanes; ++o)
      for (size_t i = 0; i < kMostLanes; ++i)
        if (o || i < 1) (void)home.Open(Hash{1, uint8_t(o)}, Numbered(int(i)));
    home.Open(Hash{1, 0}, Numbered(0))->Burn(9);
    SetUse(OwnerFolder(dir / "s", Hash{1, 0}, Numbered(0)), 1000);
    for (int i = 0; i < int(kMostLanes); ++i) (void)home.Open(kOwner, Numbered(i));
    EXPECT_FALSE(fs::exists(dir / ("s/owners/" + Hex(Hash{1, 0}))));
    EXPECT_EQ(home.Open(Hash{1, 0}, Numbered(0))->ledger().floor(), 0u);
  }
}

TEST(Lanes, AFailedAuditBurnsAllOfAPairAndNoOther) {
  Scratch dir;
  {
    Home home(dir / "s");
    const auto open = home.Open(kOwner, kLane);
    for (uint64_t i = 1; i <= 3; ++i) Put(*open, i, true);
    Put(*open, 4, false);
    const auto running = Claim(Witnessed(*open, 1), 1);
    Put(*home.Open(kOwner, kOther), 8, true);
    Put(*home.Open(kAnother, kLane), 9, true);
    const BundleHeader late = HeaderOf(5);
    auto in = open->Receive(late, Secret(), EvenBody(kBody), true);
    EXPECT_EQ(home.BurnPair(kOwner), 4u);
    EXPECT_TRUE(open->Bundles().empty());
    EXPECT_TRUE(home.Find(kOwner, kOther)->Bundles().empty());
    EXPECT_EQ(Serials(*home.Find(kAnother, kLane)), (std::vector<uint64_t>{9}));
    EXPECT_EQ(open->ledger().LastRecords().at(1), RecordKind::kClaimed);  // its session ends it
    EXPECT_FALSE(BodyOf(running).empty());
    Sink sink(ChunkKey(late), EvenBody(kBody), [&](View c) { Add(in, c); });
    sink.Write(Bytes(kBody));
    sink.Finish();
    EXPECT_TRUE(
        Fails(Cause::kRefused, "bundle 5 arrived while all bundles of its lane were burnt", [&] { in.Commit(); }));
    EXPECT_TRUE(fs::is_empty(OwnerFolder(dir / "s", kOwner) + "/bundles"));
    EXPECT_EQ(home.BurnPair(kOwner), 0u);
    EXPECT_EQ(home.BurnPair(Hash{99}), 0u);
    Put(*open, 6, true);  // one that is requested afterwards
  }
  Home home(dir / "s");
  EXPECT_EQ(Serials(*home.Find(kOwner, kLane)), (std::vector<uint64_t>{6}));
  EXPECT_EQ(home.Find(kOwner, kOther)->ledger().floor(), 8u);
  EXPECT_EQ(Serials(*home.Find(kAnother, kLane)), (std::vector<uint64_t>{9}));
}

// A store of wire version 6 opens: its bundles are wiped, its secrets, pins and masked weights stay.
TEST(Lanes, AnOldStoreOpensAndItsBundlesAreWiped) {
  for (size_t bundles : {0, 2}) {
    Scratch dir;
    Hash seed{};
    {
      Home home(dir / "s");
      const Secret secret = home.LongLivedSecret("b.seed");
      std::copy(secret.view().begin(), secret.view().end(), seed.begin());
      EXPECT_TRUE(home.Pin({Role::kModel, Hash{1}}));
      home.CommitSetup(home.NewSetup(kLane), Hash{2});
    }
    fs::create_directory(dir / "s/bundles");
    fs::permissions(dir / "s/bundles", fs::perms::owner_all);
    std::ofstream(dir / "s/ledger") << "SUFLEDG2" << std::string(120 + 64, 'x');
    std::ofstream(dir / "s/bundles/incoming.part") << std::string(100, 'k');
    const std::string outside = dir / "outside";
    for (size_t i = 0; i < bundles; ++i)
      std::ofstream(dir / Str("s/bundles/0000000000000000000", i, "-0-0-4-0.bundle")) << std::string(2000, 'k');
    if (bundles) fs::create_hard_link(dir / "s/bundles/00000000000000000000-0-0-4-0.bundle", outside);
    Home home(dir / "s");
    const std::vector<std::string> notices = home.TakeNotices();
    EXPECT_EQ(notices.size(), bundles ? 1u : 0u);
    EXPECT_EQ(Tells(notices, "that an older version of suf wrote: 2; they are wiped"), bundles == 2);
    for (const char* gone : {"s/bundles", "s/ledger"}) EXPECT_FALSE(fs::exists(dir / gone));
    if (bundles) {  // the key itself is overwritten
      std::ifstream in(outside, std::ios::binary);
      const std::string content{std::istreambuf_iterator<char>(in), {}};
      EXPECT_EQ(content.substr(0, 400), std::string(400, '\0'));
    }
    EXPECT_TRUE(Equal(home.LongLivedSecret("b.seed").view(), seed));
    EXPECT_FALSE(home.Pin({Role::kModel, Hash{9}}));
    EXPECT_TRUE(home.HasSetup(Hash{2}));
    EXPECT_TRUE(home.Lanes({}).empty());
    Put(*home.OpenAny(), 3, true);
  }
}

// The ledger of a lane that no session has open is replaced by an older one. The process knows better.
TEST(Lanes, AnIdleLanesLedgerThatWasReplacedIsWrittenAnew) {
  for (bool removed : {false, true}) {
    Scratch dir;
    {
      Home home(dir / "s");
      const std::string ledger = LaneFolder(dir / "s") + "/ledger";
      Put(*home.Open({}, kLane), 3, true);
      fs::copy_file(ledger, dir / "kept");
      {
        const auto lane = home.Open({}, kLane);
        Put(*lane, 4, true);
        Claim(Witnessed(*lane, 3), 3);
        lane->Finish(3);
      }
      if (removed)
        fs::remove(ledger);
      else
        fs::copy_file(dir / "kept", ledger, fs::copy_options::overwrite_existing);
      const auto lane = home.Open({}, kLane);
      EXPECT_EQ(Serials(*lane), (std::vector<uint64_t>{4}));
      lane->BeginWitness(4, PairId{1});
    }
    Home home(dir / "s");
    EXPECT_TRUE(Tells(home.TakeNotices(), "the dealer was notified of bundle 4"));
    EXPECT_EQ(home.Find({}, kLane)->ledger().floor(), 4u);
  }
}

TEST(Lanes, TwoFetchMaskedWeightsAtOnce) {
  Scratch dir;
  Home home(dir / "s");
  std::optional<ChunkFile> one = home.NewSetup(kLane), two = home.NewSetup(kOther);
  one->Add(Bytes(9));
  two->Add(Bytes(9));
  home.DropSetup(kOther);  // the session of the other lane ends
  home.CommitSetup(std::move(*one), Hash{2});
  EXPECT_TRUE(home.HasSetup(Hash{2}));
  for (const auto& e : fs::directory_iterator(dir / "s")) EXPECT_NE(e.path().extension(), ".part");
}

}  // namespace
}  // namespace suf::store
