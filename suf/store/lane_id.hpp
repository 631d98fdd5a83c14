// The id of a lane. P1 draws it, and both parties and the dealer use it.
#pragma once
#include <algorithm>
#include <array>

#include "suf/base/digest.hpp"

namespace suf::store {

// 128 random bits, which are no secret.
using LaneId = std::array<uint8_t, 16>;
inline LaneId NewLaneId() {
  LaneId id;
  RandomBytes(id);
  return id;
}

inline LaneId GetLaneId(Reader& r) {
  LaneId id;
  const View bytes = r.Raw(id.size());
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

}  // namespace suf::store
