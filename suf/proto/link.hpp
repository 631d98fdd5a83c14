// Measures the link between two parties in their greeting, and chooses a variant for it. Both happen only if both
// parties allow several variants of the plan. The frames have fixed lengths and contain zeros, so nothing secret is in
// them. The choice depends on public values only. docs/security.md#link (what a choice of variant reveals).
#pragma once
#include <optional>

#include "suf/proto/bundle_plan.hpp"

namespace suf::proto {

// Bytes of a large frame.
inline constexpr size_t kLargeProbe = size_t{256} << 10;
// Measures the link; both ends call it at the same time, and P1 begins. The round trip is the shortest of four with
// small frames. The rate is that of the second of two large frames each way, because the first opens the transport's
// window. This takes 8 round trips and 4 large frames, each frame within the channel's time-out. Both sides exchange
// their figures and take the longer round trip and the lower rate. Ends the session (Cause::kPeer) if the peer's
// figures are beyond the limits.
Network MeasureLink(net::Channel& ch);
// Ends the session (Cause::kPeer) if the peer's figures are beyond the limits.
void CheckNetwork(net::Channel& ch, const Network& link);

// The report of a party about its place, sent in the greeting. A false report steers the choice of variants among the
// allowed ones, and nothing else.
struct PairInfo {
  uint32_t lanes = 1;        // of P1 to this P0; P0 reports none
  uint64_t dealer_rate = 0;  // bits per second of its last delivery; 0: none yet; kHighestRate: its keys are ahead
  bool loopback = false;     // its end of the connection has a loopback address

  // The link as another lane of this pair measured it, reported by P1. It is then not measured again.
  std::optional<Network> link = {};
};

// Returns the report of a party with this policy and the rate of its last delivery, 0 without one.
PairInfo ReportOf(const net::Channel& ch, bool keys_ahead, uint64_t dealer_rate);

// The facts that both parties of a session know: the variants that both allow, as bits, and both reports. The link is
// set if there are several variants.
struct Common {
  uint32_t variants = 1;
  std::optional<Network> link = {};
  PairInfo model = {}, data = {};  // reports of P0 and P1
};
// Returns all variants of the plan, as bits.
uint32_t AllVariants(const BundlePlan& plan);
// Returns the variants in both sets. Ends the session (Refusal::kVariant) if there are none.
uint32_t CommonOf(net::Channel& ch, const BundlePlan& plan, uint32_t ours, uint32_t theirs);
// Returns a job of `texts` texts of `tokens` tokens in the fastest common variant for the link. The first of equal ones
// is taken.
store::Job JobFor(const BundlePlan& plan, const Common& common, uint32_t tokens, uint32_t texts = 1,
                  uint32_t entry = 0);

}  // namespace suf::proto
