// Numbers about one process, in the text format of Prometheus. No name and no label comes from a peer.
// Clocks are read between frames, when no result is known. P0 reads them at P1's announcement, at its turn, at P1's
// claim and at P1's goodbye. P1 sends the goodbye before it computes anything from the last frame. P0 uses a result of
// its own after it. The dealer reads them at both requests, at their turn and when a pair is dealt. It sees no frame of
// an inference. P1 reads them when a text waits, at its turn, at its claim and at EndOnline. A run that fails later
// counts as done. docs/operations.md#metrics.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "suf/base/role.hpp"
#include "suf/net/refusal.hpp"
#include "suf/service/outcome.hpp"
#include "suf/service/owners.hpp"

namespace suf::service {

// The present state of an inference, or of a bundle pair at the dealer.
enum class InferenceState { kWaiting, kRunning };
// An event in the life of a bundle. A party's bundle counts as dealt when it has arrived.
enum class BundleFate { kDealt, kUsed, kBurnt };

// An inference that has ended. Nothing here depends on its result.
struct InferenceEnd {
  JobOutcome outcome = JobOutcome::kDone;
  uint64_t texts = 1;
  uint64_t tokens = 0;    // of all texts
  uint64_t searches = 0;  // the texts of a search
  double waited_s = 0;    // for its turn
  double duration_s = 0;  // of a done one: from the claim to the goodbye
  uint64_t bytes_sent = 0, bytes_received = 0;
};

class Metrics;

// Counts an inference in a state while it lives. The metrics must outlive it.
class StateMark {
 public:
  StateMark(StateMark&& other) noexcept : metrics_(std::exchange(other.metrics_, nullptr)), state_(other.state_) {}
  StateMark& operator=(StateMark&& other) noexcept {
    const StateMark ended(std::move(*this));
    metrics_ = std::exchange(other.metrics_, nullptr);
    state_ = other.state_;
    return *this;
  }
  ~StateMark();

 private:
  friend class Metrics;
  StateMark(const Metrics& metrics, InferenceState state);
  const Metrics* metrics_;
  InferenceState state_;
};

// The metrics of one process. Thread-safe. No call waits for a Write.
class Metrics {
 public:
  // The label of all data owners that are not listed.
  static constexpr const char* kUnlisted = kUnlistedName;

  // Counts for this role. `version` is the label of the build.
  Metrics(Role role, const std::string& version);
  ~Metrics();

  // Replaces the list of data owners, which P0 alone has. Listed names keep their counts; those of the others are
  // dropped. Labels are printable, and names that differ in unprintable bytes alone may share one. An owner has 6
  // series from its first inference on: 3 outcomes, texts, tokens and searches. So there are at most 6 x (names + 1)
  // series of owners, and a fixed number of others, below 200.
  void SetOwners(const std::vector<std::string>& names);

  // The calls of the parties.

  // Counts an inference. `owner` is a listed name; any other name counts as unlisted. P1 has no owners, and ignores it.
  // A refused inference counts nothing but its outcome.
  void Ended(std::string_view owner, const InferenceEnd& end);
  // Sets the round trip to the peer that was measured last.
  void SetRoundTrip(double seconds);

  // The call of the dealer.

  // Counts a bundle pair as dealt. `waited_s` is its wait for the turn, and `duration_s` the dealer's own work.
  void Dealt(double waited_s, double duration_s);

  // The calls of every role.

  // Counts an inference, or a bundle pair at the dealer, in this state until the mark is destroyed.
  [[nodiscard]] StateMark Enter(InferenceState state) const;
  // Counts bundles that were received, used or burnt. At the dealer, Dealt counts those that were dealt.
  void CountBundles(BundleFate fate, uint64_t count = 1);
  // Counts a refusal of this process, or one that it received from a peer.
  void CountRefusal(net::Refusal reason, Role by);
  // Counts bytes of frames that belong to no inference of Ended.
  void CountBytes(uint64_t sent, uint64_t received);

  // Writes all metrics, piece by piece. Each series has the labels `process` and `role`. They keep the files of several
  // processes of a machine apart. `process` must be unique on the machine.
  void Write(const std::string& process, const std::function<void(std::string_view)>& to) const;

 private:
  friend class StateMark;
  struct State;
  const std::unique_ptr<State> s_;
};

}  // namespace suf::service
