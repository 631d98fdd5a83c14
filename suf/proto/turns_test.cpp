// Turns: their order against a simple model of round robin, their limits, and the reports to a waiting lane. The line
// has no clock and no threads. Take has a clock of the test, which `gone` moves.
#include "suf/proto/turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <set>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/proto/internal/turn_line.hpp"

namespace suf::proto {
namespace {

using Ticket = TurnLine::Ticket;

TurnKey LaneOf(int owner, int lane = 0) { return {Hash{uint8_t(owner + 1)}, store::LaneId{uint8_t(lane)}}; }

// Round robin as one says it: a line of owners, each with its line of lanes. The owner that had the last turn stands
// behind all that come before the next one.
struct RoundRobin {
  std::list<int> owners;                // that wait, in order
  std::map<int, std::list<int>> lanes;  // of each owner that waits, in order
  int last = -1;                        // owner of the last turn, if it still has one
  int grants = 0;
  std::map<int, int> last_of, running;  // the number of an owner's last turn, and its turns
  std::map<int, int> returning;         // owners that were answered "later", and their last turns

  void Join(int owner, int lane) {
    returning.erase(owner);
    lanes[owner].push_back(lane);
    if (lanes[owner].size() > 1) return;
    const auto at = owner != last && !owners.empty() && owners.back() == last ? std::prev(owners.end()) : owners.end();
    owners.insert(at, owner);
  }
  std::pair<int, int> Front() const { return {owners.front(), lanes.at(owners.front()).front()}; }
  void NoteTurn(int owner) {
    last = owner;
    last_of[owner] = ++grants;
    ++running[owner];
  }
  std::pair<int, int> Grant() {
    const auto [owner, lane] = Front();
    owners.pop_front();
    lanes[owner].pop_front();
    if (!lanes[owner].empty()) owners.push_back(owner);
    NoteTurn(owner);
    return {owner, lane};
  }
  void Gone(int owner, int lane) {
    lanes[owner].remove(lane);
    if (lanes[owner].empty()) owners.remove(owner);
    Forget(owner);
  }
  void End(int owner) {
    --running[owner];
    Forget(owner);
  }
  void Forget(int owner) {
    if (running[owner] || !lanes[owner].empty()) return;
    last_of[owner] = 0;
    if (last == owner) last = -1;
  }
  // Returns the order in which the waiting lanes get turns, if nobody else comes.
  std::vector<std::pair<int, int>> Order() const {
    RoundRobin copy = *this;
    std::vector<std::pair<int, int>> out;
    while (!copy.owners.empty()) out.push_back(copy.Grant());
    return out;
  }
};

// Runs all schedules of some lanes up to a depth, and compares the line with the model after each event.
class Schedules {
 public:
  Schedules(int owners, int lanes, Turns::Limits limits) : lanes_(lanes), limits_(limits) {
    for (int i = 0; i < owners * lanes; ++i) begin_.lanes.emplace_back();
    begin_.line = TurnLine(limits);
  }
  // Returns how many events were compared.
  int64_t Run(int depth) {
    Extend(begin_, depth);
    return events_;
  }

 private:
  struct LaneState {
    Ticket waits = 0, runs = 0, next = 0;
    bool tried = false;  // in this run
  };
  struct World {
    TurnLine line{Turns::Limits{}};
    RoundRobin model;
    std::vector<LaneState> lanes;
  };
  // An owner's inferences take as many bytes as its number says.
  static uint64_t BytesOf(int owner) { return owner == 2 ? 2 : 1; }
  uint64_t Memory(const World& w) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < w.lanes.size(); ++i) sum += w.lanes[i].runs ? BytesOf(int(i) / lanes_) : 0;
    return sum;
  }
  int Running(const World& w) const {
    return int(std::count_if(w.lanes.begin(), w.lanes.end(), [](const LaneState& l) { return l.runs != 0; }));
  }
  // Grants in the model as long as the front fits, and expects the same turns of the line.
  void Settle(World& w) {
    while (!w.model.owners.empty()) {
      const auto [owner, lane] = w.model.Front();
      if (Running(w) >= limits_.at_once || Memory(w) + BytesOf(owner) > limits_.memory) break;
      (void)w.model.Grant();
      LaneState& l = w.lanes[size_t(owner * lanes_ + lane)];
      l.runs = std::exchange(l.waits, 0);
      l.tried = false;
    }
    for (size_t i = 0; i < w.lanes.size(); ++i) {
      if (const Ticket t = w.lanes[i].waits) {
        ASSERT_FALSE(w.line.Granted(t)) << "lane " << i;
      }
      if (const Ticket t = w.lanes[i].runs) {
        ASSERT_TRUE(w.line.Granted(t)) << "lane " << i;
        ASSERT_EQ(w.line.First(Key(i)), t);
      }
    }
    ASSERT_EQ(w.line.lanes(), size_t(Running(w)));
    ASSERT_EQ(w.line.memory(), Memory(w));
    const auto order = w.model.Order();
    for (size_t k = 0; k < order.size(); ++k)
      ASSERT_EQ(w.line.Place(w.lanes[size_t(order[k].first * lanes_ + order[k].second)].waits), k + 1);
    ++events_;
  }
  TurnKey Key(size_t i) const { return LaneOf(int(i) / lanes_, int(i) % lanes_); }
  // Returns whether the model lets a lane take its next turn at once.
  static bool MayTake(RoundRobin& model, int owner) {
    if (!model.owners.empty()) return false;
    for (auto [other, last] : model.returning)
      if (other != owner && last < model.last_of[owner]) {
        model.returning.erase(other);
        return false;
      }
    return true;
  }

  void Extend(const World& from, int depth) {
    if (!depth || testing::Test::HasFatalFailure()) return;
    for (size_t i = 0; i < from.lanes.size(); ++i) {
      const LaneState& l = from.lanes[i];
      const int owner = int(i) / lanes_, lane = int(i) % lanes_;
      const auto branch = [&](const std::function<void(World&)>& event) {
        World w = from;
        event(w);
        Settle(w);
        Extend(w, depth - 1);
      };
      if (l.waits) {  // its client leaves
        branch([&](World& w) {
          w.model.Gone(owner, lane);
          (void)w.line.Leave(std::exchange(w.lanes[i].waits, 0));
        });
        continue;
      }
      if (!l.runs) {
        branch([&](World& w) {
          w.model.Join(owner, lane);
          w.lanes[i].waits = w.line.Join(Key(i), BytesOf(owner));
        });
        continue;
      }
      if (!l.tried)
        branch([&](World& w) {
          w.lanes[i].tried = true;
          const Ticket t = w.line.Try(Key(i), BytesOf(owner));
          const bool may = MayTake(w.model, owner);
          ASSERT_EQ(t != 0, may);
          if (may) {
            w.lanes[i].next = t;
            w.model.returning.erase(owner);
            w.model.NoteTurn(owner);
          } else {
            w.model.returning[owner] = w.model.last_of[owner];
          }
        });
      branch([&](World& w) {  // its run ends; the next one begins if it may
        LaneState& now = w.lanes[i];
        w.model.End(owner);
        (void)w.line.Leave(now.runs);
        now.runs = std::exchange(now.next, 0);
        now.tried = false;
      });
      if (l.next)  // its client drops the next one
        branch([&](World& w) {
          w.model.End(owner);
          (void)w.line.Leave(std::exchange(w.lanes[i].next, 0));
        });
    }
  }

  const int lanes_;
  const Turns::Limits limits_;
  World begin_;
  int64_t events_ = 0;
};

TEST(TurnLine, IsRoundRobinInEverySmallSchedule) {
  int64_t events = 0;
  for (int owners : {1, 2, 3})
    for (int lanes : {1, 2})
      for (int at_once : {1, 2})
        for (uint64_t memory : {uint64_t{2}, ~uint64_t{0}}) {
          SCOPED_TRACE(Str(owners, " owners, ", lanes, " lanes, ", at_once, " at once, ", memory, " bytes"));
          const int all = owners * lanes;
          events += Schedules(owners, lanes, {at_once, memory}).Run(all <= 2 ? 10 : all == 3 ? 8 : all == 4 ? 7 : 6);
          if (HasFatalFailure()) return;
        }
  EXPECT_GT(events, 1'500'000);
}

// There is one place. An owner with 1,000 texts announces each text during the one before. Another owner's text comes
// before such an announcement or after it. It waits for the text that runs, and for the next one if that was promised.
TEST(TurnLine, ATextBehindAThousandWaitsForTwoAtMost) {
  for (const bool promised : {false, true}) {
    SCOPED_TRACE(promised);
    TurnLine line({1, 100});
    Ticket runs = line.Join(LaneOf(0), 1), next = 0, other = 0;
    int waited = 0, most = 0, others = 0;
    for (int text = 0; text < 1000; ++text) {
      const bool comes = text % 10 == 3;
      if (comes && !promised) other = line.Join(LaneOf(1), 1);
      next = line.Try(LaneOf(0), 1);
      if (comes && promised) other = line.Join(LaneOf(1), 1);
      ASSERT_EQ(next == 0, comes ? !promised : other != 0);
      if (other) ++waited;
      (void)line.Leave(runs);
      runs = next ? next : line.Join(LaneOf(0), 1);
      if (!other || !line.Granted(other)) continue;
      most = std::max(most, std::exchange(waited, 0));
      ++others;
      ASSERT_FALSE(line.Granted(runs));
      (void)line.Leave(std::exchange(other, 0));
      ASSERT_TRUE(line.Granted(runs));
    }
    EXPECT_EQ(others, 100);
    EXPECT_EQ(most, promised ? 2 : 1);
  }
}

// An owner returns after its run, because it was answered "later". It waits for one text, although the other owner
// announces before it is back.
TEST(TurnLine, AnOwnerThatReturnsWaitsForOneText) {
  TurnLine line({1, 100});
  Ticket a = line.Join(LaneOf(0), 1), b = line.Join(LaneOf(1), 1);
  for (int text = 0; text < 1000; ++text) {
    ASSERT_TRUE(line.Granted(a));
    ASSERT_FALSE(line.Try(LaneOf(0), 1)) << "b waits, or is about to return";
    if (!b) b = line.Join(LaneOf(1), 1);
    (void)line.Leave(a);
    ASSERT_TRUE(line.Granted(b));
    a = line.Join(LaneOf(0), 1);
    ASSERT_FALSE(line.Try(LaneOf(1), 1));
    (void)line.Leave(std::exchange(b, 0));
  }
  // b never returns: that costs the other owner one answer "later"
  ASSERT_FALSE(line.Try(LaneOf(0), 1));
  (void)line.Leave(a);
  a = line.Join(LaneOf(0), 1);
  EXPECT_TRUE(line.Try(LaneOf(0), 1));
}

// A lane's two turns take one place and the larger bytes. A turn that does not fit waits, and those behind it wait as
// well.
TEST(TurnLine, MemoryIsALimit) {
  TurnLine line({3, 10});
  const Ticket a = line.Join(LaneOf(0), 4);
  EXPECT_FALSE(line.Try(LaneOf(0), 11));
  const Ticket next = line.Try(LaneOf(0), 6);
  EXPECT_TRUE(next);
  EXPECT_EQ(line.memory(), 6u);
  const Ticket b = line.Join(LaneOf(1), 5), c = line.Join(LaneOf(2), 1);
  EXPECT_FALSE(line.Granted(b));
  EXPECT_FALSE(line.Granted(c)) << "it came behind b";
  EXPECT_TRUE(line.Leave(a).empty()) << "the next one has 6";
  EXPECT_EQ(line.Leave(next), (std::vector<Ticket>{b, c}));
  EXPECT_EQ(line.memory(), 6u);
  EXPECT_EQ(line.lanes(), 2u);
  EXPECT_FALSE(line.Try(LaneOf(1), 10));
  (void)line.Leave(b);
  (void)line.Leave(c);
  EXPECT_EQ(line.memory(), 0u);
}

// A clock that the test moves.
struct TestClock {
  std::chrono::steady_clock::time_point at{};
  Turns::Now Reader() {
    return [this] { return at; };
  }
};
constexpr auto kNever = [] { return false; };
void NoWait(Turns::Wait) { ADD_FAILURE() << "it waited"; }

TEST(Turns, ALoneLaneNeverWaits) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), 60, NoWait, kNever);
  for (int text = 0; text < 10; ++text) {
    std::optional<Turns::Permit> next = turns.TryTake(LaneOf(0), 100);
    ASSERT_TRUE(next);
    runs = std::move(next);
  }
  EXPECT_FALSE(turns.TryTake(LaneOf(0, 1), 1)) << "another lane finds no place";
  runs.reset();
  EXPECT_TRUE(turns.TryTake(LaneOf(0, 1), 1));
}

TEST(Turns, AWaitIsReportedAtOnceAndEveryTenSeconds) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  const auto begin = clock.at;
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), 1, NoWait, kNever);
  std::vector<int64_t> reports;  // seconds
  const auto permit = turns.Take(
      LaneOf(1), 1,
      [&](Turns::Wait w) {
        EXPECT_EQ(w, (Turns::Wait{1, 1024})) << "no inference has ended yet";
        reports.push_back(std::chrono::duration_cast<std::chrono::seconds>(clock.at - begin).count());
      },
      [&] {
        clock.at += std::chrono::seconds(1);
        if (clock.at - begin == std::chrono::seconds(35)) runs.reset();
        return false;
      });
  EXPECT_TRUE(permit);
  EXPECT_EQ(reports, (std::vector<int64_t>{0, 10, 20, 30}));
}

// Place and milliseconds are powers of two: the median of the last 16 inferences, times the place, by those at once.
TEST(Turns, AWaitIsRoundedUp) {
  TestClock clock;
  Turns turns({2, 100}, clock.Reader(), net::Millis{0});
  const auto run = [&](int ms) {
    std::optional<Turns::Permit> permit = turns.Take(LaneOf(9), 1, NoWait, kNever);
    clock.at += net::Millis{ms};
  };
  // Returns what a lane of owner `depth` learns, behind those of `depth` others.
  const std::function<Turns::Wait(int)> wait_behind = [&](int depth) {
    std::optional<Turns::Permit> held[2] = {turns.Take(LaneOf(7), 1, NoWait, kNever),
                                            turns.Take(LaneOf(8), 1, NoWait, kNever)};
    Turns::Wait last{};
    const std::function<void(int)> join = [&](int owner) {
      EXPECT_FALSE(turns.Take(
          LaneOf(owner), 1, [&](Turns::Wait w) { last = w; },
          [&] {
            if (owner < depth) join(owner + 1);
            return true;
          }));
    };
    join(0);
    return last;
  };
  for (int ms : {5'000, 300, 310}) run(ms);  // the median is 310
  EXPECT_EQ(wait_behind(0), (Turns::Wait{1, 256})) << "155";
  for (int i = 0; i < 40; ++i) run(100);
  EXPECT_EQ(wait_behind(0), (Turns::Wait{1, 64})) << "50";
  EXPECT_EQ(wait_behind(2), (Turns::Wait{4, 256})) << "third, 150";
  EXPECT_EQ(wait_behind(4), (Turns::Wait{8, 256})) << "fifth, 250";
}

// The next turn of a lane counts from the end of the one before. A turn that is dropped before it begins counts not.
TEST(Turns, ATurnIsTimedWhileItRuns) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), 1, NoWait, kNever);
  for (int text = 0; text < 16; ++text) {
    std::optional<Turns::Permit> next = turns.TryTake(LaneOf(0), 1);
    clock.at += net::Millis{100};
    if (text == 7) {
      next.reset();
      next = turns.TryTake(LaneOf(0), 1);
    }
    runs = std::move(next);
  }
  std::optional<Turns::Wait> told;
  EXPECT_FALSE(turns.Take(
      LaneOf(1), 1, [&](Turns::Wait w) { told = w; }, [] { return true; }));
  EXPECT_EQ(told, (Turns::Wait{1, 128}));
}

TEST(Turns, ALaneThatLeavesGivesItsPlaceToTheNext) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), 1, NoWait, kNever);
  EXPECT_FALSE(turns.Take(
      LaneOf(1), 1, [](Turns::Wait) {}, [] { return true; }));
  // its turn comes while it leaves
  EXPECT_FALSE(turns.Take(
      LaneOf(1), 1, [](Turns::Wait) {},
      [&] {
        runs.reset();
        return true;
      }));
  EXPECT_TRUE(Fails(Cause::kPeer, "cannot send", [&] {
    runs = turns.Take(LaneOf(0), 1, NoWait, kNever);
    (void)turns.Take(
        LaneOf(1), 1, [](Turns::Wait) { Fail(Cause::kPeer, "cannot send"); }, kNever);
  }));
  EXPECT_TRUE(Fails(Cause::kPeer, "hung up", [&] {
    (void)turns.Take(
        LaneOf(1), 1, [](Turns::Wait) {},
        [&]() -> bool {
          runs.reset();
          Fail(Cause::kPeer, "hung up");
        });
  }));
  EXPECT_TRUE(turns.Take(LaneOf(2), 1, NoWait, kNever)) << "every place is free again";
}

TEST(Turns, WhatCanNeverFitIsAnError) {
  Turns turns({2, 100});
  const char* const words =
      "the inference needs 101 bytes of memory, and 100 bytes are allowed for all inferences together; allow more, or "
      "bring a smaller job";
  EXPECT_TRUE(Fails(Cause::kResource, words, [&] { (void)turns.Take(LaneOf(0), 101, NoWait, kNever); }));
  const auto runs = turns.Take(LaneOf(0), 100, NoWait, kNever);
  EXPECT_TRUE(Fails(Cause::kResource, words, [&] { (void)turns.TryTake(LaneOf(0), 101); }));
  EXPECT_TRUE(turns.TryTake(LaneOf(0), 100));
  EXPECT_FALSE(turns.TryTake(LaneOf(1), 1)) << "no bytes are left";
  EXPECT_FALSE(turns.TryTake(LaneOf(0), 100)) << "the other one returns first";
  EXPECT_TRUE(Fails(Cause::kInput, "0 inferences may run at the same time; allow at least 1",
                    [] { Turns none(Turns::Limits{.at_once = 0}); }));
}

TEST(Turns, CloseEndsAllWaits) {
  Turns turns({1, 100});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), 1, NoWait, kNever);
  std::atomic<int> waits{0}, ended{0};
  std::vector<std::jthread> threads;
  for (int owner : {1, 2, 3})
    threads.emplace_back([&, owner] {
      const auto permit = turns.Take(
          LaneOf(owner), 1,
          [&](Turns::Wait) {
            if (++waits == 3) turns.Close();
          },
          kNever);
      ended += !permit;
    });
  threads.clear();
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(turns.closed());
  EXPECT_FALSE(turns.TryTake(LaneOf(1), 1));
  EXPECT_TRUE(turns.TryTake(LaneOf(0), 1)) << "a lane that runs goes on";
  runs.reset();
  EXPECT_FALSE(turns.TryTake(LaneOf(0), 1));
  EXPECT_FALSE(turns.Take(LaneOf(0), 1, NoWait, kNever));
}

// Threads of four owners with two lanes each take turns as sessions do. They take the next one during a run, or after
// it. At most two run.
TEST(Turns, ThreadsShareThePlaces) {
  constexpr int kOwners = 4, kTexts = 100;
  Turns turns({2, 100}, std::chrono::steady_clock::now, net::Millis{1});
  std::atomic<int> running{0}, most{0}, done{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2 * kOwners; ++i)
    threads.emplace_back([&, key = LaneOf(i / 2, i % 2)] {
      std::optional<Turns::Permit> next;
      for (int text = 0; text < kTexts; ++text) {
        std::optional<Turns::Permit> runs = next ? std::exchange(next, std::nullopt)
                                                 : turns.Take(
                                                       key, 1, [](Turns::Wait) {}, kNever);
        ASSERT_TRUE(runs);
        const int now = ++running;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        if (text + 1 < kTexts) next = turns.TryTake(key, 1);
        std::this_thread::yield();
        --running;
        ++done;
      }
    });
  threads.clear();
  EXPECT_EQ(done, 2 * kOwners * kTexts);
  EXPECT_LE(most, 2);
  EXPECT_TRUE(turns.Take(LaneOf(0), 100, NoWait, kNever)) << "every place and byte is free again";
}

}  // namespace
}  // namespace suf::proto
