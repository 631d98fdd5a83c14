#include "suf/grouping/element.hpp"

#include <algorithm>

#include "suf/fss/sizes.hpp"

namespace suf::grouping {

int Element(const pfss::Schedule& s, int i) {
  const pfss::Node& n = s.trace().node(i);
  return int(fss::ElementBytes(n.ring.kind == pfss::Ring::kXor ? n.ring.bits : std::max(1, s.width(i))));
}

}  // namespace suf::grouping
