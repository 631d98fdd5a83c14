// Turns of the dealer: pairs that wait for each other, for their turn, or for memory that slow readers hold.
#include <gmock/gmock.h>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using store::JobOf;

FetchArgs ArgsOf(int p, uint32_t count = 1) {
  return {.job = JobOf(4),
          .count = count,
          .weights = Hash{77},
          .partner = kId[1 - p].key,
          .b_seed = Share(Secret(Hash{5}))};
}

// A fetch of both parties in a lane, in two threads.
struct LaneFetch {
  LaneFetch(World& w, uint8_t lane, uint32_t count = 1)
      : lanes{w.home[0]->Open(kId[1].key, store::LaneId{lane}), w.home[1]->Open({}, store::LaneId{lane})} {
    for (int p : {0, 1})
      threads[p] = std::thread([this, &w, p, count] {
        try {
          serials[p] = Fetch(*w.Link(kId[p]), w.plan, *lanes[p], ArgsOf(p, count)).serials;
        } catch (const Error&) {
          error[p] = std::current_exception();
        }
      });
  }
  ~LaneFetch() { Join(); }
  void Join() {
    for (std::thread& t : threads)
      if (t.joinable()) t.join();
  }
  testing::AssertionResult Ended(int p, Cause cause, const std::string& words) {
    return Fails(cause, words, [&] {
      if (error[p]) std::rethrow_exception(error[p]);
    });
  }
  const std::shared_ptr<store::Lane> lanes[2];
  std::vector<uint64_t> serials[2];
  std::exception_ptr error[2];
  std::thread threads[2];
};

// Each deal reports that it comes, and goes on when it may.
Generate HeldDeals(TurnEvent& comes, TurnEvent& go) {
  return [&](const DealJob& job, store::Sink& a, store::Sink& b) {
    comes.Set();
    go.Wait();
    TestGenerate(job, a, b);
  };
}

// Sends a party's hello and its request for a lane by hand.
void AskFor(World& w, net::Channel& ch, uint8_t lane, uint32_t count = 1) {
  SendHello(ch, w.plan);
  RecvHello(ch, w.plan);
  Writer q;
  store::Put(q, JobOf(4));
  q.Put(count);
  q.Raw(store::LaneId{lane});
  q.Raw(w.plan.task(JobOf(4)).trace);
  q.Raw(Hash{77});
  q.Raw(kId[1 - PartyOf(ch.self().role)].key);
  q.Raw(Hash{});                              // no list
  q.Put(uint32_t{0});                         // of no segment
  for (int i = 0; i < 3; ++i) q.Raw(Hash{});  // seeds
  ch.Send(net::kRequest, q.bytes());
}

// Receives a bundle of P1 by hand, and ends its link.
void TakeBundle(net::Channel& ch) {
  (void)ch.RecvExact(net::kGrant, sizeof(uint32_t));
  (void)ch.RecvExact(net::kHeader, store::kHeaderBytes);
  (void)ch.Recv(net::kChunk, 1 << 20);
  ch.Send(net::kEnd, {});
  (void)ch.RecvExact(net::kEnd, sizeof(uint64_t));
}

// A pair in a lane whose P1 acts by hand. P0 fetches in a thread.
struct PairByHand {
  explicit PairByHand(World& w, uint8_t lane = 2)
      : data(w.Link(Role::kData)), kept(w.home[0]->Open(kId[1].key, store::LaneId{lane})) {
    AskFor(w, *data, lane);
    model = std::thread([this, &w] { serials = Fetch(*w.Link(Role::kModel), w.plan, *kept, ArgsOf(0)).serials; });
  }
  // Takes the bundle of P1, and waits until P0 has its own.
  void Take() {
    TakeBundle(*data);
    model.join();
  }
  const std::unique_ptr<net::Channel> data;
  const std::shared_ptr<store::Lane> kept;
  std::vector<uint64_t> serials;  // of P0
  std::thread model;
};

// The dealer's end of a link to a party that takes no chunk until an event. With `fails` it then turns out to be gone.
class SlowReader final : public net::Channel {
 public:
  SlowReader(std::unique_ptr<net::Channel> ch, const TurnEvent& go, bool fails = false)
      : Channel(ch->self(), ch->peer(), ch->exporter(), ch->timeout()),
        owned_(std::move(ch)),
        wrapped_{*owned_},
        go_(go),
        fails_(fails) {}
  bool PeerGone(size_t due) override { return owned_->PeerGone(due); }
  void HangUp() noexcept override { owned_->HangUp(); }

 protected:
  void Put(View header, View payload) override {
    if (Reader(header.subspan(4), "a header").Get<uint16_t>() == net::kChunk) {
      go_.Wait();
      if (fails_) Fail(Cause::kPeer, "it takes nothing");
    }
    wrapped_.Put(header, payload);
  }
  ReceivedFrame Take(size_t limit) override { return wrapped_.Take(limit); }
  void Linger() noexcept override { wrapped_.Linger(); }

 private:
  const std::unique_ptr<net::Channel> owned_;
  WrappedChannel wrapped_;
  const TurnEvent& go_;
  const bool fails_;
};

// Makes the first link of a role one to a slow reader.
void SlowDown(World& w, Role role, const TurnEvent& go, bool fails = false) {
  w.wrap = [&go, role, fails, first = true](std::unique_ptr<net::Channel> ch) mutable -> std::unique_ptr<net::Channel> {
    if (ch->peer().role != role || !std::exchange(first, false)) return ch;
    return std::make_unique<SlowReader>(std::move(ch), go, fails);
  };
}

TEST(DealerTurns, PairsOfTwoLanesAreDealtSideBySide) {
  TurnEvent inside[2];
  std::atomic<int> deals{0};
  World w(1, net::Millis{20'000}, [&](const DealJob& job, store::Sink& a, store::Sink& b) {
    const int mine = deals++;
    inside[mine].Set();
    inside[1 - mine].Wait();
    TestGenerate(job, a, b);
  });
  w.MakeDealer({.at_once = 2});
  LaneFetch one(w, 1), two(w, 2);
  one.Join();
  two.Join();
  for (LaneFetch* f : {&one, &two}) EXPECT_EQ(f->serials[0], f->serials[1]);
  EXPECT_THAT(w.dealt, testing::UnorderedElementsAre(1, 2));
}

TEST(DealerTurns, APairWaitsForItsTurnAndHalfAPairHoldsNone) {
  TurnEvent comes, go;
  World w(1, net::Millis{20'000}, HeldDeals(comes, go));
  w.MakeDealer({.at_once = 1});
  auto half = w.Link(Role::kData);  // its partner does not come
  AskFor(w, *half, 3);
  LaneFetch one(w, 1);
  comes.Wait();
  PairByHand two(w);
  EXPECT_EQ(ReadWait(two.data->RecvExact(net::kWait, kWaitBytes)), kUnknown);
  EXPECT_TRUE(w.dealt.empty());
  go.Set();
  two.Take();
  one.Join();
  half.reset();
  w.Join();
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2}));
  ASSERT_EQ(w.dealer_errors.size(), 1u);
  EXPECT_THAT(w.dealer_errors[0].what(), testing::HasSubstr("hung up before the request of the other party"));
}

// A lane that requests many bundles gives way between two of them.
TEST(DealerTurns, ManyBundlesOfOneLaneLetAnotherLaneIn) {
  TurnEvent comes, go;
  World w(3, net::Millis{20'000}, HeldDeals(comes, go));
  w.MakeDealer({.at_once = 1});
  LaneFetch many(w, 1, 3);
  comes.Wait();
  PairByHand two(w);
  (void)two.data->RecvExact(net::kWait, kWaitBytes);
  go.Set();
  two.Take();
  many.Join();
  EXPECT_EQ(two.serials, (std::vector<uint64_t>{4}));
  EXPECT_EQ(many.serials[0], (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(many.serials[1], (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 4, 2, 3}));
}

TEST(DealerTurns, WhoWaitsWhenTheDealerStopsIsRefusedAndADeliveryGoesOn) {
  TurnEvent comes, go;
  World w(3, net::Millis{20'000}, HeldDeals(comes, go));
  w.MakeDealer({.at_once = 1});
  LaneFetch one(w, 1, 3);
  comes.Wait();
  w.dealer->Stop();
  LaneFetch two(w, 2);
  two.Join();
  for (int p : {0, 1}) EXPECT_TRUE(two.Ended(p, Cause::kPeer, "the dealer is stopping and takes nothing new"));
  go.Set();
  one.Join();
  EXPECT_EQ(one.serials[0], (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_FALSE(one.error[0] || one.error[1]);
  w.Join();
  ASSERT_EQ(w.dealer_errors.size(), 1u);
  EXPECT_THAT(w.dealer_errors[0].what(), testing::HasSubstr("waited for their turn when the dealer stopped"));
}

TEST(DealerTurns, AJobThatNeedsMoreMemoryThanIsAllowedIsRefusedToBoth) {
  BundlePlan plan = TestPlan();
  plan.needs = [](const store::Job&, uint64_t) { return uint64_t{701}; };
  World w(1, net::Millis{20'000}, TestGenerate, plan);
  w.MakeDealer({.at_once = 2, .memory = 700});
  LaneFetch one(w, 1);
  one.Join();
  for (int p : {0, 1}) EXPECT_TRUE(one.Ended(p, Cause::kResource, "the dealer has too little memory"));
  EXPECT_TRUE(w.dealt.empty());
}

// --- slow readers ---

// P0 takes no chunk of a bundle. The turn ends when the bundle is dealt. Its keys are memory until P0 has taken them,
// or until its link is gone.
TEST(DealerTurns, KeysForASlowReaderCountAsMemoryAndTakeNoPlace) {
  enum class Case { kFits, kWaits, kGone };
  for (const Case how : {Case::kFits, Case::kWaits, Case::kGone}) {
    TurnEvent go;
    BundlePlan plan = TestPlan();
    plan.needs = [](const store::Job&, uint64_t) { return uint64_t{kBody0 + kBody1}; };
    World w(1, net::Millis{20'000}, TestGenerate, plan);
    w.MakeDealer({.at_once = 1, .memory = 2 * kBody0 + kBody1 - (how != Case::kFits)});
    SlowDown(w, Role::kModel, go, how == Case::kGone);
    LaneFetch slow(w, 1);
    slow.threads[1].join();  // P1 has its bundle, so the turn has ended
    PairByHand two(w);
    if (how != Case::kFits) {
      EXPECT_EQ(ReadWait(two.data->RecvExact(net::kWait, kWaitBytes)).place, 1u);
      go.Set();
    }
    two.Take();
    go.Set();
    slow.Join();
    EXPECT_EQ(bool(slow.error[0]), how == Case::kGone);
    EXPECT_FALSE(slow.error[1]);
  }
}

// A party that requests its next bundle waits for a partner that still receives its last one.
TEST(DealerTurns, ThePartnerOfASlowReaderReceivesWaits) {
  World w;
  w.wait_report = net::Millis{1};
  w.MakeDealer({.at_once = 1});
  auto data = w.Link(Role::kData);
  AskFor(w, *data, 1);
  const auto lane = w.home[0]->Open(kId[1].key, store::LaneId{1});
  (void)Fetch(*w.Link(Role::kModel), w.plan, *lane, ArgsOf(0));
  auto model = w.Link(Role::kModel);
  AskFor(w, *model, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ReadWait(model->RecvExact(net::kWait, kWaitBytes)), Turns::kNext);
  TakeBundle(*data);
  model.reset();
  w.Join();
  ASSERT_EQ(w.dealer_errors.size(), 1u);
  EXPECT_THAT(w.dealer_errors[0].what(), testing::HasSubstr("hung up before the request of the other party"));
}

// A party that has its bundle waits for the next one until its partner has the first as well.
TEST(DealerTurns, ThePartnerOfASlowReaderReceivesWaitsBetweenTwoBundles) {
  TurnEvent go;
  World w(2);
  w.wait_report = net::Millis{1};
  w.MakeDealer({.at_once = 1});
  SlowDown(w, Role::kData, go);
  const auto lane = w.home[1]->Open({}, store::LaneId{1});
  std::thread data([&] { (void)Fetch(*w.Link(Role::kData), w.plan, *lane, ArgsOf(1, 2)); });
  auto model = w.Link(Role::kModel);
  AskFor(w, *model, 1, 2);
  const store::SharedLayout body = w.plan.task(JobOf(4)).body[0];
  const auto take = [&] {
    for (const auto& chunk : body->chunks()) (void)model->RecvExact(net::kChunk, net::ChunkTags::kBytes + chunk.bytes);
  };
  (void)model->RecvExact(net::kGrant, sizeof(uint32_t));
  (void)model->RecvExact(net::kHeader, store::kHeaderBytes);
  take();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ReadWait(model->RecvExact(net::kWait, kWaitBytes)), Turns::kNext);
  go.Set();
  (void)RecvAfterWaits(*model, {net::kHeader, store::kHeaderBytes});
  take();
  model->Send(net::kEnd, {});
  (void)model->RecvExact(net::kEnd, sizeof(uint64_t));
  data.join();
  w.Join();
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2}));
}

// A pair that waits takes neither the time of a trace nor its memory.
TEST(DealerTurns, TheTraceIsMadeWhenTheTurnHasCome) {
  TurnEvent comes, go;
  std::atomic<int> made{0};
  BundlePlan plan = TestPlan();
  plan.task = [&, task = plan.task](const store::Job& job) {
    ++made;
    return task(job);
  };
  World w(1, net::Millis{20'000}, HeldDeals(comes, go), plan);
  w.MakeDealer({.at_once = 1});
  w.plan = TestPlan();  // of the parties
  LaneFetch one(w, 1);
  comes.Wait();
  PairByHand two(w);
  (void)two.data->RecvExact(net::kWait, kWaitBytes);
  EXPECT_EQ(made, 1);
  go.Set();
  two.Take();
  one.Join();
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace suf::proto
