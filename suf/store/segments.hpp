// The segments of a model owner's index, as all three roles know them: names and sizes, no row.
#pragma once
#include <span>
#include <vector>

#include "suf/base/digest.hpp"

namespace suf::store {

// The most segments of an index, and rows of a segment.
inline constexpr size_t kMostSegments = 1024;
inline constexpr uint32_t kMostSegmentRows = uint32_t{1} << 24;

// A sealed segment. Its id covers its rows, its documents, its first row and the index plan.
struct SealedSegment {
  Hash id{};
  uint32_t rows = 0;
  bool operator==(const SealedSegment&) const = default;
};
using SegmentList = std::vector<SealedSegment>;

// Returns the hashes of all lists with which this one began, from that of no segment to its own. A bundle has the hash
// of the list that was there when it was dealt.
inline std::vector<Hash> ListHashes(const Hash& index_plan, std::span<const SealedSegment> segments) {
  std::vector<Hash> hashes{HashOf({AsView("suf list"), index_plan})};
  for (const SealedSegment& s : segments)
    hashes.push_back(HashOf({hashes.back(), s.id, View(reinterpret_cast<const uint8_t*>(&s.rows), sizeof s.rows)}));
  return hashes;
}

// Returns the id under which W - B of a segment's table is stored, and its B drawn.
inline Hash TableId(const Hash& segment) { return HashOf({AsView("suf table"), segment}); }

// Returns the rows of all segments.
inline int64_t RowsOf(std::span<const SealedSegment> segments) {
  int64_t rows = 0;
  for (const SealedSegment& s : segments) rows += s.rows;
  return rows;
}

// Bytes of an encoded segment.
inline constexpr size_t kSegmentBytes = sizeof(Hash) + sizeof(uint32_t);
inline void Put(Writer& w, const SealedSegment& s) {
  w.Raw(s.id);
  w.Put(s.rows);
}
inline SealedSegment GetSegment(Reader& r) {
  SealedSegment s;
  s.id = r.GetHash();
  s.rows = r.Get<uint32_t>();
  return s;
}

}  // namespace suf::store
