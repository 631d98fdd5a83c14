#include "suf/store/home.hpp"
#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

TEST(Store, BundlesSurviveARestartAndServeOnce) {
  Scratch dir;
  Bytes body;
  {
    OneLane s(dir / "s");
    body = Put(s, 3, true);
    Bytes second = Put(s, 5, false);
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3, 5}));
  }
  OneLane s(dir / "s");
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{3}));  // 5 was in memory only
  Bundle b = Claim(Witnessed(s, 3), 3);
  EXPECT_EQ(BodyOf(b), body);
  EXPECT_TRUE(Equal(b.key.view(), Hash{5}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 3)));
  EXPECT_TRUE(Fails(Cause::kRefused, "bundle 3 is used", [&] { Claim(Witnessed(s, 3), 3); }));
  s->Finish(3);
  EXPECT_EQ(s->ledger().LastRecords().at(3), RecordKind::kDone);
  EXPECT_EQ(s->Bundles().size(), 0u);
}

TEST(Store, AClaimBurnsLowerSerialsInMemoryAndOnDisk) {
  Scratch dir;
  OneLane s(dir / "s");
  for (uint64_t i = 1; i <= 4; ++i) Put(s, i, i % 2);
  Claim(Witnessed(s, 3), 3);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{4}));
  EXPECT_FALSE(fs::exists(FileOf(dir / "s", 1)));
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(Fails(Cause::kRefused, "used, burnt", [&] { Claim(Witnessed(s, i), i); })) << i;
    EXPECT_TRUE(Fails(Cause::kRefused, "which this store has had", [&] { Put(s, i, true); })) << i;
  }
  EXPECT_TRUE(Fails(Cause::kRefused, "which this store has had", [&] { Put(s, 4, true); }));
  Put(s, 9, true);
}

TEST(Store, AClaimWithoutAnEndIsBurntAtTheStart) {
  Scratch dir;
  {
    OneLane s(dir / "s");
    Put(s, 1, true);
    Put(s, 2, true);
    Claim(Witnessed(s, 1), 1);
  }
  OneLane s(dir / "s");
  EXPECT_TRUE(Says(s, "bundle 1 was claimed"));
  EXPECT_EQ(s->ledger().LastRecords().at(1), RecordKind::kBurnt);
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2}));
  EXPECT_FALSE(Says(s, "discarded"));
}

TEST(Store, AnAlteredBundleIsRefusedAndBurntAloneWhereverItWasAltered) {
  for (long at : {0L, 10L, 60L, 300L, 500L, 600'000L, -1L}) {
    Scratch dir;
    {
      OneLane s(dir / "s");
      Put(s, 1, true);
      Put(s, 2, true);
    }
    Flip(FileOf(dir / "s", 1), at);
    OneLane s(dir / "s");
    bool seen = s->Bundles().size() == 1;  // in the header: noticed at the start
    if (!seen) {
      EXPECT_TRUE(Fails(Cause::kRefused, "burnt", [&] { Use(Witnessed(s, 1), 1); })) << at;
    }
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << at;
    Claim(Witnessed(s, 2), 2);
  }
}

TEST(Store, ATruncatedBundleIsRefused) {
  for (size_t keep : {size_t{2}, size_t{100}, size_t{700'000}, kBody}) {
    Scratch dir;
    {
      OneLane s(dir / "s");
      Put(s, 1, true);
      Put(s, 2, true);
    }
    fs::resize_file(FileOf(dir / "s", 1), keep);
    OneLane s(dir / "s");
    if (s->Bundles().size() == 2) {
      EXPECT_TRUE(Fails(Cause::kRefused, "burnt", [&] { Use(Witnessed(s, 1), 1); })) << keep;
    }
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << keep;
  }
}

// A bundle on disk is read for a later claim. This spends nothing, and the claim reports any error.
TEST(Store, ABundleReadAheadIsClaimedFromMemory) {
  for (uint64_t window : {KeySource::kWhole, uint64_t{1}}) {
    Scratch dir;
    OneLane s(dir / "s");
    const Bytes one = Put(s, 1, true), two = Put(s, 2, true);
    for (uint64_t serial : {1, 1, 7}) s->ReadAhead(serial, EvenBody(kBody), window);
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{1, 2}));
    EXPECT_EQ(s->ledger().floor(), 0u);
    Flip(FileOf(dir / "s", 1), 10);  // its header, which was read
    const Bundle b = Witnessed(s, 1).Claim(1, EvenBody(kBody), window);
    EXPECT_EQ(BodyOf(b), one);
    EXPECT_TRUE(Equal(b.key.view(), Hash{5}));
    EXPECT_FALSE(fs::exists(FileOf(dir / "s", 1)));
    // read again, because it was read for another window or forgotten
    s->ReadAhead(2, EvenBody(kBody), window);
    if (window == KeySource::kWhole) s->DropUnclaimed();
    EXPECT_EQ(BodyOf(Witnessed(s, 2).Claim(2, EvenBody(kBody))), two);
  }
}

TEST(Store, WhatIsWrongWithABundleReadAheadHearsWhoClaimsIt) {
  for (long at : {10L, 300L, 600'000L, -1L}) {
    Scratch dir;
    OneLane s(dir / "s");
    Put(s, 1, true);
    Put(s, 2, true);
    Flip(FileOf(dir / "s", 1), at);
    s->ReadAhead(1, EvenBody(kBody), KeySource::kWhole);
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{1, 2})) << at;
    EXPECT_TRUE(Fails(Cause::kRefused, "burnt", [&] { Use(Witnessed(s, 1), 1); })) << at;
    EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2})) << at;
    EXPECT_GE(s->ledger().floor(), 1u) << at;
  }
}

// The preamble's hash has no key. Anyone with write access to the disk can correct it, in the file that the store
// wrote.
TEST(Store, ABundleWithASoundHashAndAnImpossiblePreambleIsRefused) {
  Scratch dir;
  auto write = [&](View preamble) {
    { Put(*std::make_unique<OneLane>(dir / "s"), 3, true); }
    ChunkFile(dir / "forged", preamble);
    std::ifstream forged(dir / "forged", std::ios::binary);
    std::ofstream(FileOf(dir / "s", 3), std::ios::binary | std::ios::trunc) << forged.rdbuf();
  };
  write(Bytes(8));
  EXPECT_TRUE(Says(OneLane(dir / "s"), "was altered"));
  BundleHeader h = HeaderOf(3);
  h.body_bytes = ~uint64_t{0};
  Bytes vast = Encode(h);
  vast.resize(vast.size() + 32);
  write(vast);
  OneLane s(dir / "s");
  EXPECT_TRUE(Fails(Cause::kRefused, "was altered", [&] { Claim(Witnessed(s, 3), 3); }));
  EXPECT_EQ(s->ledger().LastRecords().at(3), RecordKind::kBurnt);
}

TEST(Store, ABundleOfTheOlderVersionIsRefusedInOneSentence) {
  Scratch dir;
  { Put(*std::make_unique<OneLane>(dir / "s"), 3, true); }
  BundleHeader h = HeaderOf(3);
  h.version = kBundleVersion - 1;
  ChunkFile(dir / "old", Encode(h));
  std::ifstream old(dir / "old", std::ios::binary);
  std::ofstream(FileOf(dir / "s", 3), std::ios::binary | std::ios::trunc) << old.rdbuf();
  fs::rename(FileOf(dir / "s", 3),
             LaneFolder(dir / "s") + "/bundles/00000000000000000003-0-0-4-0.bundle");  // its name in that version
  OneLane s(dir / "s");
  EXPECT_EQ(s.notices,
            std::vector<std::string>{"a bundle of version 7 was found; this suf reads version 8; deal it again"});
  EXPECT_TRUE(s->Bundles().empty());
  EXPECT_TRUE(fs::is_empty(LaneFolder(dir / "s") + "/bundles"));
}

// A lane keys its bundles by job, both in its answers and in the names of the files.
TEST(Store, ABundleIsFoundUnderItsJobAndNoOther) {
  Scratch dir;
  const Job jobs[] = {{0, 0, 4, 0}, {1, 0, 4, 0}, {0, 1, 4, 0}, {0, 0, 5, 0}, {0, 0, 4, 1}, {0, 0, 4, 0, 2}};
  auto name = [&](const Job& j, uint64_t serial) {
    return Str(LaneFolder(dir / "s"), "/bundles/0000000000000000000", serial, "-", j.entry, "-", j.variant, "-",
               j.tokens, "-", j.past, "-", j.texts, ".bundle");
  };
  {
    OneLane s(dir / "s");
    uint64_t serial = 0;
    for (const Job& j : jobs) {
      BundleHeader h = HeaderOf(++serial);
      h.job = j;
      auto in = s->Receive(h, Secret::Random(), EvenBody(kBody), true);
      Sink sink(ChunkKey(h), EvenBody(kBody), [&](View chunk) { Add(in, chunk); });
      sink.Write(Bytes(kBody));
      sink.Finish();
      in.Commit();
      EXPECT_TRUE(fs::exists(name(j, serial)));
    }
    for (uint64_t i = 0; i < 6; ++i) {
      const auto found = s->Bundles(jobs[i]);
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].serial, i + 1);
    }
    EXPECT_TRUE(s->Bundles(JobOf(6)).empty());
  }
  fs::rename(name(jobs[0], 1), name(jobs[1], 1));  // as if it were for another job
  OneLane s(dir / "s");
  EXPECT_TRUE(s->Bundles(jobs[0]).empty());
  EXPECT_EQ(Serials(s), (std::vector<uint64_t>{2, 3, 4, 5, 6}));
}

// Buffers for several chunks are given before the first one arrives. Each chunk keeps its place.
TEST(Store, ChunksComeIntoBuffersThatWereGivenAhead) {
  const SharedLayout layout = EvenBody(6 * kChunkBytes + 5);
  Bytes body(layout->bytes());
  RandomBytes(body);
  for (bool to_disk : {false, true})
    for (uint64_t window : {KeySource::kWhole, 3 * uint64_t{kChunkBytes}}) {
      Scratch dir;
      OneLane s(dir / "s");
      BundleHeader h = HeaderOf(1);
      h.body_bytes = body.size();
      std::vector<Bytes> chunks;
      Sink sink(ChunkKey(h), layout, [&](View chunk) { chunks.emplace_back(chunk.begin(), chunk.end()); });
      sink.Write(body);
      sink.Finish();
      auto in = s->Receive(h, Secret(Hash{5}), layout, to_disk, window);
      std::optional<Bundle> claimed;
      if (!to_disk) claimed = s->Claim(1, layout);
      std::thread reader([&] {  // reading frees capacity in the window
        if (claimed) {
          EXPECT_EQ(BodyOf(*claimed), body);
        }
      });
      size_t filled = 0, most = 0;
      for (auto buffers = in.NextBuffers(); !buffers.empty(); buffers = in.NextBuffers()) {
        most = std::max(most, buffers.size());
        EXPECT_LE(buffers.size(), Lane::IncomingBundle::kAhead);
        for (size_t i = 0; i < buffers.size(); ++i) EXPECT_EQ(buffers[i].size(), chunks[filled + i].size());
        // the last one first, because nothing is verified before it is the first
        for (size_t i = buffers.size(); i-- > 0;)
          std::copy(chunks[filled + i].begin(), chunks[filled + i].end(), buffers[i].begin());
        in.MarkFilled();
        ++filled;
      }
      EXPECT_EQ(filled, chunks.size());
      EXPECT_GE(most, 3u);
      in.Commit();
      reader.join();
      if (to_disk) {
        EXPECT_EQ(BodyOf(Witnessed(s, 1).Claim(1, layout)), body);
      }
    }
}

TEST(Store, ABrokenDeliveryLeavesNothing) {
  Scratch dir;
  {
    OneLane s(dir / "s");
    auto in = s->Receive(HeaderOf(1), Secret(Hash{5}), EvenBody(kBody), true);
    EXPECT_TRUE(Fails(Cause::kRefused, "bundle 1 was altered", [&] { Add(in, Bytes(in.NextBuffer().size())); }));
    EXPECT_EQ(s->Bundles().size(), 0u);
  }
  OneLane s(dir / "s");
  EXPECT_TRUE(fs::is_empty(LaneFolder(dir / "s") + "/bundles"));
}

TEST(Store, IsLockedByOneProcess) {
  Scratch dir;
  OneLane s(dir / "s");
  EXPECT_TRUE(Fails(Cause::kResource, "in use by another", [&] { OneLane t(dir / "s"); }));
}

TEST(Store, AnAuditedSerialIsSpent) {
  Scratch dir;
  OneLane s(dir / "s");
  Put(s, 1, true);
  Put(s, 2, true);
  Bundle b = Audit(Witnessed(s, 1), 1);
  EXPECT_NE(b.hash(), Hash{});
  EXPECT_EQ(s->ledger().LastRecords().at(1), RecordKind::kAudited);
  EXPECT_TRUE(Fails(Cause::kRefused, "used", [&] { Claim(Witnessed(s, 1), 1); }));
  Claim(Witnessed(s, 2), 2);
}

TEST(Store, KeepsSetupOncePerWeightsAndChecksIt) {
  Scratch dir;
  OneLane s(dir / "s");
  Hash plan{1}, weights{2};
  Bytes data(kBody);
  RandomBytes(data);
  EXPECT_FALSE(s.home.HasSetup(weights));
  ChunkFile f = s.home.NewSetup(kLane);
  Sink sink(ChunkKey(plan, weights), EvenBody(kBody), [&](View c) { f.Add(c); });
  sink.Write(data);
  sink.Finish();
  EXPECT_FALSE(s.home.HasSetup(weights));
  s.home.CommitSetup(std::move(f), weights);
  EXPECT_TRUE(s.home.HasSetup(weights));
  EXPECT_FALSE(s.home.HasSetup(Hash{3}));
  EXPECT_EQ(s.home.LoadSetup(plan, weights, kBody), data);
  Flip(s.home.SetupFile(weights), 5000);
  EXPECT_EQ(s.home.LoadSetup(plan, weights, kBody), std::nullopt);
}

TEST(Store, SetupThatWasNotCommittedIsDroppedAtTheNextStart) {
  Scratch dir;
  const std::string part = dir / Str("s/w_hat-", Hex(kLane), "-0.part");
  for (bool starts : {false, true}) {
    std::optional<OneLane> s(std::in_place, dir / "s");
    (void)s->home.NewSetup(kLane);
    EXPECT_TRUE(std::filesystem::exists(part));
    if (starts) {
      s.reset();
      s.emplace(dir / "s");
    } else
      s->home.DropSetup(kLane);
    EXPECT_FALSE(std::filesystem::exists(part));
  }
}

TEST(Store, PinsTheFirstKeyOfARole) {
  Scratch dir;
  OneLane s(dir / "s");
  EXPECT_TRUE(s.home.Pin({Role::kDealer, Hash{1}}));
  EXPECT_TRUE(s.home.Pin({Role::kDealer, Hash{1}}));
  EXPECT_FALSE(s.home.Pin({Role::kDealer, Hash{2}}));
  EXPECT_TRUE(s.home.Pin({Role::kModel, Hash{2}}));
}

}  // namespace
}  // namespace suf::store
