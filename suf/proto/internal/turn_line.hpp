// The line of lanes that wait for a turn, without threads and clock (turns.hpp).
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "suf/proto/turns.hpp"

namespace suf::proto {

// Owners wait in one line, and the lanes of an owner in another. The first owner's first lane gets the next turn. Its
// owner then goes to the end of the line, behind all that come before the turn after that. Not thread-safe.
class TurnLine {
 public:
  using Ticket = uint64_t;  // of a turn, waiting or granted; never 0
  explicit TurnLine(const Turns::Limits& limits) : limits_(limits) {}

  // Adds a lane that has no turn. It may be granted at once.
  Ticket Join(const TurnKey& key, uint64_t bytes) {
    SUF_CHECK(bytes <= limits_.memory && !lanes_.count(key));
    returning_.erase(key.owner);
    const Ticket t = ++tickets_;
    TurnOwner& owner = owners_[key.owner];
    if (owner.waiting.empty()) owner.rank = {grants_, owner.last && owner.last == grants_, t};
    owner.waiting.push_back(t);
    turns_[t] = {key, bytes, false};
    (void)GrantNext();
    return t;
  }

  // Grants a turn now, which begins after the turn that the lane holds. Returns 0 if it must wait.
  Ticket Try(const TurnKey& key, uint64_t bytes) {
    const auto owner = owners_.find(key.owner);
    const uint64_t last = owner == owners_.end() ? 0 : owner->second.last;
    if (!MayTake(key, bytes, last)) {
      returning_[key.owner] = last;
      return 0;
    }
    returning_.erase(key.owner);
    const Ticket t = ++tickets_;
    turns_[t] = {key, bytes, false};
    Grant(t);
    return t;
  }

  // Returns whether a ticket was granted.
  bool Granted(Ticket t) const { return turns_.at(t).granted; }
  const TurnKey& KeyOf(Ticket t) const { return turns_.at(t).key; }

  // Removes a turn that has ended, or a lane that waits no more. Returns the turns that this grants.
  std::vector<Ticket> Leave(Ticket t) {
    const TurnState turn = turns_.at(t);
    turns_.erase(t);
    const auto owner = owners_.find(turn.key.owner);
    if (turn.granted) {
      LaneTurns& lane = lanes_.at(turn.key);
      memory_ -= lane.bytes;
      std::erase(lane.turns, t);
      lane.bytes = 0;
      for (Ticket other : lane.turns) lane.bytes = std::max(lane.bytes, turns_.at(other).bytes);
      memory_ += lane.bytes;
      if (lane.turns.empty()) lanes_.erase(turn.key);
      --owner->second.turns;
    } else {
      std::erase(owner->second.waiting, t);
    }
    if (!owner->second.turns && owner->second.waiting.empty()) owners_.erase(owner);
    return GrantNext();
  }

  // Returns the first turn of a lane, which is the one that runs; 0 if it has none.
  Ticket First(const TurnKey& key) const {
    const auto lane = lanes_.find(key);
    return lane == lanes_.end() ? 0 : lane->second.turns.front();
  }

  // Returns the number of grants up to this ticket's, if nobody else comes; 1: it is the next one.
  uint64_t Place(Ticket t) const {
    const TurnOwner& own = owners_.at(turns_.at(t).key.owner);
    const auto before = uint64_t(std::find(own.waiting.begin(), own.waiting.end(), t) - own.waiting.begin());
    uint64_t place = before + 1;
    for (const auto& [key, other] : owners_)
      if (&other != &own) place += std::min<uint64_t>(other.waiting.size(), before + (other.rank < own.rank));
    return place;
  }

  // Returns how many lanes hold turns, and their bytes.
  size_t lanes() const { return lanes_.size(); }
  uint64_t memory() const { return memory_; }

 private:
  struct TurnState {
    TurnKey key;
    uint64_t bytes = 0;
    bool granted = false;
  };
  struct TurnOwner {
    std::deque<Ticket> waiting;
    // The place in the line, valid while a lane waits. It is grants before it joined, whether it had the last, arrival.
    std::tuple<uint64_t, bool, uint64_t> rank;
    uint64_t last = 0;  // number of its last grant
    int turns = 0;      // that were granted and have not ended
  };
  struct LaneTurns {
    std::vector<Ticket> turns;  // oldest first
    uint64_t bytes = 0;         // the most of them
  };

  // Returns the first owner of the line; null if nobody waits.
  TurnOwner* FirstOwner() {
    TurnOwner* first = nullptr;
    for (auto& [key, owner] : owners_)
      if (!owner.waiting.empty() && (!first || owner.rank < first->rank)) first = &owner;
    return first;
  }

  // Returns whether a turn of this lane fits beside those that were granted.
  bool Fits(const TurnKey& key, uint64_t bytes) const {
    const auto lane = lanes_.find(key);
    if (lane == lanes_.end()) return lanes_.size() < size_t(limits_.at_once) && bytes <= limits_.memory - memory_;
    return bytes <= limits_.memory - (memory_ - lane->second.bytes);
  }

  // Returns whether a lane may take a turn without waiting. `last` is the last grant of its owner. An owner that was
  // answered "later" returns after its run, and has waited longer if its last grant is older. That counts once, because
  // it may never return.
  bool MayTake(const TurnKey& key, uint64_t bytes, uint64_t last) {
    if (FirstOwner() || !Fits(key, bytes)) return false;
    const auto longer = std::find_if(returning_.begin(), returning_.end(),
                                     [&](const auto& r) { return r.first != key.owner && r.second < last; });
    if (longer == returning_.end()) return true;
    returning_.erase(longer);
    return false;
  }

  void Grant(Ticket t) {
    TurnState& turn = turns_.at(t);
    turn.granted = true;
    LaneTurns& lane = lanes_[turn.key];
    lane.turns.push_back(t);
    memory_ += std::max(lane.bytes, turn.bytes) - lane.bytes;
    lane.bytes = std::max(lane.bytes, turn.bytes);
    TurnOwner& owner = owners_[turn.key.owner];
    ++owner.turns;
    owner.last = ++grants_;
    owner.rank = {grants_, true, t};
  }

  // Grants turns in the order of the line until one does not fit.
  std::vector<Ticket> GrantNext() {
    std::vector<Ticket> out;
    for (TurnOwner* first = FirstOwner(); first; first = FirstOwner()) {
      const Ticket t = first->waiting.front();
      if (!Fits(turns_.at(t).key, turns_.at(t).bytes)) break;
      first->waiting.pop_front();
      Grant(t);
      out.push_back(t);
    }
    return out;
  }

  Turns::Limits limits_;
  Ticket tickets_ = 0;
  uint64_t grants_ = 0, memory_ = 0;
  std::map<Ticket, TurnState> turns_;   // waiting and granted
  std::map<Hash, TurnOwner> owners_;    // that wait or have turns
  std::map<TurnKey, LaneTurns> lanes_;  // that have turns
  std::map<Hash, uint64_t> returning_;  // owners that were answered "later", and their last grants
};

}  // namespace suf::proto
