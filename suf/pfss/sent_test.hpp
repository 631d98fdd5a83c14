// The bits that a schedule sends under a label, for tests of all modules that emit traces.
#pragma once
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// Returns the bits that both parties send in messages with this label.
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
