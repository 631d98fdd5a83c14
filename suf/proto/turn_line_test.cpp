// The line of turns against a simple model of round robin, without clock and threads.
#include "suf/proto/internal/turn_line.hpp"

#include <gtest/gtest.h>

#include <list>
#include <random>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using Ticket = TurnLine::Ticket;

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

// Runs all schedules of some lanes up to a depth, and compares the line with the model after each event. The bytes of a
// turn are known when its lane joins, or once it is granted.
class Schedules {
 public:
  Schedules(int owners, int lanes, Turns::Limits limits, bool known) : lanes_(lanes), limits_(limits), known_(known) {
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
    bool known = false;  // whether the line knows the bytes of the turn that is waited for
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
  // Sets the bytes of turns that the line granted without them, in the order of the grants.
  void SetBytes(World& w) {
    for (const auto& [owner, lane] : w.model.Order())
      if (LaneState& l = w.lanes[size_t(owner * lanes_ + lane)]; !l.known && w.line.Granted(l.waits)) {
        l.known = true;
        (void)w.line.SetBytes(l.waits, BytesOf(owner));
      }
  }
  // Grants in the model as long as the front fits, and expects the same turns of the line.
  void Settle(World& w) {
    SetBytes(w);
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
          w.lanes[i].known = known_;
          w.lanes[i].waits = w.line.Join(Key(i), known_ ? BytesOf(owner) : 0);
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
  const bool known_;
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
          const int all = owners * lanes, depth = all <= 2 ? 10 : all == 3 ? 8 : all == 4 ? 7 : 6;
          events += Schedules(owners, lanes, {at_once, memory}, true).Run(depth);
          if (memory == 2) events += Schedules(owners, lanes, {at_once, memory}, false).Run(depth - 1);
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

// Bytes are known after the grant. A turn that does not fit waits in its old place of the line.
TEST(TurnLine, ATurnThatDoesNotFitKeepsItsPlaceInTheLine) {
  TurnLine line({2, 10});
  const Ticket a = line.Join(LaneOf(0), 0), b = line.Join(LaneOf(1), 0), c = line.Join(LaneOf(2), 0);
  (void)line.SetBytes(a, 6);
  EXPECT_TRUE(line.Granted(a) && line.Granted(b));
  EXPECT_TRUE(line.SetBytes(b, 5).empty());
  EXPECT_FALSE(line.Granted(b) || line.Granted(c)) << "c came behind b";
  EXPECT_EQ(line.memory(), 6u);
  EXPECT_EQ(line.Place(b), 1u);
  EXPECT_EQ(line.Place(c), 2u);
  EXPECT_FALSE(line.Try(LaneOf(0), 1)) << "b waits";
  EXPECT_EQ(line.Leave(a), (std::vector<Ticket>{b, c}));
  EXPECT_EQ(line.memory(), 5u);
  EXPECT_TRUE(line.SetBytes(c, 6).empty());
  EXPECT_FALSE(line.Granted(c));
  const Ticket d = line.Join(LaneOf(3), 1);
  EXPECT_FALSE(line.Granted(d));
  EXPECT_EQ(line.Leave(c), std::vector<Ticket>{d}) << "its client left";
  (void)line.Leave(b);
  (void)line.Leave(d);
  EXPECT_EQ(line.lanes(), 0u);
  EXPECT_EQ(line.memory(), 0u);
}

// An owner has had another turn since. Its lane then waits behind others, and the free place is theirs.
TEST(TurnLine, AFreePlaceGoesToTheNextOwner) {
  TurnLine line({2, 10});
  const Ticket a = line.Join(LaneOf(0, 1), 0), b = line.Join(LaneOf(0, 2), 6), c = line.Join(LaneOf(1), 1);
  EXPECT_TRUE(line.Granted(a) && line.Granted(b) && !line.Granted(c));
  EXPECT_EQ(line.SetBytes(a, 5), std::vector<Ticket>{c});
  EXPECT_FALSE(line.Granted(a));
}

// An owner may have a limit of its own. Its further lanes wait, others pass them, and its lanes take turns.
TEST(TurnLine, AnOwnersOwnLimitHoldsUpNoOther) {
  TurnLine line({3, 100});
  Ticket a = line.Join(LaneOf(0, 1), 1, 1), b = line.Join(LaneOf(0, 2), 1, 1);
  const Ticket other = line.Join(LaneOf(1), 1);
  EXPECT_TRUE(line.Granted(a) && !line.Granted(b) && line.Granted(other));
  EXPECT_FALSE(line.Try(LaneOf(0, 1), 1, 1)) << "its second lane waits";
  EXPECT_TRUE(line.Try(LaneOf(1), 1)) << "the waiting lane is held up by its owner's limit alone";
  for (int text = 0; text < 10; ++text) {
    ASSERT_EQ(line.Leave(a), std::vector<Ticket>{b});
    a = line.Join(LaneOf(0, 1 + text % 2), 1, 1);
    ASSERT_FALSE(line.Granted(a));
    std::swap(a, b);
  }
  (void)line.Leave(b);
  EXPECT_TRUE(line.Try(LaneOf(0, 1), 1, 1)) << "a lane's next turn takes no second place";
}

// In random schedules no owner exceeds its limit, and a place is free only if no lane could take it.
TEST(TurnLine, OwnersLimitsHoldInRandomSchedules) {
  constexpr int kOwners = 3, kLanes = 3, kMost[kOwners] = {1, 2, Turns::kNoLimit};
  struct LaneState {
    Ticket first = 0, next = 0;
  };
  std::mt19937 random(7);
  int64_t waited = 0;
  for (int round = 0; round < 200; ++round) {
    const int at_once = 1 + round % 4;
    TurnLine line({at_once, 1000});
    LaneState lanes[kOwners][kLanes];
    for (int event = 0; event < 200; ++event) {
      const int owner = int(random() % kOwners), lane = int(random() % kLanes);
      LaneState& s = lanes[owner][lane];
      const TurnKey key = LaneOf(owner, lane);
      if (!s.first) {
        s.first = line.Join(key, 1, kMost[owner]);
      } else if (line.Granted(s.first) && !s.next && random() % 2) {
        s.next = line.Try(key, 1, kMost[owner]);
      } else {
        (void)line.Leave(s.first);
        s.first = std::exchange(s.next, 0);
      }
      int granted[kOwners] = {}, waits[kOwners] = {}, all = 0;
      for (int o = 0; o < kOwners; ++o)
        for (const LaneState& l : lanes[o])
          if (l.first) ++(line.Granted(l.first) ? granted : waits)[o];
      for (int n : granted) all += n;
      ASSERT_LE(all, at_once);
      for (int o = 0; o < kOwners; ++o) {
        ASSERT_LE(granted[o], kMost[o]);
        ASSERT_TRUE(!waits[o] || all == at_once || granted[o] == kMost[o]) << "a place is free";
        waited += waits[o] > 0 && all < at_once;
      }
    }
  }
  EXPECT_GT(waited, 100) << "limits of owners were never reached";
}

// Whole bundles have a limit of their own. Bytes without a place count, and may even exceed the limit.
TEST(TurnLine, WholeBundlesAndBytesWithoutAPlaceCount) {
  TurnLine line({.at_once = 3, .memory = 10, .whole = 4});
  const Ticket a = line.Join(LaneOf(0), {4, 4}), b = line.Join(LaneOf(1), {1, 0}), c = line.Join(LaneOf(2), {1, 1});
  EXPECT_TRUE(line.Granted(a) && line.Granted(b));
  EXPECT_FALSE(line.Granted(c));
  const Ticket keys = line.Count(8);
  EXPECT_EQ(line.memory(), 13u);
  EXPECT_TRUE(line.Leave(b).empty());
  EXPECT_EQ(line.Leave(a), std::vector<Ticket>{c}) << "4 whole bytes are free, and 8 of 10 count";
  EXPECT_FALSE(line.Try(LaneOf(2), {1, 5}));
  (void)line.Leave(c);
  const Ticket more = line.Count(8), d = line.Join(LaneOf(0), 0);
  EXPECT_FALSE(line.Granted(d)) << "16 of 10 bytes count";
  EXPECT_TRUE(line.OnlyCounts(keys) && !line.OnlyCounts(d));
  EXPECT_EQ(line.Leave(more), std::vector<Ticket>{d});
  EXPECT_TRUE(line.Leave(keys).empty());
  (void)line.Leave(d);
  EXPECT_EQ(line.memory(), 0u);
}

}  // namespace
}  // namespace suf::proto
