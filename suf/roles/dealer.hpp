// Dealer: makes the correlated randomness of inferences. It has the plan, and sees no weight, no text and no message.
#pragma once
#include <memory>

#include "suf/proto/supply.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

struct DealerOptions {
  proto::Dealer::Options service = {};
  // timed: where the time of a bundle pair went, in the thread of the link that dealt it
  std::function<void(uint64_t serial, const run::Times&)> timed = {};
};

class Dealer {
 public:
  using Options = DealerOptions;
  // state: a directory of the dealer's own, made when needed: which serials are used. It must never be restored from a
  // copy. Throws Cause::kResource. The engine outlives the dealer.
  Dealer(Engine& engine, const std::string& state, Options options = {});
  ~Dealer();
  // One party's link from hello to end, in the thread of that link: give it to Listener::Run. What it throws
  // ends this link alone.
  void Handle(net::Channel& party);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::roles
