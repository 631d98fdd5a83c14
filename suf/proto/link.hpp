// The link between two parties, measured in their greeting where the plan has several variants that both allow, and
// the variant that both choose for it. Frames of fixed lengths and zeros: nothing secret is in them, and the choice
// depends on public things alone. docs/security.md#link (what a choice of variant tells).
#pragma once
#include <optional>

#include "suf/proto/bundle_plan.hpp"

namespace suf::proto {

// MeasureLink: at both ends at once, P1's role begins. Round trip: the least of four small frames; rate: of the second
// of two large frames each way, as the first opens the transport's window. 8 round trips and 4 large frames in all;
// each frame within the channel's time-out. Each side then says what it saw, and both take the longer round trip and
// the lower rate, within kLongestTrip and the rates below. Ends the session (Cause::kPeer) where the peer says more.
inline constexpr size_t kLargeProbe = size_t{256} << 10;
inline constexpr uint64_t kLongestTrip = 10'000'000, kLowestRate = 1'000, kHighestRate = 1'000'000'000'000;
Link MeasureLink(net::Channel& ch);

// The variants that both parties of a session allow, as bits, and their link where these are several.
struct Common {
  uint32_t variants = 1;
  std::optional<Link> link = {};
};
// Those that the plan has, as bits.
uint32_t AllVariants(const BundlePlan& plan);
// Of what both say; ends the session (Refusal::kVariant) where there is none.
uint32_t CommonOf(net::Channel& ch, const BundlePlan& plan, uint32_t ours, uint32_t theirs);
// So many tokens in the common variant that takes least over the link; of equal ones the first.
store::Job JobFor(const BundlePlan& plan, const Common& common, uint32_t tokens);

}  // namespace suf::proto
