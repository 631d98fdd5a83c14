// The id of a lane. P1 draws it, and both parties and the dealer use it.
#pragma once
#include <algorithm>
#include <array>

#include "suf/base/digest.hpp"

namespace suf::store {

// Random bits, which are no secret. With a list of dealers, the second half is a hash of the dealer's key and of the
// first half. So a lane keeps its dealer, which alone knows the serials that it dealt and witnessed.
using LaneId = std::array<uint8_t, 16>;
inline LaneId NewLaneId() {
  LaneId id;
  RandomBytes(id);
  return id;
}

// Returns the id that begins as this one does and belongs to this dealer.
inline LaneId OfDealer(LaneId id, const Hash& dealer) {
  const auto half = id.begin() + id.size() / 2;
  const Hash bound = HashOf({AsView("suf lane"), View(id).first(id.size() / 2), dealer});
  std::copy_n(bound.begin(), id.end() - half, half);
  return id;
}
inline bool BelongsTo(const LaneId& id, const Hash& dealer) { return id == OfDealer(id, dealer); }

inline LaneId GetLaneId(Reader& r) {
  LaneId id;
  const View bytes = r.Raw(id.size());
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

// The kind of lane that P1 needs for a session.
struct LaneWish {
  Hash dealer{};        // a new lane belongs to this dealer; zeros: to none
  bool listed = false;  // whether older lanes must belong to the dealer as well

  // The number of the model owner's process that the session prefers, from 0, and how many there are, 1 to 255. A lane
  // keeps its place, because its preprocessed bundles lie in that process's store.
  uint8_t place = 0, places = 1;
  bool Fits(const LaneId& id) const { return (!listed || BelongsTo(id, dealer)) && id[0] % places == place; }
  // Whether an older lane with this id may be opened. With a known dealer, an empty one that belongs to none is left. A
  // model owner with a list of dealers would refuse it.
  bool Takes(const LaneId& id, bool empty) const {
    return Fits(id) && (dealer == Hash{} || !empty || BelongsTo(id, dealer));
  }
  // Returns a new id that fits.
  LaneId Draw() const {
    for (;;) {
      const LaneId id = dealer == Hash{} ? NewLaneId() : OfDealer(NewLaneId(), dealer);
      if (Fits(id)) return id;
    }
  }
};

}  // namespace suf::store
