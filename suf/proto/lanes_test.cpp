// Several lanes between two parties, and lanes of several data owners, in whole sessions.
#include <gmock/gmock.h>

#include <fstream>

#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/bond.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using store::kLane, store::LaneId, store::RecordKind;
constexpr LaneId kSecond{0x2b};
const net::Identity kStranger{Role::kData, Hash{14}};

// A world whose data owner has a second lane.
struct TwoLanes : World {
  explicit TwoLanes(uint32_t ahead = 3) : World(ahead) { Second(); }
  void Second() {
    second.reset();
    second = home[1]->Open({}, kSecond);
  }
  // Runs a session in a lane.
  void In(const std::shared_ptr<store::Lane>& lane_, const std::function<void(DataSession&)>& use) {
    Session(Host(), [&](net::Channel& ch) {
      DataSession s(ch, plan, lane_, Dial(), keys);
      use(s);
      s.End();
    });
  }
  void Infer(const std::shared_ptr<store::Lane>& lane_) {
    In(lane_, [](DataSession& s) { s.Infer(store::JobOf(4), TestRun); });
  }
  std::shared_ptr<const store::Lane> AtP0(const LaneId& id, const Hash& owner = kId[1].key) const {
    return home[0]->Find(owner, id);
  }
  std::shared_ptr<store::Lane> second;
};

std::vector<uint64_t> SerialsOf(const store::Lane& lane) {
  std::vector<uint64_t> all;
  for (const auto& h : lane.Bundles()) all.push_back(h.serial);
  return all;
}

// A claim in one lane burns lower serials there, and leaves those of the other lane.
TEST(SessionLanes, EachGoesOnWithItsOwnBundles) {
  TwoLanes w;
  w.Infer(w.lane[1]);  // 1; 2 and 3 stay
  w.Infer(w.second);   // 4; 5 and 6 stay
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
  for (int turn = 0; turn < 2; ++turn) {
    for (const store::Lane* one : {w.lane[1].get(), w.lane[0].get()})
      EXPECT_EQ(SerialsOf(*one), (turn ? std::vector<uint64_t>{3} : std::vector<uint64_t>{2, 3}));
    for (const store::Lane* two : {static_cast<const store::Lane*>(w.second.get()), w.AtP0(kSecond).get()})
      EXPECT_EQ(SerialsOf(*two), (turn ? std::vector<uint64_t>{6} : std::vector<uint64_t>{5, 6}));
    w.Infer(w.second);
    w.Infer(w.lane[1]);
  }
  EXPECT_EQ(w.dealt.size(), 6u);
  for (uint64_t serial : {1, 2, 3}) EXPECT_EQ(w.lane[0]->ledger().LastRecords().at(serial), RecordKind::kDone);
  for (uint64_t serial : {4, 5, 6}) EXPECT_EQ(w.AtP0(kSecond)->ledger().LastRecords().at(serial), RecordKind::kDone);
  EXPECT_EQ(w.home[0]->Lanes(kId[1].key), (std::vector<LaneId>{kLane, kSecond}));
}

// Two sessions of one data owner at the same time, one in the run of the other.
TEST(SessionLanes, TwoRunAtTheSameTime) {
  TwoLanes w;
  w.Infer(w.lane[1]);
  w.Infer(w.second);
  const auto inner = [&] {
    auto pair = net::InProcessPair(kId[0], kId[1], w.timeout);
    const ModelHost host = w.Host();
    std::thread model([&, ch = std::move(pair.first)]() mutable {
      ServeSession(*ch, host);
      ch.reset();
    });
    {
      DataSession s(*pair.second, w.plan, w.second, w.Dial(), w.keys);
      s.Infer(store::JobOf(4), TestRun);
      s.End();
    }
    pair.second.reset();
    model.join();
  };
  w.In(w.lane[1], [&](DataSession& s) {
    s.Infer(store::JobOf(4), [&](Inference& inf) {
      inner();
      TestRun(inf);
    });
  });
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.lane[0]->ledger().LastRecords().at(2), RecordKind::kDone);
  EXPECT_EQ(w.AtP0(kSecond)->ledger().LastRecords().at(5), RecordKind::kDone);
}

// Another store of the same data owner names a lane that a session has open.
TEST(SessionLanes, OneThatIsInUseIsRefusedAndItsSessionGoesOn) {
  TwoLanes w;
  store::Home elsewhere(w.dir / "elsewhere");
  w.In(w.lane[1], [&](DataSession& s) {
    s.Infer(store::JobOf(4), [&](Inference& inf) {
      auto pair = net::InProcessPair(kId[0], kId[1], w.timeout);
      const ModelHost host = w.Host();
      std::thread model([&, ch = std::move(pair.first)]() mutable {
        EXPECT_TRUE(Fails(Cause::kPeer, "is in use by another session", [&] { ServeSession(*ch, host); }));
        ch.reset();
      });
      EXPECT_TRUE(Fails(Cause::kPeer, "the model owner runs another session in the same lane of our store", [&] {
        DataSession second(*pair.second, w.plan, elsewhere.Open({}, kLane), w.Dial(), w.keys);
      }));
      pair.second.reset();
      model.join();
      TestRun(inf);
    });
  });
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.lane[0]->ledger().LastRecords().at(1), RecordKind::kDone);
  EXPECT_EQ(SerialsOf(*w.lane[0]), (std::vector<uint64_t>{2, 3}));
}

// Another data owner names the same id: it gets a lane of its own, and none of the bundles.
TEST(SessionLanes, AnotherOwnersIdOpensNothingOfIt) {
  World w(3);
  w.RunSession({4});
  store::Home theirs(w.dir / "theirs");
  auto pair = net::InProcessPair(kId[0], kStranger, w.timeout);
  const ModelHost host = w.Host();
  std::thread model([&, ch = std::move(pair.first)]() mutable {
    EXPECT_THROW(ServeSession(*ch, host), Error);
    ch.reset();
  });
  {
    net::Channel& ch = *pair.second;
    SendHello(ch, w.plan);
    RecvHello(ch, w.plan);
    (void)RecvWelcome(ch);
    SendLaneRequest(ch, {true, 1, kLane, {}});
    Writer announce;  // of the first owner's bundle, as if its rho were known
    store::Put(announce, store::JobOf(4));
    announce.Raw(w.plan.task(store::JobOf(4)).trace);
    announce.Put(uint8_t{0});
    announce.Put(uint64_t{2});
    announce.Raw(w.lane[1]->Header(2).rho);
    ch.Send(net::kAnnounce, announce.bytes());
    const Bytes choice = ch.RecvExact(net::kChoice, 8);
    EXPECT_EQ(Reader(choice, "a choice").Get<uint64_t>(), 0u);  // a fresh one
    ch.Refuse(net::Refusal::kGaveUp);
  }
  pair.second.reset();
  model.join();
  w.Join();
  EXPECT_TRUE(w.home[0]->Find(kStranger.key, kLane)->Bundles().empty());
  EXPECT_EQ(SerialsOf(*w.lane[0]), (std::vector<uint64_t>{2, 3}));
  w.RunSession({4});
  EXPECT_EQ(w.LastRecord(0, 2), RecordKind::kDone);
}

TEST(SessionLanes, The65thWithBundlesInAllOthersIsRefused) {
  TwoLanes w;
  w.Infer(w.lane[1]);
  for (int i = 1; i < int(store::kMostLanes); ++i) {
    LaneId id{0x3c, uint8_t(i)};
    const auto lane = w.home[0]->Open(kId[1].key, id);
    store::BundleHeader h;
    h.serial = 3;
    h.lane = id;
    h.body_bytes = kBody1;
    const auto body = store::EvenBody(kBody1);
    auto in = lane->Receive(h, Secret(), body, true);
    store::Sink sink(store::ChunkKey(h), body, [&](View c) { store::Add(in, c); });
    sink.Write(Bytes(kBody1));
    sink.Finish();
    in.Commit();
  }
  EXPECT_TRUE(Fails(Cause::kResource, "the model owner holds keys in as many lanes of ours as it allows",
                    [&] { w.Infer(w.second); }));
  EXPECT_TRUE(w.ModelFails(Cause::kResource, "this data owner has 64 lanes"));
  EXPECT_EQ(w.dealt.size(), 3u);
  w.Infer(w.lane[1]);
  EXPECT_EQ(w.lane[0]->ledger().LastRecords().at(2), RecordKind::kDone);
}

// The dealer's answer exposes that lane 1 was rolled back. Lane 2 goes on before and after.
TEST(SessionLanes, ARolledBackOneIsRefusedWhileTheOtherGoesOn) {
  TwoLanes w;
  w.Infer(w.lane[1]);
  w.Infer(w.second);
  const store::PairId pair = PairOf(kId[0], kId[1].key);
  const store::PairId lane = LaneOf(kId[1], kId[0].key, kLane), other = LaneOf(kId[0], kId[1].key, kSecond);
  EXPECT_EQ(w.state->RecordUse(pair, lane, 1, 2), 0u);  // as before P1's lane was rolled back
  w.Infer(w.second);
  EXPECT_TRUE(Fails(Cause::kRefused, "it was rolled back; its 2 bundles are burnt", [&] { w.Infer(w.lane[1]); }));
  EXPECT_TRUE(w.lane[1]->Bundles().empty());
  EXPECT_EQ(SerialsOf(*w.second), (std::vector<uint64_t>{6}));
  w.Infer(w.second);
  EXPECT_EQ(w.second->ledger().LastRecords().at(6), RecordKind::kDone);
  EXPECT_EQ(w.state->RecordUse(pair, other, 1, 0), 6u);
  EXPECT_EQ(w.state->RecordUse(pair, lane, 1, 0), 2u);
}

TEST(SessionLanes, RequestsForDifferentLanesGetNothing) {
  TwoLanes w;
  w.partner_wait = net::Millis{200};
  w.MakeDealer({.at_once = 8});
  std::exception_ptr error;
  const FetchArgs args{.job = store::JobOf(4), .weights = Hash{77}, .partner = kId[1].key};
  std::thread model([&] {
    try {
      (void)Fetch(*w.Link(Role::kModel), w.plan, *w.lane[0], args);
    } catch (const Error&) {
      error = std::current_exception();
    }
  });
  FetchArgs data = args;
  data.partner = kId[0].key;
  EXPECT_TRUE(Fails(Cause::kPeer, "waited in vain for the other party",
                    [&] { (void)Fetch(*w.Link(Role::kData), w.plan, *w.second, data); }));
  model.join();
  w.Join();
  EXPECT_TRUE(error);
  EXPECT_TRUE(w.dealt.empty());
  EXPECT_EQ(w.dealer_errors.size(), 2u);
}

TEST(SessionLanes, AFailedAuditBurnsBothAtBothParties) {
  TwoLanes w;
  w.keys.whole = true;
  w.Infer(w.second);  // 1; 2 and 3 stay
  ModelHost host = w.Host();
  host.auditor.generate = [](DealJob j, store::Sink& a, store::Sink& b) {
    j.key[0] = Secret();
    TestGenerate(j, a, b);
  };
  EXPECT_TRUE(
      Fails(Cause::kRefused, "finds that it was dealt wrongly; the 4 bundles left in this store are burnt", [&] {
        w.Session(host, [&](net::Channel& ch) {
          DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
          s.Audit(store::JobOf(4));  // 4; 5 and 6 stay
        });
      }));
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "the 4 bundles left in this store are burnt"));
  for (const store::Lane* lane : {w.lane[0].get(), w.lane[1].get()}) {
    EXPECT_TRUE(lane->Bundles().empty());
    EXPECT_EQ(lane->ledger().floor(), 6u);
  }
  EXPECT_TRUE(w.second->Bundles().empty() && w.AtP0(kSecond)->Bundles().empty());
  EXPECT_EQ(w.second->ledger().floor(), 3u);
  w.keys.whole = false;
  w.Infer(w.second);
  EXPECT_EQ(w.second->ledger().LastRecords().at(7), RecordKind::kDone);
}

// --- the numbers of the greeting, and batches ---

TEST(SessionLanes, BothKnowBothReportsAndAReportedLinkIsNotMeasured) {
  BundlePlan plan = TestPlan();
  plan.variants = {"near", "far"};
  plan.price = [](const store::Job& j, const JobTerms& t) { return j.variant ? 5'000'000 : 10 * t.link.trip_us; };
  for (uint64_t trip : {0, 90, 900'000}) {
    World w(1, net::Millis{20'000}, TestGenerate, plan);
    ModelHost host = w.Host();
    host.report = {.dealer_rate = 5'000, .loopback = true};
    PairInfo info{.lanes = 64, .dealer_rate = 9'000};
    if (trip) info.link = Network{trip, 1'000'000};
    w.Session(host, [&](net::Channel& ch) {
      DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys, ~0u, info);
      const Common& c = s.common();
      EXPECT_EQ(c.model.dealer_rate, 5'000u);
      EXPECT_TRUE(c.model.loopback && !c.data.loopback);
      EXPECT_EQ(c.data.lanes, 64u);
      EXPECT_EQ(c.data.dealer_rate, 9'000u);
      const uint64_t probes = ch.traffic(net::Phase::kControl).bytes_sent;
      EXPECT_EQ(probes > kLargeProbe, trip == 0);
      if (trip) {
        EXPECT_EQ(c.link, info.link);
      }
      EXPECT_EQ(s.JobOf(4).variant, trip == 900'000);
      s.Infer(s.JobOf(4), TestRun);  // P0 chose the same variant, or it would refuse this one
      s.End();
    });
    EXPECT_FALSE(w.model_error);
  }
}

TEST(SessionLanes, ReportsBeyondTheLimitsAreRefused) {
  const std::pair<PairInfo, const char*> cases[] = {
      {{.lanes = 0}, "reports 0 lanes; the limits are 1 and 64"},
      {{.lanes = 65}, "reports 65 lanes; the limits are 1 and 64"},
      {{.link = Network{0, 1'000'000}}, "reports a round trip of 0 us"},
      {{.link = Network{1, 0}}, "and 0 bits a second"},
      {{.link = Network{kLongestTrip + 1, 1'000'000}}, "the limits are 1 to 10000000 us"},
  };
  for (const auto& [info, words] : cases) {
    World w;
    EXPECT_TRUE(Fails(Cause::kPeer, "the model owner received a frame that it did not expect", [&] {
      w.Session(w.Host(), [&](net::Channel& ch) {
        DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys, ~0u, info);
        s.Infer(store::JobOf(4), TestRun);
      });
    }));
    EXPECT_TRUE(w.ModelFails(Cause::kPeer, words));
    EXPECT_TRUE(w.dealt.empty());
  }
}

// A plan takes one text at once, until it says otherwise.
TEST(SessionLanes, ABatchOfMoreTextsThanThePlanTakesIsRefusedByAll) {
  for (uint32_t texts : {0u, 2u, 65u}) {
    World w;
    const store::Job job = store::JobOf(4, 0, texts);
    const std::string ours =
        Str("the batch has ", texts, " texts; this plan takes 1 to 1 at once; use a smaller batch");
    EXPECT_TRUE(Fails(Cause::kInput, ours, [&] { CheckJob(w.plan, job); }));
    w.Session(w.Host(), [&](net::Channel& ch) {
      SendHello(ch, w.plan);
      RecvHello(ch, w.plan);
      (void)RecvWelcome(ch);
      SendLaneRequest(ch, {true, 1, kLane, {}});
      Writer announce;
      store::Put(announce, job);
      announce.Raw(w.plan.task(job).trace);
      announce.Put(uint8_t{0});
      ch.Send(net::kAnnounce, announce.bytes());
      EXPECT_TRUE(Fails(Cause::kInput, "the model owner refused the number of texts in one batch",
                        [&] { ch.RecvExact(net::kChoice, 8); }));
    });
    EXPECT_TRUE(w.ModelFails(Cause::kInput, Str("the data owner announced a batch of ", texts, " texts")));
    EXPECT_TRUE(Fails(Cause::kInput, ours, [&] {
      (void)Fetch(*w.Link(Role::kData), w.plan, *w.lane[1], {.job = job, .weights = Hash{77}, .partner = kId[0].key});
    }));
    BundlePlan larger = w.plan;
    larger.most_texts = 100;
    if (texts) {
      EXPECT_TRUE(Fails(Cause::kInput, "the dealer refused the number of texts in one batch", [&] {
        (void)Fetch(*w.Link(Role::kData), larger, *w.lane[1], {.job = job, .weights = Hash{77}, .partner = kId[0].key});
      }));
    }
    w.Join();
    EXPECT_TRUE(w.dealt.empty());
  }
}

}  // namespace
}  // namespace suf::proto
