// Turns: the permissions of P0 to run one inference each. They go round robin over data owners, then over their lanes.
// Two limits bound the inferences that run at the same time: their number, and the sum of their memory.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "suf/net/channel.hpp"
#include "suf/store/lane_id.hpp"

namespace suf::proto {

// A lane of a data owner.
struct TurnKey {
  Hash owner{};  // SHA-256 of P1's public key
  store::LaneId lane{};
  auto operator<=>(const TurnKey&) const = default;
};

// The bytes that an inference takes while it runs.
struct TurnBytes {
  TurnBytes(uint64_t all_ = 0, uint64_t whole_ = 0) : all(all_), whole(whole_) {}
  uint64_t all;    // keys, frames and values
  uint64_t whole;  // of those, keys that lie here as whole bundles, for audits
  TurnBytes& operator+=(const TurnBytes& o) {
    all += o.all;
    whole += o.whole;
    return *this;
  }
  TurnBytes& operator-=(const TurnBytes& o) {
    all -= o.all;
    whole -= o.whole;
    return *this;
  }
};

// The turns of a process, for all its sessions. A waiting lane receives its turn after at most one inference of each
// other data owner. It waits for two of an owner whose next inference was promised before. Thread-safe.
class Turns {
 public:
  struct Limits {
    int at_once = 1;                 // inferences
    uint64_t memory = ~uint64_t{0};  // bytes of all inferences that run
    uint64_t whole = ~uint64_t{0};   // bytes of their whole bundles
  };
  static constexpr int kNoLimit = std::numeric_limits<int>::max();
  // A clock for tests, and the interval at which Take polls.
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  // Throws Cause::kInput if at_once is below 1.
  explicit Turns(Limits limits, Now now = std::chrono::steady_clock::now, net::Millis poll = net::kPeerPoll);
  // All permits must have ended.
  ~Turns();

  const Limits& limits() const;

  // One inference and its bytes, until it is destroyed. A lane may hold two: of the inference that runs and of the next
  // one. They take one place and the larger number of bytes, because the second begins when the first has ended.
  class Permit {
   public:
    Permit(Permit&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), ticket_(other.ticket_) {}
    Permit& operator=(Permit&& other) noexcept {
      if (this == &other) return *this;
      const Permit ended(std::move(*this));
      turns_ = std::exchange(other.turns_, nullptr);
      ticket_ = other.ticket_;
      return *this;
    }
    ~Permit();

   private:
    friend class Turns;
    Permit(Turns* turns, uint64_t ticket) : turns_(turns), ticket_(ticket) {}
    Turns* turns_;
    uint64_t ticket_;
  };

  // Computes the bytes of an inference. That may take its trace, so it is called when the turn has come.
  using Needs = std::function<TurnBytes()>;
  // Takes a turn for the next inference of a lane, while its current one runs. Never waits. Returns nothing if a limit
  // is reached or another lane waits. An owner that received nothing here returns after its run. If it has waited
  // longer, this lane receives nothing either. `needs` is not called while others wait. Its errors are thrown. Throws
  // Cause::kResource if the bytes exceed a limit. `most` bounds the owner's lanes that have turns.
  std::optional<Permit> TryTake(const TurnKey& key, const Needs& needs, int most = kNoLimit);

  // How long a lane still waits. Both numbers are rounded up to powers of two, because they depend on others' work.
  struct Wait {
    uint32_t place;  // turns up to this one: 1 is the next
    uint32_t ms;     // estimated from the last 16 inferences
    bool operator==(const Wait&) const = default;
  };
  // The wait of a lane whose turn has come, while others free the memory that it lacks.
  static constexpr Wait kNext{1, 1024};
  static constexpr net::Millis kWaitReport{10'000};
  // Waits for a turn of a lane that holds none. Calls `wait` as soon as it waits, and every `report`. Polls `gone`,
  // which returns whether the client has left. Returns nothing if it has, or if the turns are closed. Calls `needs`
  // once, when there is a place. If its bytes are not free, the lane waits in its old place of the line. The
  // callbacks run in this thread; their errors are thrown, and the lane then waits no more. Throws as TryTake does. A
  // lane that only the owner's own limit `most` holds up delays no other owner.
  std::optional<Permit> Take(const TurnKey& key, const Needs& needs, const std::function<void(Wait)>& wait,
                             const std::function<bool()>& gone, net::Millis report = kWaitReport, int most = kNoLimit);
  // Counts bytes that outlive their turn, until the permit is destroyed. It takes no place. Never waits, so the caller
  // calls it before the turn ends.
  Permit Count(uint64_t bytes);

  // Ends all waits. From now on only a lane that holds a turn receives its next one.
  void Close();
  bool closed() const;

 private:
  struct State;
  void End(uint64_t ticket) noexcept;
  std::unique_ptr<State> s_;
};

}  // namespace suf::proto
