// Masked weights (W_hat): P1 keeps only those that P0's MAC covers, whatever an attacker sent before.
#include <fstream>

#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/bond.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

// Returns W_hat from P1's store; nothing if it was altered.
std::optional<Bytes> FileOf(World& w) { return w.home[1]->LoadSetup(w.plan.hash, Hash{77}, w.plan.setup_bytes); }
bool Has(World& w) { return w.home[1]->HasSetup(Hash{77}); }
bool Part(World& w) { return std::filesystem::exists(w.dir / Str("1/w_hat-", Hex(store::kLane), "-0.part")); }

enum class Ends { kAfterChunks, kInTheClaim, kInTheAudit };

// Plays a peer with P0's key and weights id. It sends another W_hat, which its welcome names. It has no MAC, because it
// lacks the dealer's pair secret.
void FalseModel(net::Channel& ch, const BundlePlan& plan, Ends ends, uint64_t serial) {
  const Bytes spoiled(plan.setup_bytes, 0x66);
  RecvHello(ch, plan);
  SendHello(ch, plan);
  SendWelcome(ch, {Hash{77}, HashOf({spoiled}), 0, 1, {}});
  EXPECT_FALSE(RecvLaneRequest(ch).have);
  store::Sink sink(store::ChunkKey(plan.hash, Hash{77}), store::EvenBody(plan.setup_bytes),
                   [&](View chunk) { ch.Send(net::kChunk, chunk); });
  sink.Write(spoiled);
  sink.Finish();
  if (ends == Ends::kAfterChunks) return;
  (void)ch.Recv(net::kAnnounce, 4096);
  Writer choice;
  choice.Put(serial);
  ch.Send(net::kChoice, choice.bytes());
  (void)ch.RecvExact(ends == Ends::kInTheClaim ? net::kClaim : net::kAudit, 64);
  ch.Send(net::kAck, Bytes(64, 1));
  (void)ch.Recv(net::kGo, 64);  // throws, because P1 leaves
}

// Runs a session with FalseModel, which chooses bundle 2; returns whether P1 reports the right error.
testing::AssertionResult Robbed(World& w, Ends ends) {
  auto pair = net::InProcessPair(kId[0], kId[1], w.timeout);
  std::thread stand_in([&, ch = std::move(pair.first)]() mutable {
    try {
      FalseModel(*ch, w.plan, ends, 2);
    } catch (const Error&) {  // P1 left
    }
    ch.reset();
  });
  auto session = [&] {
    DataSession s(*pair.second, w.plan, w.lane[1], w.Dial(), {.whole = true});
    EXPECT_TRUE(Part(w));
    if (ends == Ends::kInTheAudit)
      s.Audit(store::JobOf(4));
    else
      s.Infer(store::JobOf(4), TestRun);
  };
  auto what = ends == Ends::kAfterChunks ? Fails(Cause::kPeer, "the model owner ended the connection", session)
                                         : Fails(Cause::kRefused, "saw other frames or holds another bundle", session);
  pair.second.reset();
  stand_in.join();
  return what;
}

TEST(Setup, WhoHasOnlyTheKeyOfP0LeavesNothing) {
  for (bool had : {false, true})
    for (Ends ends : {Ends::kAfterChunks, Ends::kInTheClaim, Ends::kInTheAudit}) {
      SCOPED_TRACE(Str("had ", had, ", ends ", int(ends)));
      World w(3);
      w.RunSession({4});  // bundles 2 and 3 stay
      if (!had) std::filesystem::remove(w.home[1]->SetupFile(Hash{77}));
      EXPECT_TRUE(Robbed(w, ends));
      EXPECT_FALSE(Part(w));
      EXPECT_EQ(Has(w), had);
      w.Session(w.Host(), [&](net::Channel& ch) {
        DataSession s(ch, w.plan, w.lane[1], w.Dial(), {.whole = true});
        EXPECT_EQ(s.notices().size(), 0u);
        EXPECT_EQ(s.Setup(), kWHat);
        s.Infer(store::JobOf(4), TestRun);
        s.End();
      });
      EXPECT_FALSE(w.model_error);
      EXPECT_EQ(FileOf(w), kWHat);
    }
}

TEST(Setup, IsKeptWithTheFirstMacOfAnInferenceOrAnAuditAndNotBefore) {
  for (bool audit : {false, true}) {
    World w;
    ModelHost host = w.Host();
    host.auditor.generate = [&](const DealJob& j, store::Sink& a, store::Sink& b) {
      EXPECT_EQ(FileOf(w), kWHat);
      TestGenerate(j, a, b);
    };
    auto run = [&](Inference& inf) {
      EXPECT_EQ(FileOf(w), kWHat);
      TestRun(inf);
    };
    auto session = [&](auto use) {
      w.Session(host, [&](net::Channel& ch) {
        DataSession s(ch, w.plan, w.lane[1], w.Dial(), {.whole = true});
        EXPECT_TRUE(Part(w) && !Has(w));
        use(s);
        s.End();
      });
      EXPECT_FALSE(w.model_error || Part(w));
    };
    session([](DataSession&) {});
    EXPECT_FALSE(Has(w));
    session([&](DataSession& s) { audit ? s.Audit(store::JobOf(4)) : (void)s.Infer(store::JobOf(4), run); });
    EXPECT_EQ(FileOf(w), kWHat);
  }
}

TEST(Setup, AFileThatIsAlteredOrAnotherIsFetchedAgainAndReplaced) {
  for (bool tagged : {false, true}) {
    World w;
    w.RunSession({4});
    if (tagged) {
      store::ChunkFile other = w.home[1]->NewSetup(store::kLane);
      store::Sink sink(store::ChunkKey(w.plan.hash, Hash{77}), store::EvenBody(kWHat.size()),
                       [&](View c) { other.Add(c); });
      sink.Write(Bytes(kWHat.size(), 0x66));
      sink.Finish();
      w.home[1]->CommitSetup(std::move(other), Hash{77});
    } else {
      std::fstream f(w.home[1]->SetupFile(Hash{77}), std::ios::in | std::ios::out | std::ios::binary);
      f.seekp(-1, std::ios::end).put('x');
    }
    for (size_t notices : {1, 0})
      w.Session(w.Host(), [&](net::Channel& ch) {
        DataSession s(ch, w.plan, w.lane[1], w.Dial(), {.whole = true});
        ASSERT_EQ(s.notices().size(), notices);
        if (notices) {
          EXPECT_EQ(s.notices()[0],
                    Str("the masked weights in ", w.home[1]->SetupFile(Hash{77}),
                        tagged ? " are not those of this session" : " were altered", "; they are fetched again"));
        }
        EXPECT_EQ(ch.traffic(net::Phase::kSetup).frames_received, notices ? 2u : 0u);
        EXPECT_EQ(s.Setup(), kWHat);
        s.Infer(store::JobOf(4), TestRun);
        s.End();
      });
    EXPECT_EQ(FileOf(w), kWHat);
  }
}

TEST(Setup, WhatDiffersFromTheWelcomeEndsTheSession) {
  World w;
  ModelHost host = w.Host();
  host.setup[31] ^= 1;
  EXPECT_TRUE(Fails(Cause::kRefused, "sent other masked weights than its welcome names; they are dropped", [&] {
    w.Session(host, [&](net::Channel& ch) { DataSession(ch, w.plan, w.lane[1], w.Dial(), {.whole = true}); });
  }));
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "the data owner received other masked weights than our welcome names"));
  EXPECT_FALSE(Has(w) || Part(w));
  w.RunSession({4});
  EXPECT_EQ(FileOf(w), kWHat);
}

// W_hat is sent without a turn, so a slow reader of it holds little of P0's memory.
TEST(Setup, ASlowReaderOfItTakesLittleMemory) {
  World w;
  ModelHost host = w.Host();
  uint64_t window = 0;
  host.w_hat = [&](store::Sink& s) {
    window = s.window();
    s.Write(kWHat);
  };
  w.Session(host, [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), {.whole = true});
    s.Infer(store::JobOf(4), TestRun);
    s.End();
  });
  EXPECT_EQ(window, kSetupWindow);
  EXPECT_LE(window, uint64_t{4} << 20);
}

TEST(Setup, TheMacsCoverIt) {
  store::BundleHeader h;
  h.pair = Share(Secret(Hash{4}));
  for (uint8_t theirs : {1, 2}) {
    auto pair = net::InProcessPair(kId[0], kId[1]);
    Bond p0(*pair.first, h, Hash{1}), p1(*pair.second, h, Hash{theirs});
    p1.Send(net::kClaim);
    if (theirs == 1)
      p0.Recv(net::kClaim);
    else
      EXPECT_TRUE(Fails(Cause::kRefused, "saw other frames", [&] { p0.Recv(net::kClaim); }));
  }
}

}  // namespace
}  // namespace suf::proto
