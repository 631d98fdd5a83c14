// Lanes: a queue of texts over several sessions, on a random model in one process.
#include "suf/roles/lanes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <map>
#include <tuple>

#include "suf/roles/lane_world_test.hpp"

namespace suf::roles {
namespace {

using testing::ElementsAre;

// A gate in P0's hook of a run: the first run waits there.
struct FirstRun {
  std::promise<void> begun, go;
  std::atomic<bool> used{false};
  auto Hook() {
    return [this](const PeerName&, const store::Job&, uint64_t) {
      if (used.exchange(true)) return;
      begun.set_value();
      go.get_future().wait();
    };
  }
};

// Lanes with one session, whose first text is held at P0 while it runs.
struct HeldText {
  explicit HeldText(int n, int batch = 1)
      : lanes([&] {
          Lanes::Options options = w.Options(1);
          options.batch = batch;
          return w.Begin(std::move(options));
        }()) {
    w.Submit(lanes, n);
    first.begun.get_future().wait();
  }
  FirstRun first;
  LaneWorld w{{.runs = first.Hook()}};
  Lanes lanes;
};

TEST(TextLanes, EveryTextHasTheWordsOfTheSimulator) {
  for (int parallel : {1, 3}) {
    LaneWorld w;
    std::atomic<int> opened{0};
    Lanes::Options options = w.Options(parallel);
    options.opened = [&](const DataOwner::Session&) { ++opened; };
    Lanes lanes = w.Begin(std::move(options));
    for (int i = 0; i < 9; ++i) EXPECT_EQ(w.Submit(lanes, 1 + i % 4), uint64_t(i));
    lanes.Wait();
    EXPECT_EQ(w.results.ends.size(), 9u);
    EXPECT_TRUE(w.results.errors.empty());
    w.Submit(lanes, 5);  // after a pause
    lanes.Wait();
    lanes.Close();
    w.AwaitOver(opened);
    EXPECT_EQ(w.ran.size(), 10u);
    EXPECT_GE(opened, 1);
    EXPECT_LE(opened, parallel);
    EXPECT_EQ(opened, w.dialled);
    EXPECT_EQ(w.set_up, 1) << "the masked weights come once";
    EXPECT_EQ(w.home[1].Lanes({}).size(), size_t(opened));
  }
}

TEST(TextLanes, AHigherPriorityRunsFirst) {
  HeldText held(1);
  auto& [first, w, lanes] = held;
  for (auto [n, priority] : {std::pair(2, 0), {3, 5}, {4, -1}, {5, 5}}) w.Submit(lanes, n, priority);
  first.go.set_value();
  lanes.Wait();
  EXPECT_THAT(w.results.ends, ElementsAre(1, 3, 5, 2, 4));
  lanes.Close();
  EXPECT_EQ(w.dialled, 1);
}

TEST(TextLanes, CancelTakesBackWhatHasNotBegun) {
  FirstRun first;
  LaneWorld w({.runs = first.Hook()});
  Lanes::Options options = w.Options(1);
  std::promise<void> submitted;
  options.dial = [&, dial = options.dial, all = submitted.get_future().share()](std::stop_token stop, size_t server) {
    all.wait();
    return dial(stop, server);
  };
  Lanes lanes = w.Begin(std::move(options));
  std::vector<uint64_t> texts;
  for (int n : {1, 2, 3, 4}) texts.push_back(w.Submit(lanes, n));
  submitted.set_value();
  first.begun.get_future().wait();
  EXPECT_FALSE(lanes.Cancel(texts[0])) << "it runs";
  EXPECT_TRUE(lanes.Cancel(texts[1])) << "it is announced, and its keys may be on their way";
  EXPECT_TRUE(lanes.Cancel(texts[2]));
  EXPECT_FALSE(lanes.Cancel(texts[2]));
  EXPECT_FALSE(lanes.Cancel(99));
  first.go.set_value();
  lanes.Wait();
  EXPECT_THAT(w.results.ends, ElementsAre(1, 4));
  EXPECT_FALSE(lanes.Cancel(texts[3]));
  lanes.Close();
  w.AwaitOver(2);
  EXPECT_EQ(w.dialled, 2) << "the session ended instead of running the second text";
  EXPECT_THAT(w.ran, ElementsAre(store::JobOf(3), store::JobOf(6)));
}

// Batches of texts of one length, in the order of their first texts.
TEST(TextLanes, TextsOfOneLengthRunInBatches) {
  HeldText held(5, 3);
  auto& [first, w, lanes] = held;
  for (int n : {1, 2, 1, 1, 1, 2, 3}) w.Submit(lanes, n);
  first.go.set_value();
  lanes.Wait();
  lanes.Close();
  w.AwaitOver(1);
  EXPECT_TRUE(w.results.errors.empty());
  EXPECT_THAT(w.results.ends, ElementsAre(5, 1, 1, 1, 2, 2, 1, 3));
  EXPECT_THAT(w.ran, ElementsAre(store::JobOf(7), store::JobOf(3, 0, 3), store::JobOf(4, 0, 2), store::JobOf(3),
                                 store::JobOf(5)));
}

TEST(TextLanes, ErrorsOfDoneReachWaitAndStopNothing) {
  LaneWorld w;
  Lanes lanes = w.Begin(w.Options(2));
  lanes.Submit(TextOf(1), 0, [](LaneResult) { Fail(Cause::kInput, "done did not like it"); });
  for (int n : {2, 3}) w.Submit(lanes, n);
  EXPECT_TRUE(Fails(Cause::kInput, "done did not like it", [&] { lanes.Wait(); }));
  EXPECT_EQ(w.results.ends.size(), 2u);
  lanes.Wait();
  lanes.Close();
}

TEST(TextLanes, CloseLetsARunningTextEnd) {
  HeldText held(1);
  auto& [first, w, lanes] = held;
  w.Submit(lanes, 2);
  std::thread closing([&] { held.lanes.Close(); });
  const auto nothing = [&] { held.lanes.Submit(TextOf(3), -1, [](const LaneResult&) {}); };
  while (!Fails(Cause::kInput, "the lanes are closed", nothing)) std::this_thread::yield();
  first.go.set_value();
  closing.join();
  EXPECT_THAT(w.results.ends, testing::UnorderedElementsAre(1, -2));
}

TEST(TextLanes, CloseWithAStopEndsARunningTextAtOnce) {
  HeldText held(1);
  auto& [first, w, lanes] = held;
  w.Submit(lanes, 2);
  std::stop_source stop;
  stop.request_stop();
  lanes.Close(stop.get_token());  // while P0 still waits in its hook
  EXPECT_THAT(w.results.ends, testing::UnorderedElementsAre(-1, -2));
  EXPECT_THAT(w.results.errors,
              testing::UnorderedElementsAre(testing::HasSubstr("early"),
                                            testing::HasSubstr("had not begun when everything was closed")));
  first.go.set_value();
}

TEST(TextLanes, ASessionThatEndedDuringAPauseIsOpenedAgain) {
  LaneWorld w({.idle = net::Millis{1}});
  Lanes::Options options = w.Options(1);
  options.pause = net::Millis{1};
  Lanes lanes = w.Begin(std::move(options));
  for (int n : {1, 2}) {
    w.Submit(lanes, n);
    lanes.Wait();
    w.AwaitOver(n);
  }
  EXPECT_THAT(w.results.ends, ElementsAre(1, 2));
  lanes.Close();
  EXPECT_EQ(w.dialled, 2);
}

TEST(TextLanes, AModelOwnerThatCannotBeReachedFailsEachText) {
  LaneWorld w;
  Lanes::Options options = w.Options(2);
  int calls = 0;
  options.dial = [&, dial = options.dial](std::stop_token stop, size_t server) {
    if (++calls == 1) Fail(Cause::kPeer, "no process answers");
    return dial(stop, server);
  };
  Lanes lanes = w.Begin(std::move(options));
  for (int n : {1, 2}) {
    w.Submit(lanes, n);
    lanes.Wait();
  }
  EXPECT_THAT(w.results.ends, ElementsAre(-1, 2));
  EXPECT_THAT(w.results.errors, ElementsAre("no process answers"));
}

TEST(TextLanes, BadOptionsAndTextsAreRefusedAtOnce) {
  LaneWorld w;
  const auto make = [&](int parallel, int audits, int batch = 1) {
    return [&, parallel, audits, batch] {
      Lanes::Options o = w.Options(parallel);
      o.client.audits = audits;
      o.batch = batch;
      (void)w.Begin(std::move(o));
    };
  };
  for (int parallel : {0, -1, 65})
    EXPECT_TRUE(
        Fails(Cause::kInput, "sessions side by side are not possible; the limits are 1 and 64", make(parallel, 0)));
  for (int batch : {0, 65})
    EXPECT_TRUE(Fails(Cause::kInput, "texts are not possible; the limits are 1 and 64", make(2, 0, batch)));
  EXPECT_TRUE(Fails(Cause::kInput, "have no audits", make(2, 1)));
  Lanes lanes = w.Begin(w.Options(2));
  EXPECT_TRUE(Fails(Cause::kInput, "vocabulary", [&] { lanes.Submit({1, 6, 1}, 0, w.results.Of(1)); }));
  EXPECT_TRUE(Fails(Cause::kInput, "9 tokens", [&] { w.Submit(lanes, 7); }));
  lanes.Close();
  EXPECT_TRUE(w.results.ends.empty());
  EXPECT_EQ(w.dialled, 0);
}

constexpr int kPollsOfAText = 4;  // of ClientOptions::stop

// P1 has memory for one text. The first one is held at P0 until two other sessions wait.
TEST(TextLanes, SessionsWaitForMemory) {
  FirstRun first;
  std::mutex m;
  std::condition_variable changed;
  int begun = 0;
  std::map<std::thread::id, int> polls;  // one for each step of a text, and many while its session waits
  LaneWorld w({.runs = [&, hold = first.Hook()](const PeerName& peer, const store::Job& job, uint64_t serial) {
    {
      const std::lock_guard l(m);
      ++begun;
      changed.notify_all();
    }
    hold(peer, job, serial);
  }});
  Lanes::Options options = w.Options(3);
  options.client.memory = w.MemoryOf(3);
  options.client.stop = [&] {
    const std::lock_guard l(m);
    ++polls[std::this_thread::get_id()];
    changed.notify_all();
    return false;
  };
  Lanes lanes = w.Begin(std::move(options));
  for (int n : {3, 3, 3}) w.Submit(lanes, n);
  {
    std::unique_lock l(m);
    changed.wait(l, [&] {
      const auto waiting =
          std::count_if(polls.begin(), polls.end(), [](const auto& p) { return p.second > kPollsOfAText; });
      return begun > 1 || (begun == 1 && waiting == 2);
    });
    EXPECT_EQ(begun, 1);
  }
  first.go.set_value();
  lanes.Wait();
  w.Submit(lanes, 6);  // it never fits
  w.Submit(lanes, 2);
  lanes.Wait();
  lanes.Close();
  EXPECT_THAT(w.results.ends, testing::UnorderedElementsAre(3, 3, 3, -6, 2));
  EXPECT_THAT(w.results.errors, ElementsAre(testing::HasSubstr(Str(w.MemoryOf(6), " bytes of memory, and ",
                                                                   w.MemoryOf(3), " bytes are allowed"))));
}

// Returns two sessions as P0 sees them. The first one runs one text, and meanwhile the second one two. With `late`, the
// first of these fails behind P0's last frame.
std::vector<SeenSession> TwoSessions(bool late) {
  FirstRun first;
  LaneWorld w({.runs = first.Hook()});
  Lanes::Options options = w.Options(2);
  options.close_on_error = true;
  options.pause = std::chrono::hours{1};
  options.client.progress = [&](size_t text, double done, const std::string&) {
    if (late && text == 1 && done == 1) Fail(Cause::kResource, "no memory for the result");
  };
  Lanes lanes = w.Begin(std::move(options));
  w.Submit(lanes, 1);
  first.begun.get_future().wait();
  for (int n : {2, 3}) {
    std::promise<void> given;
    lanes.Submit(TextOf(n), 0, [&](LaneResult result) {
      EXPECT_EQ(std::holds_alternative<LateError>(result), late && n == 2);
      w.results.Of(n)(std::move(result));
      given.set_value();
    });
    given.get_future().wait();
  }
  first.go.set_value();
  lanes.Wait();
  lanes.Close();
  EXPECT_THAT(w.results.ends, ElementsAre(late ? -2 : 2, 3, 1));
  EXPECT_EQ(w.dialled, 2);
  return w.Seen(2);
}

TEST(TextLanes, P0SeesNothingOfALateError) {
  const std::vector<SeenSession> well = TwoSessions(false);
  EXPECT_EQ(TwoSessions(true), well);
  for (const SeenSession& s : well) {
    EXPECT_EQ(s.end, "");
    EXPECT_EQ(s.frames.back(), std::tuple(true, net::kEnd, 0u));
  }
}

TEST(RunInLanes, P0SeesNothingOfALateError) {
  std::vector<SeenSession> seen[2];
  for (const bool late : {false, true}) {
    LaneWorld w;
    Lanes::Options options = w.Options(2);
    std::thread::id one;  // the thread of the first session
    options.opened = [&](const DataOwner::Session&) {
      if (one == std::thread::id()) one = std::this_thread::get_id();
    };
    options.client.progress = [&](size_t text, double done, const std::string&) {
      if (late && text == 0 && done == 1 && std::this_thread::get_id() == one)
        Fail(Cause::kResource, "no memory for the result");
    };
    const auto run = [&] { (void)w.Run(std::move(options), {1, 2, 3, 4}); };
    if (late)
      EXPECT_TRUE(Fails(Cause::kResource, "no memory for the result", run));
    else
      run();
    EXPECT_EQ(w.results.ends.size(), late ? 3u : 4u);
    seen[late] = w.Seen(2);
  }
  EXPECT_EQ(seen[1], seen[0]);
  for (const SeenSession& s : seen[0]) EXPECT_EQ(s.end, "");
}

TEST(RunInLanes, SessionsWithAuditsWaitForMemory) {
  LaneWorld w;
  Lanes::Options options = w.Options(3);
  options.client.audits = 3;
  options.client.memory = w.MemoryOf(3, store::KeySource::kWhole);
  EXPECT_EQ(w.Run(std::move(options), {3, 1, 2, 3, 3}), 5u);
  EXPECT_THAT(w.results.ends, testing::UnorderedElementsAre(3, 1, 2, 3, 3));
}

TEST(RunInLanes, AuditsAreSpreadOverTheLanes) {
  std::atomic<int> audited{0};
  LaneWorld w({.audited = [&](const store::Job&, uint64_t) { ++audited; }});
  Lanes::Options options = w.Options(2);
  options.client.audits = 7;
  std::atomic<int> at_p1{0};
  options.client.audited = [&] { ++at_p1; };
  EXPECT_EQ(w.Run(std::move(options), {3, 1, 4, 1, 5}), 5u);
  EXPECT_THAT(w.results.ends, testing::UnorderedElementsAre(3, 1, 4, 1, 5));
  EXPECT_EQ(audited, 7);
  EXPECT_EQ(at_p1, 7);
  EXPECT_EQ(w.dialled, 2);
  EXPECT_EQ(w.set_up, 1);
}

TEST(RunInLanes, BatchesAreAuditedAsWhole) {
  std::vector<store::Job> audited;
  LaneWorld w({.audited = [&](const store::Job& job, uint64_t) { audited.push_back(job); }});
  Lanes::Options options = w.Options(1);
  options.client.audits = 2;
  options.batch = 2;
  EXPECT_EQ(w.Run(std::move(options), {1, 2, 1, 2}), 4u);
  EXPECT_THAT(w.results.ends, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(audited, ElementsAre(store::JobOf(3, 0, 2), store::JobOf(4, 0, 2)));
}

TEST(RunInLanes, StopsWhenAskedAndThrowsTheFirstError) {
  LaneWorld w;
  std::atomic<bool> stop{false};
  Lanes::Options options = w.Options(2);
  options.client.stop = [&] { return stop.load(); };
  const std::vector<model::Ids> texts(6, TextOf(2));
  const auto run = [&](const std::function<void(size_t, Embedding)>& done) {
    return RunInLanes(w.engine[2], w.home[1], w.links.Dial(Role::kData), options, texts, done);
  };
  EXPECT_LT(run([&](size_t, Embedding) { stop = true; }), 6u);
  stop = false;
  EXPECT_TRUE(Fails(Cause::kInput, "done is unhappy",
                    [&] { run([](size_t, Embedding) { Fail(Cause::kInput, "done is unhappy"); }); }));
  EXPECT_EQ(run([](size_t, Embedding) {}), 6u);
}

}  // namespace
}  // namespace suf::roles
