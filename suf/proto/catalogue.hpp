// A pull: a data owner receives P0's public files before it has any of them. A pull is a session of its own kind, which
// P1's first frame names. It has no plan, no lane and no serial, and the dealer has no part in it.
// docs/design/sessions.md#pull.
#pragma once
#include <string>
#include <vector>

#include "suf/proto/owner_policy.hpp"

namespace suf::proto {

// P0's public files. P0 chose both, so P1 trusts neither.
struct PublicFiles {
  std::string plan;
  std::string tokenizer;                  // empty: P0 does not have it
  std::vector<std::string> indexes = {};  // index plans, in P0's order
  size_t bytes() const {
    size_t all = plan.size() + tokenizer.size();
    for (const std::string& index : indexes) all += index.size();
    return all;
  }
};

// The most bytes of all files.
inline constexpr uint64_t kMostPulled = uint64_t{64} << 20;
// The longest time of a pull.
inline constexpr net::Millis kPullTime{60'000};

// Requests P0's files and receives them, in one flight each way: 4 bytes, and 144 bytes with the files. Throws
// Cause::kPeer if P0 names more than kMostPulled bytes, no plan, or if `time` passes first.
PublicFiles Pull(net::Channel& p0, net::Millis time = kPullTime);

// Sends the files to a data owner whose first frame was `request`. `files` is null if nothing can be pulled. The policy
// counts a pull as a session; null: every certified data owner is served. Throws as Pull does, and the errors of the
// policy.
void ServePull(net::Channel& p1, View request, const PublicFiles* files, OwnerPolicy* policy,
               net::Millis time = kPullTime);

}  // namespace suf::proto
