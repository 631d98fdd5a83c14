// Turns: their limits, and the reports to a waiting lane. Take has a clock of the test, which `gone` moves.
#include "suf/proto/turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

// A clock that the test moves.
struct TestClock {
  std::chrono::steady_clock::time_point at{};
  Turns::Now Reader() {
    return [this] { return at; };
  }
};
constexpr auto kNever = [] { return false; };
void NoWait(Turns::Wait) { ADD_FAILURE() << "it waited"; }
Turns::Needs Needing(uint64_t bytes, uint64_t whole = 0) {
  return [=] { return TurnBytes(bytes, whole); };
}

TEST(Turns, ALoneLaneNeverWaits) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(60), NoWait, kNever);
  for (int text = 0; text < 10; ++text) {
    std::optional<Turns::Permit> next = turns.TryTake(LaneOf(0), Needing(100));
    ASSERT_TRUE(next);
    runs = std::move(next);
  }
  EXPECT_FALSE(turns.TryTake(LaneOf(0, 1), Needing(1))) << "another lane finds no place";
  runs.reset();
  EXPECT_TRUE(turns.TryTake(LaneOf(0, 1), Needing(1)));
}

TEST(Turns, AWaitIsReportedAtOnceAndEveryTenSeconds) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  const auto begin = clock.at;
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(1), NoWait, kNever);
  std::vector<int64_t> reports;  // seconds
  const auto permit = turns.Take(
      LaneOf(1), Needing(1),
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
    std::optional<Turns::Permit> permit = turns.Take(LaneOf(9), Needing(1), NoWait, kNever);
    clock.at += net::Millis{ms};
  };
  // Returns what a lane of owner `depth` learns, behind those of `depth` others.
  const std::function<Turns::Wait(int)> wait_behind = [&](int depth) {
    std::optional<Turns::Permit> held[2] = {turns.Take(LaneOf(7), Needing(1), NoWait, kNever),
                                            turns.Take(LaneOf(8), Needing(1), NoWait, kNever)};
    Turns::Wait last{};
    const std::function<void(int)> join = [&](int owner) {
      EXPECT_FALSE(turns.Take(
          LaneOf(owner), Needing(1), [&](Turns::Wait w) { last = w; },
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
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(1), NoWait, kNever);
  for (int text = 0; text < 16; ++text) {
    std::optional<Turns::Permit> next = turns.TryTake(LaneOf(0), Needing(1));
    clock.at += net::Millis{100};
    if (text == 7) {
      next.reset();
      next = turns.TryTake(LaneOf(0), Needing(1));
    }
    runs = std::move(next);
  }
  std::optional<Turns::Wait> told;
  EXPECT_FALSE(turns.Take(
      LaneOf(1), Needing(1), [&](Turns::Wait w) { told = w; }, [] { return true; }));
  EXPECT_EQ(told, (Turns::Wait{1, 128}));
}

TEST(Turns, ALaneThatLeavesGivesItsPlaceToTheNext) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(1), NoWait, kNever);
  EXPECT_FALSE(turns.Take(
      LaneOf(1), Needing(1), [](Turns::Wait) {}, [] { return true; }));
  // its turn comes while it leaves
  EXPECT_FALSE(turns.Take(
      LaneOf(1), Needing(1), [](Turns::Wait) {},
      [&] {
        runs.reset();
        return true;
      }));
  EXPECT_TRUE(Fails(Cause::kPeer, "cannot send", [&] {
    runs = turns.Take(LaneOf(0), Needing(1), NoWait, kNever);
    (void)turns.Take(
        LaneOf(1), Needing(1), [](Turns::Wait) { Fail(Cause::kPeer, "cannot send"); }, kNever);
  }));
  EXPECT_TRUE(Fails(Cause::kPeer, "hung up", [&] {
    (void)turns.Take(
        LaneOf(1), Needing(1), [](Turns::Wait) {},
        [&]() -> bool {
          runs.reset();
          Fail(Cause::kPeer, "hung up");
        });
  }));
  EXPECT_TRUE(turns.Take(LaneOf(2), Needing(1), NoWait, kNever)) << "every place is free again";
}

TEST(Turns, WhatCanNeverFitIsAnError) {
  Turns turns({2, 100});
  const char* const words =
      "the inference needs 101 bytes of memory, and 100 bytes are allowed for all inferences together; allow more, or "
      "bring a smaller job";
  EXPECT_TRUE(Fails(Cause::kResource, words, [&] { (void)turns.Take(LaneOf(0), Needing(101), NoWait, kNever); }));
  const auto runs = turns.Take(LaneOf(0), Needing(100), NoWait, kNever);
  EXPECT_TRUE(Fails(Cause::kResource, words, [&] { (void)turns.TryTake(LaneOf(0), Needing(101)); }));
  EXPECT_TRUE(turns.TryTake(LaneOf(0), Needing(100)));
  EXPECT_FALSE(turns.TryTake(LaneOf(1), Needing(1))) << "no bytes are left";
  EXPECT_FALSE(turns.TryTake(LaneOf(0), Needing(100))) << "the other one returns first";
  EXPECT_TRUE(Fails(Cause::kInput, "0 inferences may run at the same time; allow at least 1",
                    [] { Turns none(Turns::Limits{.at_once = 0}); }));
}

// A lane's bytes are computed once, when its turn has come. Until then a waiting lane costs nothing.
TEST(Turns, BytesAreComputedWhenTheTurnHasCome) {
  TestClock clock;
  Turns turns({1, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(60), NoWait, kNever);
  int computed = 0;
  const Turns::Needs needs = [&] {
    ++computed;
    return TurnBytes(50);
  };
  EXPECT_TRUE(turns.TryTake(LaneOf(0), needs));
  EXPECT_EQ(computed, 1);
  int polls = 0;
  const auto permit = turns.Take(
      LaneOf(1), needs, [&](Turns::Wait) { EXPECT_FALSE(turns.TryTake(LaneOf(0), needs)) << "another lane waits"; },
      [&] {
        EXPECT_EQ(computed, 1);
        if (++polls == 3) runs.reset();
        return false;
      });
  EXPECT_TRUE(permit);
  EXPECT_EQ(computed, 2);
  EXPECT_EQ(polls, 3);
}

// A turn that does not fit is granted again when others free its bytes, and computes nothing again.
TEST(Turns, ATurnWaitsForItsBytes) {
  TestClock clock;
  Turns turns({2, 100}, clock.Reader(), net::Millis{0});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(60), NoWait, kNever);
  int computed = 0;
  std::vector<Turns::Wait> waits;
  const auto permit = turns.Take(
      LaneOf(1),
      [&] {
        ++computed;
        return TurnBytes(50);
      },
      [&](Turns::Wait w) { waits.push_back(w); },
      [&] {
        runs.reset();
        return false;
      });
  EXPECT_TRUE(permit);
  EXPECT_EQ(computed, 1);
  EXPECT_EQ(waits, std::vector<Turns::Wait>{Turns::kNext});
  EXPECT_TRUE(Fails(Cause::kPeer, "another trace", [&] {
    (void)turns.Take(
        LaneOf(2), []() -> TurnBytes { Fail(Cause::kPeer, "another trace"); }, NoWait, kNever);
  }));
  EXPECT_TRUE(turns.Take(LaneOf(2), Needing(50), NoWait, kNever)) << "its place is free again";
}

// Bytes that outlive their turn count until their permit ends, and take no place.
TEST(Turns, BytesCountAfterTheirTurn) {
  Turns turns({1, 100});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(60), NoWait, kNever);
  std::optional<Turns::Permit> keys = turns.Count(50);
  runs.reset();
  EXPECT_FALSE(turns.TryTake(LaneOf(1), Needing(51)));
  EXPECT_TRUE(turns.TryTake(LaneOf(1), Needing(50)));
  EXPECT_TRUE(turns.Take(
      LaneOf(2), Needing(51), [&](Turns::Wait) { keys.reset(); }, kNever));
}

TEST(Turns, WholeBundlesHaveALimit) {
  Turns turns({.at_once = 3, .memory = 100, .whole = 10});
  const auto runs = turns.Take(LaneOf(0), Needing(20, 6), NoWait, kNever);
  EXPECT_FALSE(turns.TryTake(LaneOf(1), Needing(20, 5)));
  EXPECT_TRUE(Fails(Cause::kResource, "needs 11 bytes of whole bundles, and 10 bytes are allowed",
                    [&] { (void)turns.TryTake(LaneOf(0), Needing(20, 11)); }));
}

TEST(Turns, CloseEndsAllWaits) {
  Turns turns({1, 100});
  std::optional<Turns::Permit> runs = turns.Take(LaneOf(0), Needing(1), NoWait, kNever);
  std::atomic<int> waits{0}, ended{0};
  std::vector<std::jthread> threads;
  for (int owner : {1, 2, 3})
    threads.emplace_back([&, owner] {
      const auto permit = turns.Take(
          LaneOf(owner), Needing(1),
          [&](Turns::Wait) {
            if (++waits == 3) turns.Close();
          },
          kNever);
      ended += !permit;
    });
  threads.clear();
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(turns.closed());
  EXPECT_FALSE(turns.TryTake(LaneOf(1), Needing(1)));
  EXPECT_TRUE(turns.TryTake(LaneOf(0), Needing(1))) << "a lane that runs goes on";
  runs.reset();
  EXPECT_FALSE(turns.TryTake(LaneOf(0), Needing(1)));
  EXPECT_FALSE(turns.Take(LaneOf(0), Needing(1), NoWait, kNever));
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
                                                       key, Needing(1), [](Turns::Wait) {}, kNever);
        ASSERT_TRUE(runs);
        const int now = ++running;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        if (text + 1 < kTexts) next = turns.TryTake(key, Needing(1));
        std::this_thread::yield();
        --running;
        ++done;
      }
    });
  threads.clear();
  EXPECT_EQ(done, 2 * kOwners * kTexts);
  EXPECT_LE(most, 2);
  EXPECT_TRUE(turns.Take(LaneOf(0), Needing(100), NoWait, kNever)) << "every place and byte is free again";
}

}  // namespace
}  // namespace suf::proto
