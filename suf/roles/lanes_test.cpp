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

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/roles/links_test.hpp"
#include "suf/roles/model_owner.hpp"

namespace suf::roles {
namespace {

using testing::ElementsAre;

// A plan and its weights, made once.
struct LaneModel {
  const model::LoadedModel loaded =
      model::SmallModel(1, {.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8});
  const nn::Plan plan = model::SmallPlan(loaded, 8);
  const nn::QuantisedWeights weights = nn::Quantise(loaded.weights, plan);
};
const LaneModel& TheLaneModel() {
  static const LaneModel made;
  return made;
}

// Returns text number n, of n + 2 tokens.
model::Ids TextOf(int n) {
  model::Ids ids;
  for (int i = 0; i < n + 2; ++i) ids.push_back(model::Ids::value_type((i + n) % 6));
  return ids;
}

// The results of texts, in the order of their delivery.
class LaneResults {
 public:
  // Returns the callback of text number n.
  Lanes::OnResult Of(int n) {
    return [this, n](LaneResult result) {
      if (auto* e = std::get_if<Embedding>(&result)) {
        const model::Ids text = TextOf(n);
        const std::vector<int32_t> ids(text.begin(), text.end());
        EXPECT_EQ(e->Integers(), nn::PlanSimulator(TheLaneModel().plan, TheLaneModel().weights).Run(ids).y);
        ends.push_back(n);
        return;
      }
      try {
        std::rethrow_exception(result.index() == 1 ? std::get<1>(result) : std::get<LateError>(result).error);
      } catch (const Error& e) {
        errors.push_back(e.what());
      }
      ends.push_back(-n);
    };
  }
  std::vector<int> ends;  // numbers of texts; negative: with an error
  std::vector<std::string> errors;
};

// A session as P0 sees it.
struct SeenSession {
  std::vector<std::tuple<bool, uint16_t, uint32_t>> frames;  // whether P0 sent it, kind, bytes
  std::string end = "none";                                  // the error; empty: it ended well
  bool operator==(const SeenSession&) const = default;
};

// Three roles in one process. P0 serves each connection in a thread of its own.
struct LaneWorld {
  explicit LaneWorld(Server::Options o = {}) {
    dealer.emplace(engine[0], dir / "dealer", Dealer::Options{.service = {.turns = {.at_once = 8}}});
    o.turns.at_once = at_once;
    o.setup = [this, told = std::move(o.setup)](const PeerName&, uint64_t sent, uint64_t all) {
      set_up += sent == all;
    };
    o.over = [this](const PeerName& peer, const Error* error) {
      const std::lock_guard l(m);
      ends[peer.session] = error ? error->what() : "";
      changed.notify_all();
    };
    o.ran = [this](const PeerName&, const store::Job& job, uint64_t, const run::Times&) {
      const std::lock_guard l(m);
      ran.push_back(job);
    };
    server.emplace(engine[1], nn::QuantisedWeights(TheLaneModel().weights), home[0], links.Dial(Role::kModel),
                   std::move(o));
  }
  ~LaneWorld() {
    for (std::thread& t : serving) t.join();
  }
  Lanes::Options Options(int parallel) {
    Lanes::Options o;
    o.parallel = parallel;
    o.dial = [this](std::stop_token) {
      auto [near, far] = net::InProcessPair(kId[int(Role::kData)], kId[int(Role::kModel)]);
      const std::lock_guard l(m);
      ++dialled;
      auto record = std::make_unique<net::Recorder>(Record(dialled));
      far->set_recorder(record.get());
      serving.emplace_back([this, ch = std::move(far), kept = std::move(record)]() mutable {
        try {
          server->Serve(*ch);
        } catch (const Error&) {
        }
        ch.reset();
      });
      return std::move(near);
    };
    return o;
  }
  Lanes Begin(Lanes::Options o) { return {engine[2], home[1], links.Dial(Role::kData), std::move(o)}; }
  // Submits text number n.
  uint64_t Submit(Lanes& lanes, int n, int priority = 0) { return lanes.Submit(TextOf(n), priority, results.Of(n)); }
  // Runs the texts of these numbers with RunInLanes.
  size_t Run(Lanes::Options o, const std::vector<int>& numbers) {
    std::vector<model::Ids> texts;
    for (int n : numbers) texts.push_back(TextOf(n));
    return RunInLanes(engine[2], home[1], links.Dial(Role::kData), std::move(o), std::move(texts),
                      [&](size_t text, Embedding e) { results.Of(numbers[text])(std::move(e)); });
  }
  // Returns P1's memory for a text.
  uint64_t MemoryOf(int n, uint64_t window = store::kKeyWindow) {
    return engine[2].ForProto(Role::kData).needs(store::JobOf(uint32_t(TextOf(n).size())), window);
  }
  void AwaitOver(int count) {
    std::unique_lock l(m);
    changed.wait(l, [&] { return int(ends.size()) >= count; });
  }
  // Returns so many sessions, which have ended, in the order in which they began.
  std::vector<SeenSession> Seen(int count) {
    AwaitOver(count);
    std::vector<SeenSession> all;
    for (int i = 1; i <= count; ++i) {
      SeenSession& seen = all.emplace_back();
      seen.end = ends.at(uint64_t(i));
      std::ifstream file(Record(i), std::ios::binary);
      const Bytes record{std::istreambuf_iterator<char>(file), {}};
      Reader r(record, "a record");
      (void)r.Raw(8);
      while (r.left()) {
        const bool sent = r.Get<uint8_t>();
        (void)r.Get<uint8_t>();
        const auto bytes = r.Get<uint32_t>();
        seen.frames.emplace_back(sent, r.Get<uint16_t>(), bytes);
        (void)r.Raw(sizeof(uint16_t) + bytes);
      }
    }
    return all;
  }
  std::string Record(int session) const { return Str(dir / "record", session); }

  int at_once = 8;
  Scratch dir;
  std::unique_ptr<pfss::Backend> backend = cpu::MakePacked(exec::DefaultPools());
  ModelEngine engine[3] = {
      {TheLaneModel().plan, *backend}, {TheLaneModel().plan, *backend}, {TheLaneModel().plan, *backend}};
  store::Home home[2] = {store::Home(dir / "p0"), store::Home(dir / "p1")};
  std::optional<Dealer> dealer;
  Links links{dealer};
  std::optional<ModelOwner> server;
  std::mutex m;  // guards the members below
  std::condition_variable changed;
  std::vector<std::thread> serving;
  std::vector<store::Job> ran;  // in the order of their ends at P0
  int dialled = 0;
  std::map<uint64_t, std::string> ends;  // of sessions by number: the error; empty: well
  std::atomic<int> set_up{0};
  LaneResults results;
};

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
  options.dial = [&, dial = options.dial, all = submitted.get_future().share()](std::stop_token stop) {
    all.wait();
    return dial(stop);
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
  EXPECT_THAT(w.results.errors, testing::UnorderedElementsAre(testing::HasSubstr("early"),
                                                              testing::HasSubstr("closed before this text began")));
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
  options.dial = [&, dial = options.dial](std::stop_token stop) {
    if (++calls == 1) Fail(Cause::kPeer, "no process answers");
    return dial(stop);
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
