// The steps of a pending job that both parties share: waiting for its bundle, and burning it after a failure.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>

#include "suf/proto/session.hpp"

namespace suf::proto {

// Whether a bundle is for this job of a session over `ch`.
bool IsFor(const store::BundleHeader& h, const PendingJob& what, const store::LaneId& lane, const BundlePlan& plan,
           const Hash& weights, const net::Channel& ch);

// Burns the stored bundles of an index's lists from before a compaction.
void BurnOldLists(store::Lane& lane, const SessionIndex& index);

// Returns how many bundles a party requests.
inline uint32_t CountOf(const KeyPolicy& keys) { return std::max(keys.ahead, 1u); }
// Returns the window for the keys of a bundle.
uint64_t WindowOf(const KeyPolicy& keys, bool whole);

// Waits for the delivery of an announced job; returns the serial of its bundle.
uint64_t AwaitDelivery(net::Channel& ch, PendingJob& what);
// Adds the traffic of a delivery whose bundle is used; returns the dealer's milliseconds. Nothing depends on its end
// any more, so this waits no longer than the dealer's goodbye may take.
double BookDelivery(const PendingJob& what, net::Traffic* traffic);

// Reads the next job's bundle ahead if it is in the lane, while memory of the previous run is released.
void ReadAhead(store::Lane& lane, const std::optional<PendingJob>& next, int party, const KeyPolicy& keys);

// A guard that closes the keys at the end of a run, because unread ones are not wanted any more.
struct KeysCloser {
  std::shared_ptr<store::KeySource> keys;
  ~KeysCloser() { keys->Close(); }
};

// Returns why a step after a claim failed, from the exception that is being handled. If the keys failed, or are about
// to, one cause took both and the keys' error says why. A party with altered keys notifies the peer.
std::exception_ptr FailureReason(net::Channel& ch, const PendingJob& what, const store::KeySource& keys);

// Runs f and burns the claimed serial if it throws. The peer may end the session for an error that our keys have not
// met yet; see FailureReason.
template <class F>
void BurnIfThrows(net::Channel& ch, const PendingJob& what, store::Lane& lane, const store::KeySource& keys, F&& f) {
  try {
    f();
  } catch (...) {
    const std::exception_ptr reason = FailureReason(ch, what, keys);
    lane.Burn(what.serial);
    std::rethrow_exception(reason);
  }
}

}  // namespace suf::proto
