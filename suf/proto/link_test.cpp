// The variants of a plan in a session: which both parties allow, the measured link, and refused announcements.
#include "suf/proto/link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

// A plan with two variants: far takes five seconds on every link, near takes ten round trips.
BundlePlan Two() {
  BundlePlan p = TestPlan();
  p.variants = {"near", "far"};
  p.task = [](const store::Job& j) {
    return Task{Hash{1, uint8_t(j.tokens), uint8_t(j.variant)}, {store::EvenBody(kBody0), store::EvenBody(kBody1)}};
  };
  p.price = [](const store::Job& j, const JobTerms& t) {
    return j.variant ? 5'000'000 + j.tokens : 10 * t.link.trip_us;
  };
  return p;
}

struct TwoWorld : World {
  explicit TwoWorld(uint32_t ahead = 1) : World(ahead, net::Millis{20'000}, TestGenerate, Two()) {}
  ModelHost Allowing(uint32_t variants) {
    ModelHost host = Host();
    host.variants = variants;
    return host;
  }
};

TEST(Link, BothSidesEndWithOneAnswer) {
  auto [a, b] = net::InProcessPair(kId[0], kId[1], net::Millis{60'000});
  Network theirs;
  std::thread t([&] { theirs = MeasureLink(*a); });
  const Network ours = MeasureLink(*b);
  t.join();
  EXPECT_EQ(ours, theirs);
  EXPECT_GE(ours.trip_us, 1u);
  EXPECT_LT(ours.trip_us, 1'000'000u);
  EXPECT_GE(ours.rate, kLowestRate);
  const auto traffic = b->traffic(net::Phase::kControl);
  EXPECT_EQ(traffic.frames_sent, 9u);
  EXPECT_EQ(traffic.bytes_sent, 2 * kLargeProbe + 6 + 16 + 9 * net::kFrameHeader);
  EXPECT_EQ(traffic.bytes_received, traffic.bytes_sent);
}

TEST(Link, FiguresBeyondTheLimitsAreRefused) {
  for (const Network said :
       {Network{0, 1000}, Network{kLongestTrip + 1, 1000}, Network{5, 999}, Network{5, kHighestRate + 1}}) {
    auto [a, b] = net::InProcessPair(kId[0], kId[1], net::Millis{60'000});
    std::thread t([&, ch = std::move(a)] {
      const Bytes zeros(kLargeProbe);
      for (int i = 0; i < 8; ++i) {
        (void)ch->RecvExact(net::kProbe, i == 4 || i == 5 ? kLargeProbe : 1);
        ch->Send(net::kProbe, View(zeros).first(i >= 6 ? kLargeProbe : 1));
      }
      (void)ch->RecvExact(net::kLink, 16);
      Writer w;
      w.Put(said.trip_us);
      w.Put(said.rate);
      ch->Send(net::kLink, w.bytes());
      EXPECT_THROW(ch->RecvExact(net::kLink, 16), Error);
    });
    EXPECT_TRUE(Fails(Cause::kPeer, "the limits are 1 to 10000000 us and 1000 to", [&, &ch = *b] { MeasureLink(ch); }));
    t.join();
  }
}

// Plays one end of a measurement in that role: answers at once and reports any figures.
void Lie(net::Channel& ch, Network said) {
  const Bytes zeros(kLargeProbe);
  const bool begins = ch.self().role == Role::kData;
  for (int i = 0; i < 8; ++i) {
    const size_t up = i == 4 || i == 5 ? kLargeProbe : 1, down = i >= 6 ? kLargeProbe : 1;
    if (begins) ch.Send(net::kProbe, View(zeros).first(up));
    (void)ch.RecvExact(net::kProbe, begins ? down : up);
    if (!begins) ch.Send(net::kProbe, View(zeros).first(down));
  }
  Writer w;
  w.Put(said.trip_us);
  w.Put(said.rate);
  if (begins) ch.Send(net::kLink, w.bytes());
  (void)ch.RecvExact(net::kLink, 16);
  if (!begins) ch.Send(net::kLink, w.bytes());
}

// A liar can make a link longer or slower than it is. It never makes it shorter or faster than the honest side
// measured.
TEST(Link, AnHonestSideNeverBelievesInLessThanItSaw) {
  for (int liar : {0, 1})
    for (const Network lie : {Network{1, kHighestRate}, Network{kLongestTrip, kHighestRate}, Network{1, kLowestRate},
                              Network{kLongestTrip, kLowestRate}}) {
      auto pair = net::InProcessPair(kId[0], kId[1], net::Millis{60'000});
      net::Channel &lies = *(liar ? pair.second : pair.first), &honest = *(liar ? pair.first : pair.second);
      std::thread t([&] { Lie(lies, lie); });
      const Network seen = MeasureLink(honest);
      t.join();
      EXPECT_GE(seen.trip_us, lie.trip_us);
      EXPECT_LE(seen.rate, lie.rate);
      EXPECT_EQ(seen.trip_us == kLongestTrip, lie.trip_us == kLongestTrip);
      EXPECT_EQ(seen.rate == kLowestRate, lie.rate == kLowestRate);
    }
}

// P1 lies, and steers a session to the variant that P0 allows for such a link. No lie leads to a variant that P0 does
// not allow. A variant that does not follow from the reported figures is refused.
TEST(Link, ALiarSteersAmongTheVariantsThatTheOtherSideAllowsAlone) {
  for (const uint32_t allowed : {1u, 3u})
    for (const Network lie : {Network{1, kHighestRate}, Network{kLongestTrip, kLowestRate}})
      for (const uint32_t announced : {0u, 1u}) {
        const bool far = lie.trip_us == kLongestTrip && allowed == 3;
        TwoWorld w;
        auto session = [&] {
          w.Session(w.Allowing(allowed), [&](net::Channel& ch) {
            SendHello(ch, w.plan);
            RecvHello(ch, w.plan);
            (void)RecvWelcome(ch);
            SendLaneRequest(ch, {true, 3, store::kLane, {}});
            if (allowed == 3) Lie(ch, lie);
            Writer announce;
            const store::Job job = store::JobOf(4, announced);
            store::Put(announce, job);
            announce.Raw(w.plan.task(job).trace);
            announce.Put(uint8_t{0});
            ch.Send(net::kAnnounce, announce.bytes());
            (void)ch.RecvExact(net::kChoice, 8);
          });
        };
        const std::string which = Str("allowed ", allowed, ", trip ", lie.trip_us, ", announced ", announced);
        if (announced == uint32_t(far))
          EXPECT_NO_THROW(session()) << which;
        else
          EXPECT_TRUE(Fails(Cause::kRefused, "the model owner allows none of the plan's variants", session)) << which;
        EXPECT_TRUE(w.dealt.empty()) << which;
        EXPECT_TRUE(w.lane[0]->ledger().LastRecords().empty()) << which;
      }
}

TEST(Link, TheLongerTripAndTheLowerRateChoose) {
  const BundlePlan plan = Two();
  EXPECT_EQ(JobFor(plan, {3, Network{1'000, 9'000}}, 4), store::JobOf(4, 0));
  EXPECT_EQ(JobFor(plan, {3, Network{2'000'000, 9'000}}, 4), store::JobOf(4, 1));
  EXPECT_EQ(JobFor(plan, {3, Network{500'000, 9'000}}, 8), store::JobOf(8, 0));  // the length matters
  EXPECT_EQ(JobFor(plan, {2, {}}, 4), store::JobOf(4, 1));
  EXPECT_EQ(JobFor(plan, {1, {}}, 4), store::JobOf(4, 0));
}

// If one variant is common, it is taken and nothing is measured. If both variants are, the link decides.
TEST(Variants, ASessionTakesWhatBothAllow) {
  for (uint32_t p0 : {1u, 2u, 3u})
    for (uint32_t p1 : {1u, 2u, 3u, ~0u}) {
      TwoWorld w;
      const uint32_t common = p0 & p1;
      bool ran = false;
      auto session = [&] {
        w.Session(w.Allowing(p0), [&](net::Channel& ch) {
          DataSession s(ch, w.plan, w.lane[1], w.Dial(), {}, p1);
          const store::Job job = s.JobOf(4);
          EXPECT_EQ(s.link().has_value(), common == 3);
          EXPECT_TRUE(common >> job.variant & 1);
          EXPECT_EQ(job.variant, common == 2);  // a link in memory is fast
          s.Infer(job, TestRun);
          EXPECT_EQ(w.lane[1]->ledger().LastRecords().size(), 1u);
          s.End();
          ran = true;
        });
      };
      if (common) {
        session();
        EXPECT_TRUE(ran);
        EXPECT_EQ(w.model_error, nullptr);
        continue;
      }
      EXPECT_TRUE(Fails(Cause::kRefused,
                        p0 == 1 ? "allows other variants of the plan (near) than we do (far)"
                                : "allows other variants of the plan (far) than we do (near)",
                        session));
      EXPECT_TRUE(w.ModelFails(Cause::kRefused, "the data owner allows none of the plan's variants that we allow"));
      EXPECT_TRUE(w.dealt.empty());
      EXPECT_TRUE(w.lane[1]->ledger().LastRecords().empty());
    }
}

TEST(Variants, ADataOwnerThatAllowsNoneIsRefused) {
  TwoWorld w;
  w.Session(w.Allowing(1), [&](net::Channel& ch) {
    SendHello(ch, w.plan);
    RecvHello(ch, w.plan);
    (void)RecvWelcome(ch);
    SendLaneRequest(ch, {true, 2, store::kLane, {}});
    EXPECT_TRUE(Fails(Cause::kRefused, "the model owner allows none of the plan's variants that we allow",
                      [&] { ch.RecvExact(net::kChunk, 8); }));
  });
  EXPECT_TRUE(
      w.ModelFails(Cause::kRefused, "the data owner allows other variants of the plan (far) than we do (near)"));
}

// The plan has the announced variant, but this session does not.
TEST(Variants, AnotherOneThanTheSessionsIsRefused) {
  TwoWorld w;
  w.Session(w.Allowing(1), [&](net::Channel& ch) {
    SendHello(ch, w.plan);
    RecvHello(ch, w.plan);
    (void)RecvWelcome(ch);
    SendLaneRequest(ch, {true, 3, store::kLane, {}});
    Writer announce;
    store::Put(announce, store::JobOf(4, 1));
    announce.Raw(w.plan.task(store::JobOf(4, 1)).trace);
    announce.Put(uint8_t{0});
    ch.Send(net::kAnnounce, announce.bytes());
    EXPECT_TRUE(Fails(Cause::kRefused, "the model owner allows none of the plan's variants",
                      [&] { ch.RecvExact(net::kChoice, 8); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "announced variant 1 of the plan where both agreed on 0"));
  EXPECT_TRUE(w.dealt.empty());
}

// A bundle in both stores for one variant is not used for the other.
TEST(Variants, BundlesOfAnotherVariantAreNotTaken) {
  TwoWorld w(2);  // the dealer deals two bundles of variant near at once
  std::vector<uint64_t> serials;
  auto run = [&](uint32_t variants) {
    w.Session(w.Allowing(variants), [&](net::Channel& ch) {
      DataSession s(ch, w.plan, w.lane[1], w.Dial(), w.keys);
      s.Infer(s.JobOf(4), [&](Inference& inf) {
        EXPECT_EQ(inf.header().job, store::JobOf(4, variants == 2));
        serials.push_back(inf.header().serial);
        TestRun(inf);
      });
      s.End();
    });
    EXPECT_EQ(w.model_error, nullptr);
  };
  run(1);
  run(1);
  EXPECT_EQ(w.dealt.size(), 2u) << "the second one was taken from the stores";
  run(1);
  EXPECT_EQ(w.dealt.size(), 4u);
  run(2);
  EXPECT_EQ(w.dealt.size(), 5u) << "one of near lay in both stores";
  EXPECT_EQ(serials, (std::vector<uint64_t>{1, 2, 3, 5}));
}

}  // namespace
}  // namespace suf::proto
