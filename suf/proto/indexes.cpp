#include "suf/proto/indexes.hpp"

#include <algorithm>
#include <set>

namespace suf::proto {

store::SegmentList IndexOffer::List() const {
  store::SegmentList list;
  for (const SegmentOffer& s : segments) list.push_back(s.segment);
  return list;
}

SessionIndex::SessionIndex(IndexOffer o)
    : offer(std::move(o)),
      segments(offer.List()),
      lists(std::make_shared<const std::vector<Hash>>(store::ListHashes(offer.plan, segments))) {}

std::optional<size_t> SegmentsOf(const std::vector<Hash>& lists, const Hash& list) {
  const auto at = std::find(lists.begin(), lists.end(), list);
  if (at == lists.end()) return std::nullopt;
  return size_t(at - lists.begin());
}

std::vector<SetupPart> PartsOf(const BundlePlan& plan, const std::vector<SessionIndex>& indexes) {
  std::vector<SetupPart> parts;
  for (const SessionIndex& index : indexes)
    for (const bool table : {false, true})
      for (size_t i = 0; i < index.segments.size(); ++i) {
        const SegmentOffer& s = index.offer.segments[i];
        const uint64_t bytes = plan.part_bytes(index.offer.plan, s.segment.rows, table);
        const Hash id = table ? store::TableId(s.segment.id) : s.segment.id;
        if (bytes)
          parts.push_back({index.offer.plan, id, bytes, table ? s.table : s.rows, index.offer.number, i, table});
      }
  return parts;
}

Hash SetupDigest(const Hash& weights_setup, const std::vector<SessionIndex>& indexes) {
  if (indexes.empty()) return weights_setup;
  std::vector<IndexOffer> offers;
  for (const SessionIndex& index : indexes) offers.push_back(index.offer);
  Writer w;
  Put(w, offers);
  return HashOf({AsView("suf set-up"), weights_setup, w.bytes()});
}

void Put(Writer& w, const std::vector<IndexOffer>& offers) {
  w.Put(uint32_t(offers.size()));
  for (const IndexOffer& o : offers) {
    w.Put(o.number);
    w.Raw(o.plan);
    w.Put(uint32_t(o.segments.size()));
    for (const SegmentOffer& s : o.segments) {
      store::Put(w, s.segment);
      w.Raw(s.rows);
      w.Raw(s.table);
    }
  }
}

std::vector<IndexOffer> GetOffers(Reader& r) {
  std::vector<IndexOffer> offers;
  const auto count = r.Get<uint32_t>();
  if (count > store::kMostIndexes)
    Fail(Cause::kPeer, "the model owner offers ", count, " indexes; at most ", store::kMostIndexes, " are possible");
  for (uint32_t i = 0; i < count; ++i) {
    IndexOffer& o = offers.emplace_back();
    o.number = r.Get<uint32_t>();
    o.plan = r.GetHash();
    const auto segments = r.Get<uint32_t>();
    if (segments > store::kMostSegments)
      Fail(Cause::kPeer, "the model owner's index has ", segments, " segments; at most ", store::kMostSegments,
           " are possible; have its operator compact it");
    std::set<Hash> ids;
    for (uint32_t k = 0; k < segments; ++k) {
      SegmentOffer& s = o.segments.emplace_back();
      s.segment = store::GetSegment(r);
      s.rows = r.GetHash();
      s.table = r.GetHash();
      if (s.segment.rows < 1 || s.segment.rows > store::kMostSegmentRows)
        Fail(Cause::kPeer, "segment ", k, " of the model owner's index has ", s.segment.rows,
             " rows; the limits are 1 and ", store::kMostSegmentRows, "; have its operator create it again");
      if (!ids.insert(s.segment.id).second)
        Fail(Cause::kPeer, "segment ", k, " of the model owner's index is there twice; have its operator create it ",
             "again");
    }
  }
  return offers;
}

}  // namespace suf::proto
