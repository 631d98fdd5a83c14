// The indexes of a session. It has the lists of segments with which it began. Their W - B comes in parts, of which a
// data owner requests those that it lacks (docs/design/search.md#segments).
#pragma once
#include <memory>

#include "suf/proto/bundle_plan.hpp"
#include "suf/store/home.hpp"
#include "suf/store/segments.hpp"

namespace suf::proto {

// A segment as P0 offers it, with the SHA-256 of W - B of its rows and of its table. Without a table the latter is
// zeros.
struct SegmentOffer {
  store::SealedSegment segment;
  Hash rows{}, table{};
};

// An index as P0 offers it, with its list of that moment.
struct IndexOffer {
  uint32_t number = 0;  // in P0's list of indexes, from 1
  Hash plan{};
  std::vector<SegmentOffer> segments;
  store::SegmentList List() const;
};

// An index that a session may use, at both parties.
struct SessionIndex {
  explicit SessionIndex(IndexOffer o);
  IndexOffer offer;
  store::SegmentList segments;
  // ListHashes of the segments. A bundle may be of any of these lists.
  std::shared_ptr<const std::vector<Hash>> lists;
};

// Returns how many of the segments a list with this hash has. Returns nothing if it is of another index, or from before
// a compaction.
std::optional<size_t> SegmentsOf(const std::vector<Hash>& lists, const Hash& list);

// The masks B of an index, as P0 gives them to the dealer with a request.
struct IndexMask {
  IndexMask() : seed(Share(Secret())) {}
  IndexMask(SharedSecret seed_, const Hash& plan_, store::SegmentList segments_)
      : seed(std::move(seed_)), plan(plan_), segments(std::move(segments_)) {}
  SharedSecret seed;  // zeros: the job has no index
  Hash plan{};
  store::SegmentList segments;  // of the bundle's list
};

// A part of the set-up: W - B of the weights, or of the rows or the table of a segment.
struct SetupPart {
  Hash plan{};  // of the model, or the index plan
  Hash id{};    // weights id, segment id or TableId
  uint64_t bytes = 0;
  Hash hash{};         // SHA-256
  uint32_t index = 0;  // number of the index; 0: the weights
  size_t segment = 0;  // number of the segment in its list
  bool table = false;
  store::SetupName name() const { return {id, index ? plan : Hash{}}; }
};
// Returns the parts of all indexes, in the order in which P0 sends them.
std::vector<SetupPart> PartsOf(const BundlePlan& plan, const std::vector<SessionIndex>& indexes);

// Returns the SHA-256 of the whole set-up, for the parties' MACs: of the weights and of all lists.
Hash SetupDigest(const Hash& weights_setup, const std::vector<SessionIndex>& indexes);

// Encodes offers, at most kMostOfferBytes.
void Put(Writer& w, const std::vector<IndexOffer>& offers);
inline constexpr size_t kMostOfferBytes =
    4 + store::kMostIndexes * (8 + sizeof(Hash) + store::kMostSegments * (store::kSegmentBytes + 2 * sizeof(Hash)));
// Decodes offers. Throws Cause::kRefused if they are cut short. Throws Cause::kPeer, with the quantity and its limit,
// for too many segments, a segment twice, or one without rows.
std::vector<IndexOffer> GetOffers(Reader& r);

}  // namespace suf::proto
