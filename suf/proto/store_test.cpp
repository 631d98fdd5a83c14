#include "suf/proto/store.hpp"

#include <fstream>

#include "suf/proto/internal/testing.hpp"

namespace suf::proto {
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
  Bundle b = s.Claim(3);
  EXPECT_EQ(b.body, body);
  EXPECT_TRUE(Equal(b.key.view(), Hash{5}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 3)));
  EXPECT_TRUE(Fails(Exit::kRefused, "bundle 3 is used", [&] { s.Claim(3); }));
  s.Finish(3);
  EXPECT_EQ(s.ledger().fates().at(3), Fate::kDone);
  EXPECT_EQ(s.Bundles().size(), 0u);
}

TEST(Store, AClaimBurnsLowerSerialsInMemoryAndOnDisk) {
  Scratch dir;
  Store s(dir / "s");
  for (uint64_t i = 1; i <= 4; ++i) Put(s, i, i % 2);
  s.Claim(3);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{4}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 1)));
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(Fails(Exit::kRefused, "used, burnt", [&] { s.Claim(i); })) << i;
    EXPECT_TRUE(Fails(Exit::kRefused, "which this store has had", [&] { Put(s, i, true); })) << i;
  }
  EXPECT_TRUE(Fails(Exit::kRefused, "which this store has had", [&] { Put(s, 4, true); }));
  Put(s, 9, true);
}

TEST(Store, AUsedBundlePutBackIsDiscardedAtTheStart) {
  Scratch dir;
  {
    Store s(dir / "s");
    Put(s, 1, true);
    Put(s, 2, true);
    fs::copy_file(FileOf(dir / "s", 1), dir / "kept");
    s.Claim(1);
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
    s.Claim(1);
  }
  Store s(dir / "s");
  EXPECT_TRUE(Says(s, "bundle 1 was claimed"));
  EXPECT_EQ(s.ledger().fates().at(1), Fate::kBurnt);
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
      EXPECT_TRUE(Fails(Exit::kRefused, "burnt", [&] { s.Claim(1); })) << at;
    }
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << at;
    s.Claim(2);
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
      EXPECT_TRUE(Fails(Exit::kRefused, "burnt", [&] { s.Claim(1); })) << keep;
    }
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << keep;
  }
}

// The preamble's hash has no key: whoever writes the disk can make it right.
TEST(Store, ABundleWithASoundHashAndAnImpossiblePreambleIsRefused) {
  Scratch dir;
  { Store s(dir / "s"); }
  auto write = [&](View preamble) {
    ChunkFile f(dir / "part", preamble);
    f.Commit(dir / "s/bundles", fs::path(FileOf("", 3)).filename());
  };
  write(Bytes(8));
  EXPECT_TRUE(Says(Store(dir / "s"), "was altered"));
  BundleHeader h = HeaderOf(3);
  h.body_bytes = ~uint64_t{0};
  Bytes vast = Encode(h);
  vast.resize(vast.size() + 32);
  write(vast);
  Store s(dir / "s");
  EXPECT_TRUE(Fails(Exit::kRefused, "is cut short", [&] { s.Claim(3); }));
  EXPECT_EQ(s.ledger().fates().at(3), Fate::kBurnt);
}

TEST(Store, ABrokenDeliveryLeavesNothing) {
  Scratch dir;
  {
    Store s(dir / "s");
    auto in = s.Receive(HeaderOf(1), Secret(Hash{5}), true);
    EXPECT_TRUE(Fails(Exit::kRefused, "bundle 1 is cut short", [&] { in.Add(Bytes(100)); }));
    EXPECT_EQ(s.Bundles().size(), 0u);
  }
  Store s(dir / "s");
  EXPECT_TRUE(fs::is_empty(dir / "s/bundles"));
}

TEST(Store, ACopiedStoreDiscardsItsKeysButKeepsItsHistory) {
  Scratch dir;
  {
    Store s(dir / "s");
    for (uint64_t i = 1; i <= 3; ++i) Put(s, i, true);
    s.Claim(1);
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
  EXPECT_TRUE(Fails(Exit::kResource, "in use by another", [&] { Store t(dir / "s"); }));
}

TEST(Ledger, ATornLastRecordIsDroppedAndEarlierOnesStay) {
  Scratch dir;
  size_t whole;
  {
    Store s(dir / "s");
    for (uint64_t i = 1; i <= 3; ++i) Put(s, i, true);
    s.Claim(1), s.Finish(1);
    whole = fs::file_size(dir / "s/ledger");
    s.Claim(2);
  }
  for (size_t cut = whole + 1; cut < whole + 32; ++cut) {
    fs::resize_file(dir / "s/ledger", cut);
    Store s(dir / "s");
    EXPECT_TRUE(Says(s, "not written to its end")) << cut;
    EXPECT_EQ(s.ledger().floor(), 1u);
    EXPECT_EQ(s.ledger().fates().at(1), Fate::kDone);
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3}));  // 2 was unlinked at its claim, torn record or not
    EXPECT_EQ(fs::file_size(dir / "s/ledger"), whole);
  }
  Store s(dir / "s");
  EXPECT_TRUE(s.notices().empty());
  s.Claim(3), s.Finish(3);
  EXPECT_EQ(fs::file_size(dir / "s/ledger"), whole + 64);
}

TEST(Ledger, ADamagedMiddleOrHeadDiscardsTheKeys) {
  for (long at : {3L, 20L, 100L}) {  // magic, machine, first of three records
    Scratch dir;
    {
      Store s(dir / "s");
      for (uint64_t i = 1; i <= 2; ++i) Put(s, i, true);
      s.Claim(1), s.Finish(1), s.Burn(1);
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
  Bundle b = s.Audit(1);
  EXPECT_NE(b.hash(), Hash{});
  EXPECT_EQ(s.ledger().fates().at(1), Fate::kAudited);
  EXPECT_TRUE(Fails(Exit::kRefused, "used", [&] { s.Claim(1); }));
  s.Claim(2);
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
  Flip(dir / ("s/" + Hex(weights) + ".w_hat"), 5000);
  EXPECT_TRUE(Fails(Exit::kRefused, "altered", [&] { s.LoadSetup(plan, weights, kBody); }));
  EXPECT_FALSE(s.HasSetup(weights));
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
  EXPECT_TRUE(Fails(Exit::kResource, "used up", [&] { d.Reserve(2); }));
  EXPECT_TRUE(Fails(Exit::kResource, "used up", [&] { d.Reserve(~uint64_t{0}); }));
}

TEST(DealerState, NeverGivesASerialTwice) {
  Scratch dir;
  {
    DealerState d(dir / "d");
    EXPECT_EQ(d.Reserve(1), 1u);
    EXPECT_EQ(d.Reserve(5), 2u);
    EXPECT_TRUE(Fails(Exit::kResource, "in use", [&] { DealerState e(dir / "d"); }));
  }
  {
    DealerState d(dir / "d");
    EXPECT_EQ(d.Reserve(1), 7u);
  }
  Flip(dir / "d/serial", 2);
  EXPECT_TRUE(Fails(Exit::kResource, "damaged", [&] { DealerState d(dir / "d"); }));
}

}  // namespace
}  // namespace suf::proto
