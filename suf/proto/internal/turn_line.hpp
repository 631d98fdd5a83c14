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
// owner then goes to the end of the line, behind all that come before the turn after that. An owner may have a limit of
// its own; while it is reached, the line passes over it. Not thread-safe.
class TurnLine {
 public:
  using Ticket = uint64_t;  // of a turn, waiting or granted; never 0
  explicit TurnLine(const Turns::Limits& limits) : limits_(limits) {}

  // Adds a lane that has no turn. It may be granted at once. Bytes that are not known yet are 0, until SetBytes. From
  // now on at most `most` lanes of the owner have turns.
  Ticket Join(const TurnKey& key, const TurnBytes& bytes, int most = Turns::kNoLimit) {
    SUF_CHECK(bytes.all <= limits_.memory && bytes.whole <= limits_.whole && !lanes_.count(key));
    returning_.erase(key.owner);
    const Ticket t = ++tickets_;
    TurnOwner& owner = owners_[key.owner];
    owner.most = most;
    if (owner.waiting.empty()) owner.rank = {grants_, owner.last && owner.last == grants_, t};
    owner.waiting.push_back(t);
    turns_[t] = {key, bytes, false};
    (void)GrantNext();
    return t;
  }

  // Sets the bytes of a granted turn that were not known before. If they do not fit, the grant is undone, and the lane
  // waits in its old place of the line. Returns the turns that this grants.
  std::vector<Ticket> SetBytes(Ticket t, const TurnBytes& bytes) {
    TurnState& turn = turns_.at(t);
    SUF_CHECK(turn.granted && lanes_.at(turn.key).turns.size() == 1);
    End(t, turn.key);
    turn.bytes = bytes;
    turn.granted = Fits(turn.key, bytes);
    if (turn.granted) {
      Begin(t, turn);
      return {};
    }
    TurnOwner& owner = owners_.at(turn.key.owner);
    owner.waiting.push_front(t);
    --owner.turns;
    if (owner.last == turn.grant) std::tie(owner.rank, owner.last) = turn.before;
    if (turn.grant == grants_) --grants_;
    return GrantNext();
  }

  // Counts bytes that take no place, until the ticket leaves.
  Ticket Count(const TurnBytes& bytes) {
    const Ticket t = ++tickets_;
    counted_[t] = bytes;
    memory_ += bytes;
    return t;
  }
  bool OnlyCounts(Ticket t) const { return counted_.count(t) > 0; }

  // Grants a turn now, which begins after the turn that the lane holds. Returns 0 if it must wait. `most` is that of
  // Join.
  Ticket Try(const TurnKey& key, const TurnBytes& bytes, int most = Turns::kNoLimit) {
    if (!MayTake(key, bytes, most)) {
      NoteReturn(key.owner);
      return 0;
    }
    returning_.erase(key.owner);
    const Ticket t = ++tickets_;
    turns_[t] = {key, bytes, false};
    owners_[key.owner].most = most;
    Grant(t);
    return t;
  }
  // Notes that an owner was answered "later", unless only its own limit is the reason.
  void NoteReturn(const Hash& owner) {
    const auto own = owners_.find(owner);
    const bool own_limit =
        own != owners_.end() && !own->second.waiting.empty() && own->second.lanes >= own->second.most;
    if (!own_limit || FirstOwner()) returning_[owner] = LastOf(owner);
  }
  // Returns whether this owner waits for a turn, or another one that is below its own limit.
  bool SomeoneWaits(const Hash& owner) {
    const auto own = owners_.find(owner);
    return (own != owners_.end() && !own->second.waiting.empty()) || FirstOwner() != nullptr;
  }

  // Returns whether a ticket was granted.
  bool Granted(Ticket t) const { return turns_.at(t).granted; }
  const TurnKey& KeyOf(Ticket t) const { return turns_.at(t).key; }

  // Removes a turn that has ended, or a lane that waits no more. Returns the turns that this grants.
  std::vector<Ticket> Leave(Ticket t) {
    if (const auto counts = counted_.find(t); counts != counted_.end()) {
      memory_ -= counts->second;
      counted_.erase(counts);
      return GrantNext();
    }
    const TurnState turn = turns_.at(t);
    turns_.erase(t);
    const auto owner = owners_.find(turn.key.owner);
    if (turn.granted) {
      End(t, turn.key);
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

  // Returns how many lanes hold turns, and all bytes that count.
  size_t lanes() const { return lanes_.size(); }
  uint64_t memory() const { return memory_.all; }

 private:
  // The place of an owner in the line: grants before it joined, whether it had the last, arrival.
  using Rank = std::tuple<uint64_t, bool, uint64_t>;
  struct TurnState {
    TurnKey key;
    TurnBytes bytes;
    bool granted = false;
    uint64_t grant = 0;                     // its number
    std::pair<Rank, uint64_t> before = {};  // the owner's rank and last grant until then
  };
  struct TurnOwner {
    std::deque<Ticket> waiting;
    Rank rank;          // valid while a lane waits
    uint64_t last = 0;  // number of its last grant
    int turns = 0;      // that were granted and have not ended
    int lanes = 0;      // that have turns
    int most = Turns::kNoLimit;
  };
  struct LaneTurns {
    std::vector<Ticket> turns;  // oldest first
    TurnBytes bytes;            // the most of them
  };

  // Returns the first owner of the line that is below its own limit; null if there is none.
  TurnOwner* FirstOwner() {
    TurnOwner* first = nullptr;
    for (auto& [key, owner] : owners_)
      if (!owner.waiting.empty() && owner.lanes < owner.most && (!first || owner.rank < first->rank)) first = &owner;
    return first;
  }

  // Returns whether a turn of this lane fits beside those that were granted.
  bool Fits(const TurnKey& key, const TurnBytes& bytes) const {
    const auto lane = lanes_.find(key);
    if (lane == lanes_.end() && lanes_.size() >= size_t(limits_.at_once)) return false;
    TurnBytes others = memory_;
    if (lane != lanes_.end()) others -= lane->second.bytes;
    // bytes that only count may exceed a limit
    const auto within = [](uint64_t sum, uint64_t more, uint64_t limit) { return sum <= limit && more <= limit - sum; };
    return within(others.all, bytes.all, limits_.memory) && within(others.whole, bytes.whole, limits_.whole);
  }

  // Returns the number of an owner's last grant.
  uint64_t LastOf(const Hash& key) const {
    const auto owner = owners_.find(key);
    return owner == owners_.end() ? 0 : owner->second.last;
  }

  // Returns whether a lane may take a turn without waiting. An owner that was answered "later" returns after its run,
  // and has waited longer if its last grant is older. That counts once, because it may never return.
  bool MayTake(const TurnKey& key, const TurnBytes& bytes, int most) {
    if (SomeoneWaits(key.owner) || !Fits(key, bytes)) return false;
    const auto own = owners_.find(key.owner);
    if (own != owners_.end() && !lanes_.count(key) && own->second.lanes >= most) return false;
    const uint64_t last = LastOf(key.owner);
    const auto longer = std::find_if(returning_.begin(), returning_.end(),
                                     [&](const auto& r) { return r.first != key.owner && r.second < last; });
    if (longer == returning_.end()) return true;
    returning_.erase(longer);
    return false;
  }

  // Gives a turn its place and bytes.
  void Begin(Ticket t, TurnState& turn) {
    turn.granted = true;
    LaneTurns& lane = lanes_[turn.key];
    owners_.at(turn.key.owner).lanes += lane.turns.empty();
    lane.turns.push_back(t);
    CountLane(lane);
  }
  // Takes them back.
  void End(Ticket t, const TurnKey& key) {
    LaneTurns& lane = lanes_.at(key);
    std::erase(lane.turns, t);
    CountLane(lane);
    if (!lane.turns.empty()) return;
    lanes_.erase(key);
    --owners_.at(key.owner).lanes;
  }
  // Counts the most bytes of a lane's turns.
  void CountLane(LaneTurns& lane) {
    memory_ -= lane.bytes;
    lane.bytes = {};
    for (const Ticket t : lane.turns) {
      const TurnBytes& bytes = turns_.at(t).bytes;
      lane.bytes = {std::max(lane.bytes.all, bytes.all), std::max(lane.bytes.whole, bytes.whole)};
    }
    memory_ += lane.bytes;
  }

  void Grant(Ticket t) {
    TurnState& turn = turns_.at(t);
    TurnOwner& owner = owners_[turn.key.owner];
    Begin(t, turn);
    ++owner.turns;
    turn.before = {owner.rank, owner.last};
    turn.grant = owner.last = ++grants_;
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
  uint64_t grants_ = 0;
  TurnBytes memory_;
  std::map<Ticket, TurnState> turns_;    // waiting and granted
  std::map<Ticket, TurnBytes> counted_;  // bytes without a place
  std::map<Hash, TurnOwner> owners_;     // that wait or have turns
  std::map<TurnKey, LaneTurns> lanes_;   // that have turns
  std::map<Hash, uint64_t> returning_;   // owners that were answered "later", and their last grants
};

}  // namespace suf::proto
