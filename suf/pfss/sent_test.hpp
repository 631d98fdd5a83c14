// For tests of all rooms that emit traces: what a schedule sends under a label.
#pragma once
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// Bits of both parties in messages of this label.
inline int64_t SentUnder(const Schedule& s, const std::string& label) {
  int64_t bits = 0;
  for (auto& f : s.frames())
    for (auto& part : f.parts) {
      const Node& n = s.trace().node(part.node);
      if (s.trace().name(n.label) == label) bits += Size(n.shape) * n.ring.bits;
    }
  return bits;
}

}  // namespace suf::pfss
