#include "suf/store/store.hpp"

#include <fcntl.h>

#include <fstream>

#include "suf/base/scratch_test.hpp"
#include "suf/store/dealer_state.hpp"
#include "suf/store/told_test.hpp"

namespace suf::store {
namespace {

namespace fs = std::filesystem;
constexpr size_t kBody = kChunkBytes + 1000;

BundleHeader HeaderOf(uint64_t serial) {
  BundleHeader h;
  h.n = 4, h.serial = serial, h.body_bytes = kBody, h.rho = RandomHash(), h.pair = Share(Secret::Random());
  return h;
}

Bytes Put(Store& s, uint64_t serial, bool to_disk) {
  BundleHeader h = HeaderOf(serial);
  auto in = s.Receive(h, Secret(Hash{5}), to_disk);
  Bytes body(kBody);
  RandomBytes(body);
  Sink sink(ChunkKey(h), kBody, [&](View c) { in.Add(c); });
  sink.Write(body);
  sink.Finish();
  in.Commit();
  return body;
}

std::vector<uint64_t> Serials(const Store& s) {
  std::vector<uint64_t> v;
  for (const auto& h : s.Bundles()) v.push_back(h.serial);
  return v;
}

std::string FileOf(const std::string& dir, uint64_t serial) {
  std::string d = std::to_string(serial);
  return dir + "/bundles/" + std::string(20 - d.size(), '0') + d + ".bundle";
}

bool Says(const Store& s, const std::string& words) {
  for (const auto& n : s.notices())
    if (n.find(words) != std::string::npos) return true;
  return false;
}

void Flip(const std::string& path, long at) {  // negative: from the end
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  f.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
  char c = char(f.get() ^ 1);
  f.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  f.put(c);
}

TEST(Store, BundlesSurviveARestartAndServeOnce) {
  Scratch dir;
  Bytes body;
  {
    Store s(dir / "s");
    body = Put(s, 3, true);
    Bytes second = Put(s, 5, false);
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3, 5}));
  }
  Store s(dir / "s");
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3}));  // 5 was in memory only
  Bundle b = Told(s, 3).Claim(3);
  EXPECT_EQ(b.body, body);
  EXPECT_TRUE(Equal(b.key.view(), Hash{5}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 3)));
  EXPECT_TRUE(Fails(Cause::kRefused, "bundle 3 is used", [&] { Told(s, 3).Claim(3); }));
  s.Finish(3);
  EXPECT_EQ(s.ledger().Fates().at(3), Fate::kDone);
  EXPECT_EQ(s.Bundles().size(), 0u);
}

TEST(Store, AClaimBurnsLowerSerialsInMemoryAndOnDisk) {
  Scratch dir;
  Store s(dir / "s");
  for (uint64_t i = 1; i <= 4; ++i) Put(s, i, i % 2);
  Told(s, 3).Claim(3);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{4}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 1)));
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(Fails(Cause::kRefused, "used, burnt", [&] { Told(s, i).Claim(i); })) << i;
    EXPECT_TRUE(Fails(Cause::kRefused, "which this store has had", [&] { Put(s, i, true); })) << i;
  }
  EXPECT_TRUE(Fails(Cause::kRefused, "which this store has had", [&] { Put(s, 4, true); }));
  Put(s, 9, true);
}

TEST(Store, AUsedBundlePutBackIsDiscardedAtTheStart) {
  Scratch dir;
  {
    Store s(dir / "s");
    Put(s, 1, true);
    Put(s, 2, true);
    fs::copy_file(FileOf(dir / "s", 1), dir / "kept");
    Told(s, 1).Claim(1);
    s.Finish(1);
  }
  fs::copy_file(dir / "kept", FileOf(dir / "s", 1));
  fs::copy_file(dir / "kept", FileOf(dir / "s", 8));  // under another name
  Store s(dir / "s");
  EXPECT_TRUE(Says(s, "spent"));
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 8)));
}

TEST(Store, AClaimWithoutAnEndIsBurntAtTheStart) {
  Scratch dir;
  {
    Store s(dir / "s");
    Put(s, 1, true), Put(s, 2, true);
    Told(s, 1).Claim(1);
  }
  Store s(dir / "s");
  EXPECT_TRUE(Says(s, "bundle 1 was claimed"));
  EXPECT_EQ(s.ledger().Fates().at(1), Fate::kBurnt);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2}));
  EXPECT_FALSE(Says(s, "discarded"));
}

TEST(Store, AnAlteredBundleIsRefusedAndBurntAloneWhereverItWasAltered) {
  for (long at : {0L, 10L, 300L, 500L, 600'000L, -1L}) {
    Scratch dir;
    {
      Store s(dir / "s");
      Put(s, 1, true), Put(s, 2, true);
    }
    Flip(FileOf(dir / "s", 1), at);
    Store s(dir / "s");
    bool seen = s.Bundles().size() == 1;  // in the header: found at the start
    if (!seen) {
      EXPECT_TRUE(Fails(Cause::kRefused, "burnt", [&] { Told(s, 1).Claim(1); })) << at;
    }
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << at;
    Told(s, 2).Claim(2);
  }
}

TEST(Store, ATruncatedBundleIsRefused) {
  for (size_t keep : {size_t{2}, size_t{100}, size_t{700'000}, kBody}) {
    Scratch dir;
    {
      Store s(dir / "s");
      Put(s, 1, true), Put(s, 2, true);
    }
    fs::resize_file(FileOf(dir / "s", 1), keep);
    Store s(dir / "s");
    if (s.Bundles().size() == 2) {
      EXPECT_TRUE(Fails(Cause::kRefused, "burnt", [&] { Told(s, 1).Claim(1); })) << keep;
    }
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << keep;
  }
}

// The preamble's hash has no key: whoever writes the disk can make it right, in the file that the store wrote.
TEST(Store, ABundleWithASoundHashAndAnImpossiblePreambleIsRefused) {
  Scratch dir;
  auto write = [&](View preamble) {
    { Put(*std::make_unique<Store>(dir / "s"), 3, true); }
    ChunkFile(dir / "forged", preamble);
    std::ifstream forged(dir / "forged", std::ios::binary);
    std::ofstream(FileOf(dir / "s", 3), std::ios::binary | std::ios::trunc) << forged.rdbuf();
  };
  write(Bytes(8));
  EXPECT_TRUE(Says(Store(dir / "s"), "was altered"));
  BundleHeader h = HeaderOf(3);
  h.body_bytes = ~uint64_t{0};
  Bytes vast = Encode(h);
  vast.resize(vast.size() + 32);
  write(vast);
  Store s(dir / "s");
  EXPECT_TRUE(Fails(Cause::kRefused, "is cut short", [&] { Told(s, 3).Claim(3); }));
  EXPECT_EQ(s.ledger().Fates().at(3), Fate::kBurnt);
}

TEST(Store, ABrokenDeliveryLeavesNothing) {
  Scratch dir;
  {
    Store s(dir / "s");
    auto in = s.Receive(HeaderOf(1), Secret(Hash{5}), true);
    EXPECT_TRUE(Fails(Cause::kRefused, "bundle 1 is cut short", [&] { in.Add(Bytes(100)); }));
    EXPECT_EQ(s.Bundles().size(), 0u);
  }
  Store s(dir / "s");
  EXPECT_TRUE(fs::is_empty(dir / "s/bundles"));
}

// Kept: the files of a store by further names, so that they go back with inode and time of birth, as a disk does.
class Kept {
 public:
  Kept(const std::string& store, const std::string& outside) : store_(store) {
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
  const PairId pair{7};
  (void)dealer.Reserve(9);
  dealer.Know(pair);
  auto claim = [&](Store& s, uint64_t serial) {
    s.Tell(serial, pair);
    s.Answer(serial, dealer.Raise(pair, 1, serial));
    return s.Claim(serial);
  };
  std::optional<Kept> before, told, inside;
  {
    Store s(dir / "s");
    for (uint64_t i = 1; i <= 4; ++i) Put(s, i, true);
    claim(s, 1), s.Finish(1);
    before.emplace(dir / "s", dir / "before");
    s.Tell(2, pair);
    told.emplace(dir / "s", dir / "told");
    s.Answer(2, dealer.Raise(pair, 1, 2));
    (void)s.Claim(2);
    inside.emplace(dir / "s", dir / "inside");
    s.Finish(2);
  }
  inside->PutBack();
  {
    Store s(dir / "s");
    EXPECT_TRUE(Says(s, "bundle 2 was claimed by a session that did not end"));
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3, 4}));
  }
  told->PutBack();
  {
    Store s(dir / "s");
    EXPECT_TRUE(Says(s, "the dealer was told of bundle 2 by a session that did not use it"));
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3, 4}));
  }
  before->PutBack();
  {
    Store s(dir / "s");
    EXPECT_TRUE(s.notices().empty());
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2, 3, 4}));
    EXPECT_TRUE(Fails(Cause::kRefused,
                      "bundles up to 2 were used, and this store would have used 2: it was rolled back; "
                      "its 3 bundles are burnt",
                      [&] { claim(s, 2); }));
    EXPECT_TRUE(s.Bundles().empty());
  }
  Store s(dir / "s");
  EXPECT_TRUE(fs::is_empty(dir / "s/bundles"));
  EXPECT_EQ(s.ledger().floor(), 4u);
}

TEST(Store, ADealerThatKnowsLessThanBeforeIsRefused) {
  Scratch dir;
  const PairId pair{7}, other{8};
  {
    Store s(dir / "s");
    for (uint64_t i = 1; i <= 5; ++i) Put(s, i, true);
    s.Tell(2, pair), s.Answer(2, 0), (void)s.Claim(2), s.Finish(2);
    s.Tell(3, other), s.Answer(3, 0);  // of another pair it knows nothing
    (void)s.Claim(3), s.Finish(3);
  }
  Store s(dir / "s");  // and after the history has gone
  EXPECT_EQ(s.ledger().answer(pair), 2u);
  EXPECT_EQ(s.ledger().answer(other), 3u);
  s.Tell(4, pair);
  EXPECT_TRUE(Fails(Cause::kRefused, "knows of bundles up to 1, and this store told it of 2: its state was restored",
                    [&] { s.Answer(4, 1); }));
  s.Forget();
  EXPECT_EQ(s.ledger().Fates().at(4), Fate::kBurnt);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{5}));
  s.Tell(5, pair), s.Answer(5, 2), (void)s.Claim(5);
}

TEST(Store, ABundleOnDiskCannotBeClaimedWithoutTheDealersAnswer) {
  Scratch dir;
  Store s(dir / "s");
  Put(s, 1, true), Put(s, 2, false);
  EXPECT_THROW(s.Claim(1), Bug);
  s.Tell(1, {});
  EXPECT_THROW(s.Claim(1), Bug);
  s.Answer(1, 0);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2}));  // nobody else is offered what the dealer was told of
  s.Claim(1), s.Claim(2);
}

TEST(Store, ASerialFarAboveTheOthersDoesNotUseThemUp) {
  Scratch dir;
  Store s(dir / "s");
  for (uint64_t serial : {~uint64_t{0}, ~uint64_t{0} - 1, Store::kLeap + 1})
    EXPECT_TRUE(Fails(Cause::kRefused, "takes serials up to 2^40 above that", [&] { Put(s, serial, false); }));
  Put(s, 7, false), Put(s, Store::kLeap + 7, true);
  EXPECT_TRUE(Fails(Cause::kRefused, "above that", [&] { Put(s, 2 * Store::kLeap + 8, false); }));
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{7, Store::kLeap + 7}));
}

TEST(Ledger, IsWrittenAnewWithoutHistoryAtEachStartAndEvery65536Records) {
  Scratch dir("/dev/shm");
  const std::string path = dir / "s/ledger";
  {
    Store s(dir / "s");
    for (uint64_t i : {70'000, 70'001}) Put(s, i, true);
    uintmax_t most = 0;
    for (uint64_t serial = 1; serial <= Ledger::kMostRecords + 10; ++serial) {
      s.Burn(serial);
      most = std::max(most, fs::file_size(path));
    }
    EXPECT_LE(most, 128 + 64 * (Ledger::kMostRecords + 1));
    EXPECT_LT(fs::file_size(path), 64u * 100);
    EXPECT_EQ(s.ledger().floor(), Ledger::kMostRecords + 10);
    EXPECT_LT(s.ledger().Fates().size(), 100u);
  }
  Store s(dir / "s");
  EXPECT_TRUE(s.notices().empty()) << s.notices()[0];
  EXPECT_EQ(fs::file_size(path), 128 + 64 * 3);  // floor and two bundles
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{70'000, 70'001}));
  Told(s, 70'000).Claim(70'000);
}

TEST(Store, ACopiedStoreDiscardsItsKeysButKeepsItsHistory) {
  Scratch dir;
  {
    Store s(dir / "s");
    for (uint64_t i = 1; i <= 3; ++i) Put(s, i, true);
    Told(s, 1).Claim(1);
    s.Finish(1);
  }
  fs::copy(dir / "s", dir / "copy", fs::copy_options::recursive);
  {
    Store copy(dir / "copy");
    EXPECT_TRUE(Says(copy, "was copied"));
    EXPECT_EQ(copy.Bundles().size(), 0u);
    EXPECT_TRUE(fs::is_empty(dir / "copy/bundles"));
    EXPECT_EQ(copy.ledger().floor(), 1u);
    Put(copy, 7, true);
  }
  Store again(dir / "copy");
  EXPECT_TRUE(again.notices().empty());
  EXPECT_EQ(Serials(again), (std::vector<uint64_t>{7}));
  Store original(dir / "s");
  EXPECT_EQ(Serials(original), (std::vector<uint64_t>{2, 3}));
}

TEST(Store, WithoutALedgerNoBundleIsTrusted) {
  Scratch dir;
  {
    Store s(dir / "s");
    Put(s, 1, true);
  }
  fs::remove(dir / "s/ledger");
  Store s(dir / "s");
  EXPECT_EQ(s.Bundles().size(), 0u);
}

TEST(Store, IsLockedByOneProcess) {
  Scratch dir;
  Store s(dir / "s");
  EXPECT_TRUE(Fails(Cause::kResource, "in use by another", [&] { Store t(dir / "s"); }));
}

TEST(Ledger, ATornLastRecordIsDroppedAndEarlierOnesStay) {
  for (size_t more = 1; more < 64; ++more) {
    Scratch dir("/dev/shm");
    size_t whole;
    {
      Store s(dir / "s");
      for (uint64_t i = 1; i <= 3; ++i) Put(s, i, true);
      Told(s, 1).Claim(1), s.Finish(1);
      whole = fs::file_size(dir / "s/ledger");
      s.Tell(2, {});
      EXPECT_EQ(fs::file_size(dir / "s/ledger"), whole + 64);
    }
    fs::resize_file(dir / "s/ledger", whole + more);
    {
      Store s(dir / "s");
      EXPECT_TRUE(Says(s, "not written to its end")) << more;
      EXPECT_EQ(s.ledger().floor(), 1u);
      EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2, 3}));
    }
    Store s(dir / "s");
    EXPECT_TRUE(s.notices().empty());
    Told(s, 3).Claim(3), s.Finish(3);
  }
}

TEST(Ledger, ADamagedMiddleOrHeadDiscardsTheKeys) {
  for (long at : {3L, 20L, 100L}) {  // magic, machine, first of three records
    Scratch dir;
    {
      Store s(dir / "s");
      for (uint64_t i = 1; i <= 2; ++i) Put(s, i, true);
      Told(s, 1).Claim(1), s.Finish(1), s.Burn(1);
    }
    Flip(dir / "s/ledger", at);
    {
      Store s(dir / "s");
      EXPECT_TRUE(Says(s, "damaged")) << at;
      EXPECT_EQ(s.Bundles().size(), 0u);
      Put(s, 9, true);
    }
    Store s(dir / "s");
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{9}));
  }
}

TEST(Store, AnAuditedSerialIsSpent) {
  Scratch dir;
  Store s(dir / "s");
  Put(s, 1, true), Put(s, 2, true);
  Bundle b = Told(s, 1).Audit(1);
  EXPECT_NE(b.hash(), Hash{});
  EXPECT_EQ(s.ledger().Fates().at(1), Fate::kAudited);
  EXPECT_TRUE(Fails(Cause::kRefused, "used", [&] { Told(s, 1).Claim(1); }));
  Told(s, 2).Claim(2);
}

TEST(Store, KeepsSetupOncePerWeightsAndChecksIt) {
  Scratch dir;
  Store s(dir / "s");
  Hash plan{1}, weights{2};
  Bytes data(kBody);
  RandomBytes(data);
  EXPECT_FALSE(s.HasSetup(weights));
  ChunkFile f = s.NewSetup();
  Sink sink(ChunkKey(plan, weights), kBody, [&](View c) { f.Add(c); });
  sink.Write(data);
  sink.Finish();
  EXPECT_FALSE(s.HasSetup(weights));
  s.CommitSetup(std::move(f), weights);
  EXPECT_TRUE(s.HasSetup(weights));
  EXPECT_FALSE(s.HasSetup(Hash{3}));
  EXPECT_EQ(s.LoadSetup(plan, weights, kBody), data);
  Flip(s.SetupFile(weights), 5000);
  EXPECT_EQ(s.LoadSetup(plan, weights, kBody), std::nullopt);
}

TEST(Store, SetupThatWasNotCommittedIsDroppedAtTheNextStart) {
  Scratch dir;
  const std::string part = dir / "s/w_hat.part";
  for (bool starts : {false, true}) {
    std::optional<Store> s(std::in_place, dir / "s");
    (void)s->NewSetup();
    EXPECT_TRUE(std::filesystem::exists(part));
    if (starts)
      s.reset(), s.emplace(dir / "s");
    else
      s->DropSetup();
    EXPECT_FALSE(std::filesystem::exists(part));
  }
}

TEST(Store, PinsTheFirstKeyOfARole) {
  Scratch dir;
  Store s(dir / "s");
  EXPECT_TRUE(s.Pin({Role::kDealer, Hash{1}}));
  EXPECT_TRUE(s.Pin({Role::kDealer, Hash{1}}));
  EXPECT_FALSE(s.Pin({Role::kDealer, Hash{2}}));
  EXPECT_TRUE(s.Pin({Role::kModel, Hash{2}}));
}

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

}  // namespace
}  // namespace suf::store
