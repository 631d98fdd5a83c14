// The next job's bundle is fetched while an inference or an audit runs. The delivery arrives, breaks, or stays unused.
#include <fstream>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

TEST(Ahead, TheNextBundleArrivesWhileThisOneRunsAndIsClaimedAfterwards) {
  World w;
  RunHook first = [&](Inference& inf) {
    EXPECT_TRUE(w.Dealt(2));  // dealt before this run ends, because the next job is announced
    for (auto& lane : w.lane) EXPECT_EQ(lane->ledger().floor(), 1u);
    TestRun(inf);
  };
  w.Session(w.Host(), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    s.Infer(store::JobOf(3), first, store::JobOf(8));
    s.Infer(
        store::JobOf(8),
        [&](Inference& inf) {
          EXPECT_EQ(inf.header().serial, 2u);
          EXPECT_GT(inf.fetch_ms(), 0);
          TestRun(inf);
        },
        store::JobOf(3));
    s.Infer(store::JobOf(3), TestRun);
    EXPECT_EQ(s.dealer_traffic().frames_received, 3 * 5u);
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3}));
  for (int p = 0; p < 2; ++p)
    for (uint64_t s = 1; s <= 3; ++s) EXPECT_EQ(w.LastRecord(p, s), store::RecordKind::kDone);
}

TEST(Ahead, AnAuditAndAnInferenceFetchForEachOther) {
  World w;
  w.keys.whole = true;
  ModelHost host = w.Host();
  int audits = 0;
  host.auditor.generate = [&](const DealJob& j, store::Sink& a, store::Sink& b) {
    EXPECT_TRUE(w.Dealt(j.serial + 1));  // dealt before this audit ends, because the next job is announced
    EXPECT_EQ(w.lane[0]->ledger().floor(), j.serial);
    ++audits;
    TestGenerate(j, a, b);
  };
  w.Session(host, [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    s.Audit(store::JobOf(3), store::JobOf(8));
    s.Infer(store::JobOf(8), TestRun, store::JobOf(3));
    s.Audit(store::JobOf(3), store::JobOf(2));
    s.Audit(store::JobOf(2), store::JobOf(3));
    s.Infer(store::JobOf(3), TestRun);
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(audits, 3);
  using enum store::RecordKind;
  for (auto& lane : w.lane)
    EXPECT_EQ(lane->ledger().LastRecords(), (std::map<uint64_t, store::RecordKind>{
                                                {1, kAudited}, {2, kDone}, {3, kAudited}, {4, kAudited}, {5, kDone}}));
}

TEST(Ahead, AnAuditThatFailsLeavesNothingOfWhatWasAhead) {
  for (uint32_t count : {1, 3}) {  // in memory; on disk
    World w(count);
    w.keys.whole = true;
    ModelHost host = w.Host();
    host.auditor.generate = [&](DealJob j, store::Sink& a, store::Sink& b) {
      EXPECT_TRUE(w.Dealt(1 + count));
      j.key[0] = Secret();
      TestGenerate(j, a, b);
    };
    auto session = [&] {
      w.Session(host, [&](net::Channel& ch) {
        DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
        s.Audit(store::JobOf(3), store::JobOf(4));
      });
    };
    EXPECT_TRUE(Fails(Cause::kRefused, "audit of bundle 1 finds that it was dealt wrongly", session));
    EXPECT_TRUE(w.ModelFails(Cause::kRefused, "the audit of bundle 1 failed: the data owner's is not"));
    for (int p : {0, 1}) {
      EXPECT_EQ(w.LastRecord(p, 1), store::RecordKind::kAudited);
      EXPECT_TRUE(w.lane[p]->Bundles().empty());
      w.Reopen(p);
      EXPECT_TRUE(w.lane[p]->Bundles().empty());
    }
    w.RunSession({4});
    EXPECT_EQ(w.LastRecord(0, 2 + count), store::RecordKind::kDone);
  }
}

TEST(Ahead, NeverMoreThanOneBundleIsAhead) {
  World w;
  uint64_t running = 0;
  auto watch = [&](Inference& inf) {
    running = inf.header().serial;
    EXPECT_TRUE(running == 6 || w.Dealt(running + 1));
    std::lock_guard lock(w.m);
    EXPECT_LE(w.dealt.size(), running + 1);
    for (auto& lane : w.lane) EXPECT_LE(lane->Bundles().size(), 1u);
  };
  w.Session(w.Host([&](Inference& inf) { TestRun(inf); }), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    for (uint32_t i = 1; i <= 6; ++i)
      s.Infer(
          store::JobOf(1 + i % 3),
          [&](Inference& inf) {
            watch(inf);
            TestRun(inf);
          },
          store::JobOf(i < 6 ? 1 + (i + 1) % 3 : 0));
    s.End();
  });
  EXPECT_EQ(w.dealt.size(), 6u);
}

TEST(Ahead, BundlesInBothStoresAreUsedFirst) {
  World w(3);
  w.RunSession({4, 4, 4, 2, 4}, true);
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7}));  // 4 has 2 tokens, 5 to 7 are preprocessed
  for (int p = 0; p < 2; ++p) {
    EXPECT_EQ(w.LastRecord(p, 5), store::RecordKind::kDone);
    EXPECT_EQ(w.lane[p]->Bundles().size(), 2u);
  }
}

// Its header on disk is altered after the previous inference. Both parties have read it by then.
TEST(Ahead, ABundleInBothStoresIsReadAsSoonAsTheInferenceBeforeItEnds) {
  World w(3);
  w.Session(w.Host(), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    s.Infer(store::JobOf(4), TestRun, store::JobOf(4));
    for (int p : {0, 1}) {
      const std::string next = w.Folder(p) + "/bundles/00000000000000000002-0-0-4-0-1.bundle";
      std::fstream(next, std::ios::in | std::ios::out | std::ios::binary).write("altered", 7);
    }
    s.Infer(store::JobOf(4), TestRun);
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  for (int p = 0; p < 2; ++p) EXPECT_EQ(w.LastRecord(p, 2), store::RecordKind::kDone);
  EXPECT_EQ(w.dealt.size(), 3u);
}

TEST(Ahead, ADeliveryThatBreaksIsToldByTheInferenceThatNeedsItAndNeverRepeated) {
  std::atomic<int> calls{0};
  World w(1, net::Millis{20'000}, [&](const DealJob& j, store::Sink& a, store::Sink& b) {
    if (++calls == 2) Fail(Cause::kResource, "no memory for keys");
    TestGenerate(j, a, b);
  });
  bool done = false;
  // of the dealer, or of the model owner if that one received it first
  std::string sentence = "ended the session for a reason of its own";
  EXPECT_TRUE(Fails(Cause::kPeer, sentence, [&] {
    w.Session(w.Host(), [&](net::Channel& ch) {
      DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
      s.Infer(store::JobOf(3), TestRun, store::JobOf(2));
      done = true;
      s.Infer(store::JobOf(2), [](Inference& i) {
        (void)i.keys().Section(0);
        FAIL();
      });
    });
  }));
  EXPECT_TRUE(done);
  ASSERT_TRUE(w.model_error);
  for (int p = 0; p < 2; ++p) {
    EXPECT_EQ(w.LastRecord(p, 1), store::RecordKind::kDone);
    const auto fates = w.lane[p]->ledger().LastRecords();  // claimed when its header had arrived, or not claimed
    EXPECT_TRUE(!fates.count(2) || fates.at(2) == store::RecordKind::kBurnt);
  }
  w.RunSession({2});
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(w.LastRecord(0, 3), store::RecordKind::kDone);
}

// One cause ends both deliveries. The model owner meets it before it answers the claim, the data owner while it waits
// for that answer. The data owner names the dealer, not the peer that reported it.
TEST(Ahead, ADealerThatBreaksIsNamedByThePartyThatHasClaimed) {
  std::atomic<bool> met{false};
  World w(1, net::Millis{20'000}, [&](const DealJob&, store::Sink&, store::Sink&) {
    while (!met) std::this_thread::yield();
    std::this_thread::sleep_for(net::Millis{50});
    Fail(Cause::kResource, "no memory for keys");
  });
  ModelHost host = w.Host();
  host.keys.witness_always = true;
  host.dealers = [&, dial = host.dealers[0].dial, calls = 0](std::stop_token stop) mutable {
    if (++calls == 2) {
      met = true;
      Fail(Cause::kPeer, "the dealer ended the connection");
    }
    return dial(std::move(stop));
  };
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended the session for a reason of its own", [&] {
    w.Session(host, [&](net::Channel& ch) {
      DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
      s.Infer(store::JobOf(3), TestRun);
    });
  }));
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "the dealer ended the connection"));
  EXPECT_EQ(w.LastRecord(1, 1), store::RecordKind::kBurnt);
}

// One party gets no link to the dealer. The other party's request is closed when the session ends, long before the
// dealer's time-out.
TEST(Ahead, AFetchThatOnlyOnePartyCanMakeEndsWithTheSession) {
  for (int who : {0, 1}) {
    World w(1, net::Millis{600'000});
    w.timeout = net::Millis{600'000};
    auto twice = [&](DialDealer dial) {
      return [dial, calls = std::make_shared<int>(0)](std::stop_token stop) -> std::unique_ptr<net::Channel> {
        if (++*calls == 2) Fail(Cause::kResource, "no descriptor left");
        return dial(std::move(stop));
      };
    };
    ModelHost host = w.Host();
    if (who == 0) host.dealers = twice(host.dealers[0].dial);
    DialDealer dial = who == 1 ? DialDealer(twice(w.Dial())) : w.Dial();
    bool done = false;
    auto session = [&] {
      w.Session(host, [&](net::Channel& ch) {
        DataSession s(ch, w.plan, w.lane[1], dial, w.keys);
        s.Infer(store::JobOf(3), TestRun, store::JobOf(2));
        done = true;
        s.Infer(store::JobOf(2), TestRun);
      });
    };
    std::string ours = "no descriptor left", theirs = "ended the session for a reason of its own";
    EXPECT_TRUE(who ? Fails(Cause::kResource, ours, session) : Fails(Cause::kPeer, theirs, session));
    EXPECT_TRUE(who ? w.ModelFails(Cause::kPeer, theirs) : w.ModelFails(Cause::kResource, ours));
    EXPECT_TRUE(done);
    ASSERT_EQ(w.dealer_errors.size(), 1u);
    EXPECT_NE(std::string(w.dealer_errors[0].what()).find("hung up before the request of the other party"),
              std::string::npos);
    for (auto& lane : w.lane) EXPECT_EQ(lane->ledger().LastRecords().at(1), store::RecordKind::kDone);
  }
}

// A role's reservations: those that live, and all that were made.
struct Reservations {
  std::atomic<int> live{0}, all{0};
  auto Hook() {
    return [this](const store::Job&) {
      ++live;
      ++all;
      return std::shared_ptr<void>(nullptr, [this](void*) { --live; });
    };
  }
};

// Memory is reserved until the run ends. Two equal jobs that follow each other share a reservation.
TEST(Ahead, MemoryIsReservedUntilTheRunEnds) {
  Reservations reserved[3];
  std::vector<int> live[3];
  const auto note = [&](Role r) { live[int(r)].push_back(reserved[int(r)].live); };
  BundlePlan plans[3];
  for (int r = 0; r < 3; ++r) {
    plans[r] = TestPlan();
    plans[r].reserve = reserved[r].Hook();
  }
  const Generate generate = [&](DealJob job, store::Sink& p0, store::Sink& p1) {
    note(Role::kDealer);
    TestGenerate(job, p0, p1);
  };
  World w(1, net::Millis{20'000}, generate, plans[int(Role::kDealer)]);
  w.plan = plans[int(Role::kModel)];
  const RunHook run = [&](Inference& inf) {
    note(inf.channel().self().role);
    TestRun(inf);
  };
  w.Session(w.Host(run), [&](net::Channel& ch) {
    DataSession s(ch, plans[int(Role::kData)], w.lane[1], w.Dial(), w.keys);
    s.Infer(store::JobOf(4), run, store::JobOf(4));
    s.Infer(store::JobOf(4), run, store::JobOf(3));
    s.Infer(store::JobOf(3), run);
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  for (Role r : {Role::kModel, Role::kData}) {
    EXPECT_EQ(live[int(r)], (std::vector<int>{1, 2, 1})) << Name(r);
    EXPECT_EQ(reserved[int(r)].all, 2) << Name(r);
  }
  EXPECT_EQ(live[int(Role::kDealer)], (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(reserved[int(Role::kDealer)].all, 3);
  for (const Reservations& r : reserved) EXPECT_EQ(r.live, 0);
}

// The dealer notices that P1 left and reports it to P0, which reports P1's reason instead.
TEST(Ahead, APartyThatLeavesIsNamedByTheOtherOne) {
  std::atomic<bool> asked{false}, left{false};
  BundlePlan held = TestPlan();
  held.reserve = [&](const store::Job& job) -> std::shared_ptr<void> {
    if (job.tokens == 2) asked = true;
    while (job.tokens == 2 && !left) std::this_thread::sleep_for(net::Millis{1});
    return nullptr;
  };
  World w(1, net::Millis{20'000}, TestGenerate, held);  // the dealer has its own copy of the plan
  w.plan.reserve = nullptr;
  w.Session(w.Host(), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    s.Infer(store::JobOf(3), TestRun, store::JobOf(2));
    while (!asked) std::this_thread::yield();
    s.GiveUp();
    left = true;
  });
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "the data owner ended the session for a reason of its own"));
  w.RunSession({2});
}

TEST(Ahead, ASessionThatBreaksLeavesNothingOfWhatWasAhead) {
  for (int who : {0, 1}) {
    World w;
    RunHook fail = [&](Inference&) {
      EXPECT_TRUE(w.Dealt(2));
      Fail(Cause::kResource, "no memory");
    };
    EXPECT_THROW(w.Session(w.Host(who == 0 ? fail : RunHook(TestRun)),
                           [&](net::Channel& ch) {
                             DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
                             s.Infer(store::JobOf(3), who == 1 ? fail : RunHook(TestRun), store::JobOf(2));
                           }),
                 Error);
    for (int p = 0; p < 2; ++p) {
      EXPECT_EQ(w.LastRecord(p, 1), store::RecordKind::kBurnt);
      EXPECT_EQ(w.lane[p]->ledger().floor(), 1u);
      EXPECT_EQ(w.lane[p]->Bundles().size(), 0u);
    }
    w.RunSession({2, 3}, true);
    EXPECT_EQ(w.LastRecord(0, 3), store::RecordKind::kDone);
    EXPECT_EQ(w.LastRecord(0, 4), store::RecordKind::kDone);
  }
}

TEST(Ahead, ATooLongNextTextIsRefusedBeforeTheOneBeforeItIsSpent) {
  World w;
  EXPECT_TRUE(Fails(Cause::kInput, "the text has 9 tokens", [&] { w.RunSession({3, 9}, true); }));
  EXPECT_EQ(w.lane[0]->ledger().floor() + w.lane[1]->ledger().floor(), 0u);
}

}  // namespace
}  // namespace suf::proto
