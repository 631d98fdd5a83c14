// The three conversations, with threads over in-process pairs and once over TLS.
#include "suf/proto/session.hpp"

#include <fstream>
#include <future>

#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

TEST(Session, RunsLinesOfSeveralLengthsAndSendsSetupOnce) {
  World w;
  w.Session(w.Host(), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    EXPECT_EQ(s.weights(), Hash{77});
    EXPECT_EQ(s.Setup(), kWHat);
    for (uint32_t n : {3u, 8u, 3u}) s.Infer(store::JobOf(n), TestRun);
    EXPECT_EQ(ch.traffic(net::Phase::kSetup).bytes_received,
              3 * store::kChunkBytes / 2 + 2 * (net::ChunkTags::kBytes + net::kFrameHeader));
    EXPECT_EQ(ch.traffic(net::Phase::kOffline).bytes_sent, 3 * 40u);
    EXPECT_EQ(ch.traffic(net::Phase::kOffline).bytes_received, 0u);
    EXPECT_EQ(ch.traffic(net::Phase::kOnline).bytes_received, 3 * 40u);
    EXPECT_EQ(ch.traffic(net::Phase::kOnline).frames_sent, 0u);
    EXPECT_EQ(s.dealer_traffic().frames_received, 3 * 5u);  // hello, grant, header, chunk, end
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3}));
  for (int p = 0; p < 2; ++p)
    for (uint64_t s = 1; s <= 3; ++s) EXPECT_EQ(w.LastRecord(p, s), store::RecordKind::kDone);
  w.Session(w.Host(), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    EXPECT_EQ(ch.traffic(net::Phase::kSetup).bytes_received, 0u);
    s.End();
  });
  EXPECT_TRUE(w.dealer_errors.empty());
}

TEST(Session, BundlesMadeAheadAreUsedFromTheStoresInOrder) {
  World w(3);
  w.RunSession({4});
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3}));
  for (int p = 0; p < 2; ++p) w.Reopen(p);
  w.Session(w.Host(), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    for (int i = 0; i < 2; ++i)
      s.Infer(store::JobOf(4), [](Inference& inf) {
        EXPECT_EQ(inf.fetch_ms(), 0);
        TestRun(inf);
      });
    s.End();
  });
  EXPECT_EQ(w.dealt.size(), 3u);
  w.RunSession({4, 2});
  EXPECT_EQ(w.dealt.back(), 7u);  // 4 to 6 for the first text; the second one has another length and burns 5 and 6
  EXPECT_EQ(w.lane[0]->Bundles().size(), 0u);
}

TEST(Session, ABundleAlteredInOneStoreIsNamedToBothAndBurnt) {
  for (int altered : {0, 1}) {
    World w(3);
    w.RunSession({4});
    std::string path = w.Folder(altered) + "/bundles/00000000000000000002-0-0-4-0-1.bundle";
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(-1, std::ios::end).put('x');
    f.close();
    std::string ours = "was altered; it is burnt", theirs = "found its bundle altered";
    EXPECT_TRUE(Fails(Cause::kRefused, altered ? ours : theirs, [&] { w.RunSession({4}); }));
    EXPECT_TRUE(w.ModelFails(Cause::kRefused, altered ? theirs : ours));
    w.RunSession({4});
    EXPECT_EQ(w.LastRecord(altered, 2), store::RecordKind::kBurnt);
    EXPECT_EQ(w.LastRecord(0, 3), store::RecordKind::kDone);
  }
}

// A malicious model owner chooses a serial that the data owner's rolled-back store offers again.
TEST(Session, ARolledBackSerialIsNotUsedAgainWhoeverChoosesIt) {
  World w(3);
  w.RunSession({4});
  const store::PairId pair = PairOf(kId[0], kId[1].key), lane = LaneOf(kId[0], kId[1].key, store::kLane);
  EXPECT_EQ(w.state->RecordUse(pair, lane, 1, 0), 0u);  // the first bundle was in memory only
  (void)w.state->RecordUse(pair, lane, 1, 2);           // as before P1's store was rolled back
  EXPECT_TRUE(Fails(Cause::kRefused, "it was rolled back; its 2 bundles are burnt", [&] { w.RunSession({4}); }));
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "the data owner ended the session"));
  EXPECT_TRUE(w.lane[1]->Bundles().empty());
  for (const auto& s : w.lane)
    for (auto [serial, fate] : s->ledger().LastRecords())
      EXPECT_TRUE(serial == 1 || fate == store::RecordKind::kBurnt || fate == store::RecordKind::kReported) << serial;
  w.RunSession({4});
  EXPECT_EQ(w.LastRecord(1, 4), store::RecordKind::kDone);
}

TEST(Session, TheDealerHearsOfBundlesInMemoryWhereThatIsAskedFor) {
  const store::PairId pair = PairOf(kId[0], kId[1].key), lane = LaneOf(kId[1], kId[0].key, store::kLane);
  for (bool always : {false, true}) {
    World w;
    w.keys.witness_always = always;
    w.RunSession({4, 3});
    for (int p : {0, 1}) EXPECT_EQ(w.state->RecordUse(pair, lane, p, 0), always ? 2u : 0u);
  }
}

TEST(Session, WithoutTheDealerNoBundleFromDiskIsUsedAndNoneIsLost) {
  World w(3);
  w.RunSession({4});
  ModelHost host = w.Host();
  DialDealer none = [](std::stop_token) -> std::unique_ptr<net::Channel> { Fail(Cause::kPeer, "nobody answers"); };
  host.dealers = none;
  EXPECT_THROW(w.Session(host,
                         [&](net::Channel& ch) {
                           DataSession s(ch, w.plan, w.lane[1], none, w.keys);
                           s.Infer(store::JobOf(4), [](Inference&) { FAIL(); });
                         }),
               Error);
  for (int p : {0, 1}) EXPECT_EQ(w.lane[p]->Bundles().size(), 2u);
  w.RunSession({4, 4}, true);
  EXPECT_EQ(w.LastRecord(0, 3), store::RecordKind::kDone);
}

TEST(Session, OneStoreWithoutItsBundlesMeansFreshOnes) {
  World w(3);
  w.RunSession({4});
  std::filesystem::remove_all(w.Folder(1) + "/bundles");
  for (int p = 0; p < 2; ++p) w.Reopen(p);
  w.RunSession({4});
  EXPECT_EQ(w.LastRecord(0, 4), store::RecordKind::kDone);
  EXPECT_EQ(w.lane[0]->Bundles().size(), 2u);  // 2 and 3 were burnt with the claim of 4; 5 and 6 wait
}

TEST(Session, AnotherPlanVersionGeneratorOrTraceIsRefusedAndNoSerialSpent) {
  struct Case {
    std::function<void(BundlePlan&)> change;
    const char *p1_says, *p0_says;
  } cases[] = {
      {[](BundlePlan& p) { p.hash = {9}; }, "holds another plan", "holds another plan"},
      {[](BundlePlan& p) { p.version = 9; }, "another version of plans", "plan version 9"},
      {[](BundlePlan& p) { p.prg = 9; }, "expands keys with another generator", "key generator 9"},
      {[](BundlePlan& p) {
         p.task = [](const store::Job&) { return Task{Hash{99}, {store::EvenBody(kBody0), store::EvenBody(kBody1)}}; };
       },
       "another trace", "another trace"},
  };
  for (const Case& c : cases) {
    World w;
    BundlePlan other = w.plan;
    c.change(other);
    EXPECT_TRUE(Fails(Cause::kRefused, c.p1_says, [&] {
      w.Session(w.Host(), [&](net::Channel& ch) {
        DataSession s(ch, other, w.lane[1], w.Dial());
        s.Infer(store::JobOf(3), TestRun);
      });
    }));
    EXPECT_TRUE(w.ModelFails(Cause::kRefused, c.p0_says));
    EXPECT_EQ(w.lane[0]->ledger().floor() + w.lane[1]->ledger().floor(), 0u);
    EXPECT_TRUE(w.dealt.empty());
  }
}

TEST(Session, AnotherVersionOfTheProtocolIsRefused) {
  World w;
  w.Session(w.Host(), [&](net::Channel& ch) {
    Writer hello;
    hello.Put(store::kWireVersion + 1);
    hello.Put(w.plan.version);
    hello.Put(w.plan.prg);
    hello.Raw(w.plan.hash);
    ch.Send(net::kHello, hello.bytes());
    EXPECT_TRUE(Fails(Cause::kRefused, "the model owner speaks another version of the protocol",
                      [&] { ch.RecvExact(net::kWelcome, 85); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, Str("protocol version ", store::kWireVersion + 1)));
}

TEST(Session, AChoiceOfABundleOfAnotherJobIsRefused) {
  World w(3);
  w.RunSession({4});  // bundles 2 and 3 stay
  auto pair = net::InProcessPair(kId[0], kId[1], w.timeout);
  std::thread stand_in([&, ch = std::move(pair.first)]() mutable {
    RecvHello(*ch, w.plan);
    SendHello(*ch, w.plan);
    Writer choice;
    SendWelcome(*ch, {Hash{77}, HashOf({kWHat}), 0, 1, {}});
    EXPECT_TRUE(RecvLaneRequest(*ch).have);
    (void)ch->Recv(net::kAnnounce, 4096);
    choice.Put(uint64_t{2});
    ch->Send(net::kChoice, choice.bytes());
    EXPECT_TRUE(Fails(Cause::kRefused, "the data owner has used or never had the bundle of this serial",
                      [&] { (void)ch->Recv(net::kClaim, 64); }));
  });
  EXPECT_TRUE(Fails(Cause::kRefused, "chose bundle 2, which is not for this inference", [&] {
    DataSession s(*pair.second, w.plan, w.lane[1], w.Dial());
    s.Infer(store::JobOf(3), TestRun);
  }));
  stand_in.join();
  EXPECT_EQ(w.lane[1]->Bundles().size(), 2u);
}

TEST(Session, TooManyTokensAreTheUsersMistake) {
  World w;
  EXPECT_TRUE(Fails(Cause::kInput, "the text has 9 tokens; the plan covers 1 to 8", [&] { w.RunSession({9}); }));
  BundlePlan longer = w.plan;
  longer.max_tokens = 20;
  EXPECT_TRUE(Fails(Cause::kInput, "refused the number of tokens", [&] {
    w.Session(w.Host(),
              [&](net::Channel& ch) { DataSession(ch, longer, w.lane[1], w.Dial()).Infer(store::JobOf(9), TestRun); });
  }));
}

// A role that lacks memory for a length reports it before a serial is spent. Shorter texts still work, and of two texts
// the first one does.
TEST(Session, WhoLacksMemoryForATextSaysSoAndNoSerialIsSpent) {
  for (Role lacks : {Role::kModel, Role::kData, Role::kDealer}) {
    BundlePlan small = TestPlan();
    small.reserve = [](const store::Job& job) -> std::shared_ptr<void> {
      if (job.tokens > 3) Fail(Cause::kResource, "memory for 3 and not for ", job.tokens);
      return nullptr;
    };
    World w(1, net::Millis{20'000}, TestGenerate, lacks == Role::kDealer ? small : TestPlan());
    const BundlePlan parties[2] = {lacks == Role::kModel ? small : TestPlan(),
                                   lacks == Role::kData ? small : TestPlan()};
    const ModelHost host = w.Host(parties[0]);
    const auto ask = [&](std::vector<uint32_t> lengths) {
      w.Session(host, [&](net::Channel& ch) {
        DataSession s(ch, parties[1], w.lane[1], w.Dial(), w.keys);
        for (size_t i = 0; i < lengths.size(); ++i)
          s.Infer(store::JobOf(lengths[i]), TestRun, store::JobOf(i + 1 < lengths.size() ? lengths[i + 1] : 0));
        s.End();
      });
      w.Join();
    };
    const char* const far = "has too little memory for our number of tokens";
    EXPECT_TRUE(Fails(Cause::kResource, lacks == Role::kData ? "memory for 3 and not for 4" : far, [&] { ask({4}); }));
    EXPECT_TRUE(w.ModelFails(Cause::kResource, lacks == Role::kModel ? "memory for 3 and not for 4" : far));
    w.Join();
    EXPECT_TRUE(w.dealt.empty()) << Name(lacks);
    EXPECT_EQ(w.lane[0]->ledger().floor() + w.lane[1]->ledger().floor(), 0u);
    ask({3, 2});
    EXPECT_EQ(w.dealt.size(), 2u);
    for (int p : {0, 1}) EXPECT_EQ(w.LastRecord(p, w.dealt[1]), store::RecordKind::kDone);
    // if the second text does not fit at P0, the first ends well and nothing is fetched for the second
    if (lacks != Role::kModel) continue;
    EXPECT_TRUE(Fails(Cause::kResource, far, [&] { ask({3, 4}); }));
    EXPECT_TRUE(w.ModelFails(Cause::kResource, "memory for 3 and not for 4"));
    w.Join();
    ASSERT_EQ(w.dealt.size(), 3u);
    for (int p : {0, 1}) EXPECT_EQ(w.LastRecord(p, w.dealt[2]), store::RecordKind::kDone);
  }
}

TEST(Session, AFailureOfOnePartyBurnsTheSerialOnBothSidesAndNothingElse) {
  for (int who : {0, 1}) {
    World w(3);
    RunHook fail = [](Inference&) { Fail(Cause::kResource, "no memory"); };
    EXPECT_THROW(w.Session(w.Host(who == 0 ? fail : RunHook(TestRun)),
                           [&](net::Channel& ch) {
                             DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
                             s.Infer(store::JobOf(4), who == 1 ? fail : RunHook(TestRun));
                           }),
                 Error);
    if (who == 0) {
      EXPECT_TRUE(w.ModelFails(Cause::kResource, "no memory"));
    } else {
      EXPECT_TRUE(w.ModelFails(Cause::kPeer, "the data owner ended the session for a reason of its own"));
    }
    for (int p = 0; p < 2; ++p) {
      EXPECT_EQ(w.LastRecord(p, 1), store::RecordKind::kBurnt);
      EXPECT_EQ(w.lane[p]->Bundles().size(), 2u);
    }
    w.RunSession({4});
    EXPECT_EQ(w.LastRecord(0, 2), store::RecordKind::kDone);
  }
}

TEST(Session, AnAnnouncedJobOfAnotherGraphIsRefused) {
  World w;
  w.Session(w.Host(), [&](net::Channel& ch) {
    SendHello(ch, w.plan);
    RecvHello(ch, w.plan);
    ch.RecvExact(net::kWelcome, 85);
    SendLaneRequest(ch, {true, 1, store::kLane, {}});
    Writer announce;
    store::Put(announce, store::Job{.entry = 1, .tokens = 3});
    announce.Raw(w.plan.task(store::JobOf(3)).trace);
    announce.Put(uint8_t{0});
    ch.Send(net::kAnnounce, announce.bytes());
    EXPECT_TRUE(
        Fails(Cause::kRefused, "the model owner does not know the graph", [&] { ch.RecvExact(net::kChoice, 8); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "the data owner announced entry 1, variant 0"));
  EXPECT_TRUE(w.dealt.empty());
}

TEST(Session, ABundleFetchedButNeverClaimedIsForgotten) {
  World w;
  EXPECT_THROW(w.Session(w.Host(),
                         [&](net::Channel& ch) {
                           DataSession s(ch, w.plan, w.lane[1], [&](std::stop_token) -> std::unique_ptr<net::Channel> {
                             auto link = w.Link(Role::kData);
                             FetchArgs args{.job = store::JobOf(3), .weights = Hash{77}, .partner = kId[0].key};
                             Fetch(*link, w.plan, *w.lane[1], args);
                             Fail(Cause::kResource, "P1 dies before its claim");
                           });
                           s.Infer(store::JobOf(3), TestRun);
                         }),
               Error);
  for (auto& lane : w.lane) {
    EXPECT_EQ(lane->Bundles().size(), 0u);
    EXPECT_EQ(lane->ledger().floor(), 0u);
  }
  w.RunSession({3});
  EXPECT_EQ(w.LastRecord(0, 2), store::RecordKind::kDone);
  EXPECT_EQ(w.lane[0]->Bundles().size(), 0u);
}

TEST(Session, ASilentOrVanishedPeerInTheMiddleEndsTheSessionInTime) {
  for (bool vanish : {false, true}) {
    World w;
    w.timeout = net::Millis{1000};
    std::promise<void> over;
    RunHook run = [&](Inference& inf) {
      if (vanish) Fail(Cause::kResource, "killed");
      over.get_future().wait();  // silent until P1 has given up
      TestRun(inf);
    };
    EXPECT_TRUE(Fails(Cause::kPeer, vanish ? "ended the session" : "the model owner was silent for 1 s", [&] {
      w.Session(w.Host(run), [&](net::Channel& ch) {
        struct Over {
          std::promise<void>& p;
          ~Over() { p.set_value(); }
        } at_end{over};
        DataSession(ch, w.plan, w.lane[1], w.Dial()).Infer(store::JobOf(3), TestRun);
      });
    }));
    EXPECT_EQ(w.LastRecord(1, 1), store::RecordKind::kBurnt);
  }
}

// The function that P0's run returns is called once, before the next run begins. It is not called for a run that
// breaks.
TEST(Session, EachRunOfP0EndsItsOwnJob) {
  World w;
  std::vector<std::string> events;
  ModelHost host = w.Host();
  host.run = [&](Inference& inf) {
    const uint64_t serial = inf.header().serial;
    events.push_back(Str("run ", serial));
    TestRun(inf);
    return [&events, serial] { events.push_back(Str("end ", serial)); };
  };
  const RunHook breaks = [](Inference&) { Fail(Cause::kResource, "no memory"); };
  EXPECT_TRUE(Fails(Cause::kResource, "no memory", [&] {
    w.Session(host, [&](net::Channel& ch) {
      DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
      s.Infer(store::JobOf(4), TestRun, store::JobOf(3));
      s.Infer(store::JobOf(3), TestRun, store::JobOf(2));
      s.Infer(store::JobOf(2), breaks);
    });
  }));
  EXPECT_EQ(events, (std::vector<std::string>{"run 1", "end 1", "run 2", "end 2", "run 3"}));
}

TEST(Session, WhatP0SeesDoesNotDependOnWhatP1DoesWithTheResult) {
  World w;
  RunHook fails_after = [](Inference& inf) {
    inf.channel().Send(net::kFirstRun, HashOf({inf.key().view()}));
    inf.EndOffline();
    (void)inf.channel().RecvExact(net::kFirstRun + 1, 32);
    inf.EndOnline();
    Fail(Cause::kResource, "cannot write the result");
  };
  EXPECT_TRUE(Fails(Cause::kResource, "cannot write the result", [&] {
    w.Session(w.Host(), [&](net::Channel& ch) {
      DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
      s.Infer(store::JobOf(3), fails_after);
      s.Infer(store::JobOf(3), TestRun);
      s.End();
    });
  }));
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.LastRecord(0, 2), store::RecordKind::kDone);
}

// Sequence numbers have 16 bits, and wrap within the second inference. MACs cover all frames, and the next one runs.
TEST(Session, GoesOnBeyond65536Frames) {
  const RunHook many = [](Inference& inf) {
    constexpr int kMany = (1 << 15) + 9;
    net::Channel& ch = inf.channel();
    const bool p1 = ch.self().role == Role::kData;
    for (int i = 0; i < kMany; ++i) p1 ? ch.Send(net::kFirstRun, {}) : (void)ch.RecvExact(net::kFirstRun, 0);
    inf.EndOffline();
    for (int i = 0; i < kMany; ++i) p1 ? (void)ch.RecvExact(net::kFirstRun, 0) : ch.Send(net::kFirstRun, {});
    if (p1) inf.EndOnline();
  };
  World w;
  w.Session(w.Host(many), [&](net::Channel& ch) {
    DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
    for (int i = 0; i < 3; ++i) s.Infer(store::JobOf(3), many);
    s.End();
    EXPECT_GT(ch.traffic(net::Phase::kOnline).frames_received, 3u << 15);
    EXPECT_GT(ch.traffic(net::Phase::kOffline).frames_sent, 3u << 15);
  });
  EXPECT_FALSE(w.model_error);
}

TEST(Session, AFrameThatDiffersBetweenTheSidesIsSeenAtThePhaseEnd) {
  // P1 sends correct frames but holds another pair secret, like that of an equal serial from elsewhere
  World w(2);
  w.RunSession({4});
  auto h = w.lane[1]->Header(2);
  store::Bundle b = store::Witnessed(*w.lane[1], 2).Claim(2, store::EvenBody(kBody1));
  h.pair = Share(Secret::Random());
  h.serial = 3;
  auto put = [&](int p, store::BundleHeader x) {
    x.party = uint32_t(p);
    x.body_bytes = p ? kBody1 : kBody0;
    const auto body = store::EvenBody(x.body_bytes);
    auto in = w.lane[p]->Receive(x, Secret(b.key.view()), body, true);
    store::Sink s(store::ChunkKey(x), body, [&](View c) { store::Add(in, c); });
    s.Write(Bytes(x.body_bytes));
    s.Finish();
    in.Commit();
  };
  put(1, h);
  h.pair = Share(Secret::Random());
  put(0, h);
  (void)w.state->Reserve(1);  // the serial of bundle 3
  EXPECT_TRUE(Fails(Cause::kRefused, "the model owner saw other frames or another bundle", [&] { w.RunSession({4}); }));
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "the data owner saw other frames or holds another bundle of serial 3"));
  EXPECT_EQ(w.LastRecord(1, 3), store::RecordKind::kBurnt);
  EXPECT_EQ(w.LastRecord(0, 3), store::RecordKind::kBurnt);
}

TEST(Session, ANewKeyOfTheModelOwnerOrDealerIsRefusedByThePin) {
  World w;
  w.RunSession({3});
  w.lane[1]->Bundles();
  auto pair = net::InProcessPair({Role::kModel, Hash{66}}, kId[1]);
  EXPECT_TRUE(Fails(Cause::kRefused, "another key", [&] { DataSession(*pair.second, w.plan, w.lane[1], w.Dial()); }));
  auto link = net::InProcessPair({Role::kDealer, Hash{66}}, kId[1]);
  EXPECT_TRUE(Fails(Cause::kRefused, "another key",
                    [&] { Fetch(*link.second, w.plan, *w.lane[1], {.job = store::JobOf(3)}); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "does not know our key", [&] { link.first->Recv(net::kHello, 100); }));
}

// --- all three over TLS on the loopback ---

TEST(Session, WholeOverTls) {
  World w(2);
  net::MakeCerts(w.dir / "certs");
  auto cred = [&](Role r) { return net::Credentials(w.dir / (std::string("certs/") + Name(r))); };
  net::Millis t{60'000};
  std::vector<Error> errors;
  auto log = [&](const Error& e) { errors.push_back(e); };
  net::Listener deal(cred(Role::kDealer), {"127.0.0.1", 0}, {Role::kModel, Role::kData}, t);
  net::Listener serve(cred(Role::kModel), {"127.0.0.1", 0}, {Role::kData}, t);
  std::thread dealing([&] { deal.Run([&](net::Channel& ch) { w.dealer->Handle(ch); }, log); });
  auto dial = [&](Role r) -> DialDealer {
    return [&, r](std::stop_token stop) {
      return net::Dial(cred(r), {"127.0.0.1", deal.port()}, Role::kDealer, t, std::move(stop));
    };
  };
  ModelHost host = w.Host();
  host.dealers = dial(Role::kModel);
  std::thread serving([&] { serve.Run([&](net::Channel& ch) { ServeSession(ch, host); }, log); });
  for (int i = 0; i < 2; ++i) {
    auto ch = net::Dial(cred(Role::kData), {"127.0.0.1", serve.port()}, Role::kModel, t);
    DataSession s(*ch, w.plan, w.lane[1], dial(Role::kData), w.keys);
    for (uint32_t n : {4u, 3u, 4u}) s.Infer(store::JobOf(n), TestRun);
    s.End();
  }
  serve.Stop();
  serving.join();
  deal.Stop();
  dealing.join();
  for (const Error& e : errors) ADD_FAILURE() << e.what();
}

}  // namespace
}  // namespace suf::proto
