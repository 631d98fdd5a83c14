// The id of a lane. P1 draws it, and both parties and the dealer use it.
#pragma once
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

}  // namespace suf::store
