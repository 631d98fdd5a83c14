// Turns of sessions that run side by side. Some wait, some go on, some are refused, at P0 and at the dealer.
#include <gmock/gmock.h>

#include <future>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using store::JobOf;
const net::Identity kSecondOwner{Role::kData, Hash{14}};
constexpr Turns::Wait kUnknown{1, 1024};  // next, before any inference has ended

// An event that several threads wait for.
class TurnEvent {
 public:
  void Set() {
    if (!set_.exchange(true)) promise_.set_value();
  }
  void Wait() const { EXPECT_EQ(future_.wait_for(std::chrono::seconds(60)), std::future_status::ready); }

 private:
  std::atomic<bool> set_{false};
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

// A world in which sessions run side by side. P0 has a plan of its own, and a second data owner a store.
struct TurnWorld : World {
  explicit TurnWorld(Turns::Limits limits, Generate generate_ = TestGenerate)
      : World(1, net::Millis{20'000}, std::move(generate_)), own(plan), table(limits), theirs(dir / "theirs") {}
  ModelHost HostOf() {
    ModelHost host = Host(own);
    host.sessions = &table;
    host.idle = idle;
    return host;
  }
  BundlePlan own;
  SessionTable table;
  net::Millis idle{600'000};
  store::Home theirs;
};

// A session in two threads of its own. No two data owners have lanes of one number, as no two have lanes of one id.
struct TurnSession {
  TurnSession(TurnWorld& w, const net::Identity& owner, store::Home& home, uint8_t lane,
              std::function<void(DataSession&)> use, std::function<void(const Turns::Wait&)> waits = {})
      : host(w.HostOf()) {
    auto pair = net::InProcessPair(kId[0], owner, w.timeout);
    model = std::thread([this, ch = std::move(pair.first)]() mutable {
      Keep(0, [&] { ServeSession(*ch, host); });
      ch.reset();
      over.Set();
    });
    data = std::thread([this, &w, &home, owner, lane, ch = std::move(pair.second), use, waits]() mutable {
      KeyPolicy keys = w.keys;
      keys.waits = [&](const Turns::Wait& wait) {
        waited.push_back(wait);
        if (waits) waits(wait);
      };
      const DialDealer dial = [&](std::stop_token stop) { return w.Link(owner, std::move(stop)); };
      Keep(1, [&] {
        DataSession s(*ch, w.plan, home.Open({}, store::LaneId{lane}), dial, keys);
        use(s);
      });
      ch.reset();
    });
  }
  ~TurnSession() { Join(); }
  void Join() {
    for (std::thread* t : {&model, &data})
      if (t->joinable()) t->join();
  }
  void Keep(int p, const std::function<void()>& f) {
    try {
      f();
    } catch (const Error&) {
      error[p] = std::current_exception();
    }
  }
  testing::AssertionResult Ended(int p, Cause cause, const std::string& words) {
    return Fails(cause, words, [&] {
      if (error[p]) std::rethrow_exception(error[p]);
    });
  }
  bool well() const { return !error[0] && !error[1]; }
  const ModelHost host;
  std::exception_ptr error[2];
  std::vector<Turns::Wait> waited;
  TurnEvent over;  // P0's side has ended
  std::thread model, data;
};

void OneText(DataSession& s) {
  s.Infer(JobOf(4), TestRun);
  s.End();
}

// Returns a run of P1 that reports itself and waits.
RunHook Held(TurnEvent& runs, const TurnEvent& go) {
  return [&](Inference& inference) {
    runs.Set();
    go.Wait();
    TestRun(inference);
  };
}

TEST(SessionTurns, ASessionWaitsUntilTheRunOfAnotherEnds) {
  TurnWorld w({.at_once = 1});
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go));
    s.End();
  });
  runs.Wait();
  size_t dealt_before = 0;
  const auto waits = [&](const Turns::Wait&) {
    dealt_before = w.dealt.size();
    go.Set();
  };
  TurnSession second(w, kSecondOwner, w.theirs, 9, OneText, waits);
  first.Join();
  second.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_TRUE(first.waited.empty());
  EXPECT_THAT(second.waited, testing::ElementsAre(kUnknown));
  EXPECT_EQ(dealt_before, 1u) << "nothing is fetched before the turn";
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2}));
}

// Two places: nobody waits.
TEST(SessionTurns, TwoRunSideBySide) {
  TurnWorld w({.at_once = 2});
  TurnEvent one, two;
  const auto use = [&](TurnEvent& mine, TurnEvent& other) {
    return [&](DataSession& s) {
      s.Infer(JobOf(4), Held(mine, other));
      s.End();
    };
  };
  TurnSession first(w, kId[1], *w.home[1], 1, use(one, two)), second(w, kId[1], *w.home[1], 2, use(two, one));
  first.Join();
  second.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_TRUE(first.waited.empty() && second.waited.empty());
}

// P0 answers "later" to the next text of a lane that announces it while another lane waits. That one runs in between.
TEST(SessionTurns, TheNextTextOfALaneComesAfterAnotherLaneThatWaits) {
  for (bool other_owner : {false, true}) {
    TurnEvent waits, comes;
    TurnWorld w({.at_once = 1}, [&](const DealJob& job, store::Sink& a, store::Sink& b) {
      comes.Set();
      waits.Wait();  // the first bundle arrives when the second session waits
      TestGenerate(job, a, b);
    });
    w.keys.whole = true;  // so that the next text is announced behind its arrival
    std::mutex m;
    std::vector<int> order;
    const auto run = [&](int who) {
      return [&, who](Inference& inference) {
        {
          const std::lock_guard l(m);
          order.push_back(who);
        }
        TestRun(inference);
      };
    };
    TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
      s.Infer(JobOf(4), run(1), JobOf(4));
      s.Infer(JobOf(4), run(1), JobOf(3));
      s.Infer(JobOf(3), run(1));
      s.End();
    });
    comes.Wait();
    TurnSession second(
        w, other_owner ? kSecondOwner : kId[1], other_owner ? w.theirs : *w.home[1], 2,
        [&](DataSession& s) {
          s.Infer(JobOf(4), run(2));
          s.End();
        },
        [&](const Turns::Wait&) { waits.Set(); });
    first.Join();
    second.Join();
    EXPECT_TRUE(first.well() && second.well());
    EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 1}));
    EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3, 4}));
  }
}

TEST(SessionTurns, WhoWaitsWhenP0StopsIsRefusedAndARunningSessionGoesOn) {
  TurnWorld w({.at_once = 1});
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go), JobOf(3));
    s.Infer(JobOf(3), TestRun, JobOf(2));  // announced after the stop
    s.Infer(JobOf(2), TestRun);
    s.End();
  });
  runs.Wait();
  const auto use = [](DataSession& s) { s.Infer(JobOf(4), TestRun); };
  TurnSession second(w, kSecondOwner, w.theirs, 9, use,
                     [&](const Turns::Wait&) { w.table.admission().turns().Close(); });
  second.Join();
  TurnSession third(w, kSecondOwner, w.theirs, 10, use);
  third.Join();
  go.Set();
  first.Join();
  EXPECT_TRUE(first.well());
  for (TurnSession* refused : {&second, &third}) {
    EXPECT_TRUE(refused->Ended(1, Cause::kPeer, "the model owner is stopping and takes nothing new"));
    EXPECT_TRUE(refused->Ended(0, Cause::kPeer, "waited for its turn when we stopped; nothing was spent on its text"));
  }
  EXPECT_EQ(w.dealt.size(), 3u);
}

// A client that leaves while it waits leaves the line.
TEST(SessionTurns, WhoLeavesWhileItWaitsIsForgotten) {
  TurnWorld w({.at_once = 1});
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go));
    s.End();
  });
  runs.Wait();
  TurnSession second(
      w, kSecondOwner, w.theirs, 9, [](DataSession& s) { s.Infer(JobOf(4), TestRun); },
      [](const Turns::Wait&) { Fail(Cause::kInput, "enough"); });
  second.Join();
  EXPECT_TRUE(second.Ended(1, Cause::kInput, "enough"));
  EXPECT_TRUE(second.Ended(0, Cause::kPeer, "the data owner ended the session for a reason of its own"));
  go.Set();
  first.Join();
  EXPECT_TRUE(first.well());
  EXPECT_EQ(w.dealt.size(), 1u);
}

// --- memory ---

TEST(SessionTurns, MemoryLimitsWhatRunsSideBySide) {
  TurnWorld w({.at_once = 4, .memory = 700});
  w.own.needs = [](const store::Job& job, uint64_t window) {
    EXPECT_EQ(window, store::kKeyWindow);
    return uint64_t{100} * job.tokens;
  };
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go), JobOf(8));  // the next one is too large for the machine
    s.Infer(JobOf(8), TestRun);
  });
  runs.Wait();
  TurnSession second(w, kId[1], *w.home[1], 2, OneText, [&](const Turns::Wait&) { go.Set(); });
  first.Join();
  second.Join();
  EXPECT_TRUE(second.well());
  EXPECT_EQ(second.waited.size(), 1u);
  EXPECT_TRUE(first.Ended(1, Cause::kResource, "the model owner has too little memory for our number of tokens"));
  EXPECT_TRUE(
      first.Ended(0, Cause::kResource, "needs 800 bytes of memory, and 700 bytes are allowed for all inferences"));
  EXPECT_EQ(w.dealt.size(), 2u);
}

// The backend of P0 has memory for one job. Others have their turn, but wait until it is free.
TEST(SessionTurns, AJobWaitsForTheMemoryThatAnotherHolds) {
  TurnWorld w({.at_once = 4});
  std::atomic<int> held{0};
  w.own.reserve = [&](const store::Job& job) {
    if (job.tokens > 4) Fail(Cause::kResource, "memory for 4 and not for ", job.tokens);
    if (held.exchange(1)) Fail(Cause::kResource, "no memory is free");
    return std::shared_ptr<void>(nullptr, [&](void*) { held = 0; });
  };
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go), JobOf(3));  // another length, so it fits after this one only
    s.Infer(JobOf(3), TestRun, JobOf(3));
    s.Infer(JobOf(3), TestRun, JobOf(5));
    s.Infer(JobOf(5), TestRun);
  });
  runs.Wait();
  TurnSession second(w, kId[1], *w.home[1], 2, OneText, [&](const Turns::Wait&) { go.Set(); });
  second.Join();
  first.Join();
  EXPECT_TRUE(second.well());
  ASSERT_FALSE(second.waited.empty());
  EXPECT_EQ(second.waited.front(), Turns::kNext);
  EXPECT_TRUE(first.Ended(0, Cause::kResource, "memory for 4 and not for 5"));
  EXPECT_TRUE(first.Ended(1, Cause::kResource, "the model owner has too little memory for our number of tokens"));
  EXPECT_EQ(w.dealt.size(), 4u);
  EXPECT_EQ(held, 0);
}

// A lane whose equal texts share their memory gives way to a job that waits for it.
TEST(SessionTurns, AStreamOfEqualTextsFreesItsMemoryForAJobThatWaits) {
  TurnWorld w({.at_once = 4});
  std::atomic<int> held{0};
  w.own.reserve = [&](const store::Job&) {
    if (held.exchange(1)) Fail(Cause::kResource, "no memory is free");
    return std::shared_ptr<void>(nullptr, [&](void*) { held = 0; });
  };
  TurnEvent runs, go;
  std::mutex m;
  std::vector<int> order;
  const auto note = [&](int who) {
    const std::lock_guard l(m);
    order.push_back(who);
  };
  const auto run = [&](int who) {
    return [&, who](Inference& inference) {
      note(who);
      TestRun(inference);
    };
  };
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    note(1);
    s.Infer(JobOf(4), Held(runs, go), JobOf(4));
    for (int i = 0; i < 3; ++i) s.Infer(JobOf(4), run(1), JobOf(i < 2 ? 4 : 0));
    s.End();
  });
  runs.Wait();
  TurnSession second(
      w, kSecondOwner, w.theirs, 9,
      [&](DataSession& s) {
        s.Infer(JobOf(4), run(2));
        s.End();
      },
      [&](const Turns::Wait&) { go.Set(); });
  first.Join();
  second.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_EQ(order, (std::vector<int>{1, 1, 2, 1, 1}));
}

// --- sessions that stay ---

TEST(SessionTurns, ASessionStaysWithoutATurnAndGoesOn) {
  TurnWorld w({.at_once = 1});
  TurnEvent stays, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Stay();  // before any text
    s.Infer(JobOf(4), TestRun);
    s.Stay();
    s.Stay();  // once is enough
    stays.Set();
    go.Wait();
    s.Infer(JobOf(3), TestRun);
    s.Stay();
    s.End();
  });
  stays.Wait();
  TurnSession second(w, kSecondOwner, w.theirs, 9, OneText);
  second.Join();
  go.Set();
  first.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_TRUE(second.waited.empty());
}

TEST(SessionTurns, ASessionThatStaysTooLongIsEnded) {
  TurnWorld w({.at_once = 1});
  w.idle = net::Millis{20};
  TurnSession* self = nullptr;
  TurnEvent made;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    made.Wait();
    s.Infer(JobOf(4), TestRun);
    s.Stay();
    self->over.Wait();
    s.Infer(JobOf(4), TestRun);
  });
  self = &first;
  made.Set();
  first.Join();
  EXPECT_TRUE(first.Ended(0, Cause::kPeer, "the data owner was silent for 0.02 s"));
  EXPECT_TRUE(first.Ended(1, Cause::kPeer, "ended our session because nothing was requested for long"));
  EXPECT_EQ(w.dealt.size(), 1u);
}

// A newer session takes the lane of one that stays. P1's machine may have been cut off.
TEST(SessionTurns, ANewerSessionTakesTheLaneOfOneThatStays) {
  TurnWorld w({.at_once = 1});
  store::Home elsewhere(w.dir / "elsewhere");
  TurnEvent stays, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), TestRun);
    s.Stay();
    stays.Set();
    go.Wait();
    s.Infer(JobOf(4), TestRun);
  });
  stays.Wait();
  TurnSession second(w, kId[1], elsewhere, 1, OneText);
  second.Join();
  go.Set();
  first.Join();
  EXPECT_TRUE(second.well());
  EXPECT_TRUE(first.Ended(0, Cause::kPeer, "our side ended the session with the data owner early"));
  EXPECT_TRUE(first.Ended(1, Cause::kPeer, "ended the connection"));
  EXPECT_EQ(w.dealt.size(), 2u);
}

// After a failed audit P0 ends all sessions of that data owner, and no other.
TEST(SessionTurns, AFailedAuditEndsTheSessionsOfItsDataOwner) {
  TurnWorld w({.at_once = 4});
  TurnEvent stay[2], go;
  const auto use = [&](TurnEvent& stays) {
    return [&](DataSession& s) {
      s.Infer(JobOf(4), TestRun);
      s.Stay();
      stays.Set();
      go.Wait();
      s.Infer(JobOf(4), TestRun);
      s.End();
    };
  };
  TurnSession mine(w, kId[1], *w.home[1], 1, use(stay[0])), other(w, kSecondOwner, w.theirs, 9, use(stay[1]));
  for (TurnEvent& s : stay) s.Wait();
  w.keys.whole = true;
  ModelHost host = w.HostOf();
  host.auditor.generate = [](DealJob j, store::Sink& a, store::Sink& b) {
    j.key[0] = Secret();
    TestGenerate(j, a, b);
  };
  auto pair = net::InProcessPair(kId[0], kId[1], w.timeout);
  std::thread model([&] {
    EXPECT_TRUE(Fails(Cause::kRefused, "the audit of bundle 3 failed", [&] { ServeSession(*pair.first, host); }));
  });
  EXPECT_TRUE(Fails(Cause::kRefused, "finds that it was dealt wrongly", [&] {
    DataSession s(*pair.second, w.plan, w.lane[1], w.Dial(), w.keys);
    s.Audit(JobOf(4));
  }));
  model.join();
  go.Set();
  mine.Join();
  other.Join();
  EXPECT_TRUE(other.well());
  EXPECT_TRUE(mine.Ended(0, Cause::kPeer, "our side ended the session with the data owner early"));
  EXPECT_TRUE(mine.Ended(1, Cause::kPeer, "ended the connection"));
}

// --- the dealer's turns ---

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

// Sends P1's hello and its request for a lane by hand.
void AskFor(World& w, net::Channel& ch, uint8_t lane) {
  SendHello(ch, w.plan);
  RecvHello(ch, w.plan);
  Writer q;
  store::Put(q, JobOf(4));
  q.Put(uint32_t{1});
  q.Raw(store::LaneId{lane});
  q.Raw(w.plan.task(JobOf(4)).trace);
  q.Raw(Hash{77});
  q.Raw(kId[0].key);
  q.Raw(Hash{});
  q.Raw(Hash{});
  ch.Send(net::kRequest, q.bytes());
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
  World w(1, net::Millis{20'000}, [&](const DealJob& job, store::Sink& a, store::Sink& b) {
    comes.Set();
    go.Wait();
    TestGenerate(job, a, b);
  });
  w.MakeDealer({.at_once = 1});
  auto half = w.Link(Role::kData);  // its partner does not come
  AskFor(w, *half, 3);
  LaneFetch one(w, 1);
  comes.Wait();
  auto data = w.Link(Role::kData);
  AskFor(w, *data, 2);
  const auto lane = w.home[0]->Open(kId[1].key, store::LaneId{2});
  std::thread model([&] { (void)Fetch(*w.Link(Role::kModel), w.plan, *lane, ArgsOf(0)); });
  EXPECT_EQ(ReadWait(data->RecvExact(net::kWait, kWaitBytes)), kUnknown);
  EXPECT_TRUE(w.dealt.empty());
  go.Set();
  (void)data->RecvExact(net::kGrant, sizeof(uint32_t));
  (void)data->RecvExact(net::kHeader, store::kHeaderBytes);
  (void)data->Recv(net::kChunk, 1 << 20);
  data->Send(net::kEnd, {});
  (void)data->RecvExact(net::kEnd, sizeof(uint64_t));
  model.join();
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
  World w(3, net::Millis{20'000}, [&](const DealJob& job, store::Sink& a, store::Sink& b) {
    comes.Set();
    go.Wait();
    TestGenerate(job, a, b);
  });
  w.MakeDealer({.at_once = 1});
  LaneFetch many(w, 1, 3);
  comes.Wait();
  auto data = w.Link(Role::kData);
  AskFor(w, *data, 2);
  const auto lane = w.home[0]->Open(kId[1].key, store::LaneId{2});
  std::thread model(
      [&] { EXPECT_EQ(Fetch(*w.Link(Role::kModel), w.plan, *lane, ArgsOf(0)).serials, (std::vector<uint64_t>{4})); });
  (void)data->RecvExact(net::kWait, kWaitBytes);
  go.Set();
  (void)data->RecvExact(net::kGrant, sizeof(uint32_t));
  (void)data->RecvExact(net::kHeader, store::kHeaderBytes);
  (void)data->Recv(net::kChunk, 1 << 20);
  data->Send(net::kEnd, {});
  (void)data->RecvExact(net::kEnd, sizeof(uint64_t));
  model.join();
  many.Join();
  EXPECT_EQ(many.serials[0], (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(many.serials[1], (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 4, 2, 3}));
}

TEST(DealerTurns, WhoWaitsWhenTheDealerStopsIsRefusedAndADeliveryGoesOn) {
  TurnEvent comes, go;
  World w(3, net::Millis{20'000}, [&](const DealJob& job, store::Sink& a, store::Sink& b) {
    comes.Set();
    go.Wait();
    TestGenerate(job, a, b);
  });
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

}  // namespace
}  // namespace suf::proto
