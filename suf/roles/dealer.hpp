// The dealer role: makes the correlated randomness of inferences. It has the plan, and sees no weight, no text and no
// message.
#pragma once
#include <memory>

#include "suf/proto/supply.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// The options of a dealer.
struct DealerOptions {
  proto::BundleDealer::Options service = {};
  // Receives the times of a bundle pair, in the thread of the link that dealt it. Several threads may call it at once.
  std::function<void(uint64_t serial, const run::Times&)> timed = {};
};

// The dealer for any plan. It deals bundles to both parties, and witnesses that bundles from their disks are new.
class Dealer {
 public:
  using Options = DealerOptions;
  // `state` is a directory of the dealer's own, made if needed. It records which serials are used, so it must never be
  // restored from a copy. Throws Cause::kResource. The engine must outlive the dealer.
  Dealer(Engine& engine, const std::string& state, Options options = {});
  ~Dealer();
  // Serves one party's link from hello to end, in the thread of that link. Pass it to Listener::Run. An error ends only
  // this link.
  void Handle(net::Channel& party);
  // Refuses deliveries that wait for their turn, now and later. Those that have begun go on. Thread-safe.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::roles
