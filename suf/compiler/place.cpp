#include "suf/compiler/place.hpp"

#include "suf/fss/sizes.hpp"

namespace suf::compiler {

Sec SignOf(Sec bit) {
  Sec e = Lift(bit);
  e = e * 2;
  return e - 1;
}

int64_t PlaceKeyBits(int n) { return n <= kTableBits ? int64_t{1} << n : 2 * int64_t(fss::DpfKeyBits(n)); }

Place::Place(Trace& t, Sec alpha) : t_(t) {
  if (alpha.bits() <= kTableBits) {
    table_ = t.deal(Hot(alpha));
    sign_ = SignOf(Point(table_->a, alpha));
  } else {
    tree_ = t.tree(alpha);
    sign_ = SignOf(t.point_of_p0(*tree_, alpha));
  }
}

Place::Place(Trace& t, const Trace::Tree& fine, Sec alpha, int level) : t_(t), tree_(fine), level_(level) {
  sign_ = SignOf(t.point_of_p0(fine, alpha, level));
}

Sh Place::Read(Pub lo, int m) const {
  if (tree_) return t_.window(*tree_, lo, m, level_);
  return pfss::Map(Sh(*table_), [&](auto v) { return Rotate(v, lo, m); });
}

}  // namespace suf::compiler
