// Turns of P0's sessions that run side by side. Some wait, some go on, some are refused.
#include <gmock/gmock.h>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using store::JobOf;
const net::Identity kSecondOwner{Role::kData, Hash{14}};

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
  Admission* memory = nullptr;  // of P1's sessions
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
        DataSession s(*ch, w.plan, home.Open({}, store::LaneId{lane}), dial, keys, ~0u, {}, w.memory);
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

// P1 has memory for one job of 4 tokens.
struct NarrowWorld : TurnWorld {
  explicit NarrowWorld(Turns::Limits at_p0 = {.at_once = 4}) : TurnWorld(at_p0) {
    plan.needs = [](const store::Job& job, uint64_t) { return uint64_t{100} * job.tokens; };
    memory = &narrow;
  }
  Admission narrow{{.at_once = 64, .memory = 400}};
};

// A session of P1 without memory announces nothing, although P0 has a place for it.
TEST(SessionTurns, ASessionAnnouncesWhenP1HasMemoryForIt) {
  NarrowWorld w;
  TurnEvent runs, go, waits;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go));
    s.End();
  });
  runs.Wait();
  TurnSession second(w, kId[1], *w.home[1], 2, [&](DataSession& s) {
    const auto poll = [&] {
      waits.Set();
      return false;
    };
    EXPECT_TRUE(s.Admit(JobOf(2), poll));
    EXPECT_TRUE(s.stays());
    s.Infer(JobOf(2), TestRun, JobOf(2));
    EXPECT_FALSE(s.stays());
    EXPECT_TRUE(s.Admit(JobOf(2))) << "it was admitted during the job before";
    s.Infer(JobOf(2), TestRun);
    s.End();
  });
  waits.Wait();
  EXPECT_TRUE(w.Dealt(1));
  {
    const std::lock_guard l(w.m);
    EXPECT_EQ(w.dealt.size(), 1u) << "nothing is fetched before the memory is free";
  }
  go.Set();
  first.Join();
  second.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_TRUE(second.waited.empty()) << "it waited at P1, not for a turn of P0";
  EXPECT_EQ(w.dealt, (std::vector<uint64_t>{1, 2, 3}));
}

TEST(SessionTurns, ASessionMayLeaveWhileItWaitsForMemory) {
  NarrowWorld w;
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go));
    s.End();
  });
  runs.Wait();
  TurnSession second(w, kId[1], *w.home[1], 2, [&](DataSession& s) {
    EXPECT_FALSE(s.Admit(JobOf(1), [] { return true; }));
    s.GiveUp();
  });
  second.Join();
  w.idle = net::Millis{1};  // P0 ends the next one while it waits
  TurnSession third(w, kId[1], *w.home[1], 3, [&](DataSession& s) {
    EXPECT_TRUE(Fails(Cause::kPeer, "because nothing was requested for long", [&] { s.Infer(JobOf(1), TestRun); }));
    EXPECT_TRUE(s.stays());
  });
  third.Join();
  go.Set();
  first.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_EQ(w.dealt.size(), 1u);
}

TEST(SessionTurns, AJobThatNeverFitsAtP1EndsItsSessionBeforeAnythingIsSpent) {
  NarrowWorld w;
  TurnSession alone(w, kId[1], *w.home[1], 1, [](DataSession& s) {
    s.Infer(JobOf(4), TestRun, JobOf(5));
    s.Infer(JobOf(5), TestRun);
  });
  alone.Join();
  EXPECT_TRUE(alone.Ended(1, Cause::kResource, "needs 500 bytes of memory, and 400 bytes are allowed for all"));
  EXPECT_TRUE(alone.Ended(0, Cause::kResource, "the data owner has too little memory for our number of tokens"));
  EXPECT_EQ(w.dealt.size(), 1u);
}

// P0 has one place, and P1 memory for one or two jobs. No session waits for memory while it holds a turn.
TEST(SessionTurns, SessionsThatWaitAtBothPartiesEnd) {
  NarrowWorld w({.at_once = 1});
  const auto use = [](DataSession& s) {
    const std::vector<uint32_t> lengths{4, 3, 3, 2, 4};
    for (size_t i = 0; i < lengths.size(); ++i)
      s.Infer(JobOf(lengths[i]), TestRun, JobOf(i + 1 < lengths.size() ? lengths[i + 1] : 0));
    s.End();
  };
  TurnSession first(w, kId[1], *w.home[1], 1, use), second(w, kId[1], *w.home[1], 2, use);
  TurnSession third(w, kId[1], *w.home[1], 3, use);
  for (TurnSession* s : {&first, &second, &third}) {
    s->Join();
    EXPECT_TRUE(s->well());
  }
  EXPECT_EQ(w.dealt.size(), 15u);
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

// Audits of all sessions share one limit, so the second session waits.
TEST(SessionTurns, AuditsOfAllSessionsShareTheirMemory) {
  TurnWorld w({.at_once = 4, .whole = 2 * kWholeAtOnce * kBody0 - 1});
  w.keys.whole = true;
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go));
    s.End();
  });
  runs.Wait();
  TurnSession second(
      w, kSecondOwner, w.theirs, 9,
      [&](DataSession& s) {
        s.Audit(JobOf(4));
        go.Set();
        s.End();
      },
      [&](const Turns::Wait&) { go.Set(); });
  first.Join();
  second.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_EQ(second.waited.size(), 1u);
  TurnWorld small({.at_once = 4, .whole = kWholeAtOnce * kBody0 - 1});
  small.keys.whole = true;
  TurnSession third(small, kId[1], *small.home[1], 1, OneText);
  third.Join();
  EXPECT_TRUE(third.Ended(1, Cause::kResource, "allows less memory for audits than our bundles take"));
  EXPECT_TRUE(third.Ended(0, Cause::kResource, "2 whole bundles of keys take"));
}

// A waiting session takes neither the time of a trace nor its memory.
TEST(SessionTurns, TheTraceIsMadeWhenTheTurnHasCome) {
  TurnWorld w({.at_once = 1});
  std::atomic<int> made{0};
  w.own.task = [&](const store::Job& job) {
    made += job.tokens == 3;
    return w.plan.task(job);
  };
  TurnEvent runs, go;
  TurnSession first(w, kId[1], *w.home[1], 1, [&](DataSession& s) {
    s.Infer(JobOf(4), Held(runs, go));
    s.End();
  });
  runs.Wait();
  int made_before = -1;
  TurnSession second(
      w, kSecondOwner, w.theirs, 9,
      [](DataSession& s) {
        s.Infer(JobOf(3), TestRun);
        s.End();
      },
      [&](const Turns::Wait&) {
        made_before = made;
        go.Set();
      });
  first.Join();
  second.Join();
  EXPECT_TRUE(first.well() && second.well());
  EXPECT_EQ(made_before, 0);
  EXPECT_GT(made, 0);
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

}  // namespace
}  // namespace suf::proto
