// Calls of P0's rules about data owners.
#pragma once
#include "suf/net/channel.hpp"
#include "suf/proto/owner_policy.hpp"

namespace suf::proto {

// Calls a function of the policy about a session, or about a job of it. P1 receives the reason if that denies or fails.
template <class F>
auto Permitted(net::Channel& p1, OwnerPolicy& policy, const std::optional<store::Job>& job, F&& f) {
  const Hash& owner = p1.peer().key;
  try {
    return f();
  } catch (const DenialError& e) {
    policy.Refused(owner, job, e.code());
    p1.Refuse(e.code(), e.retry_s());
    throw;
  } catch (const Error&) {
    policy.Refused(owner, job, net::Refusal::kCounts);
    p1.Refuse(net::Refusal::kCounts);
    throw;
  }
}

}  // namespace suf::proto
