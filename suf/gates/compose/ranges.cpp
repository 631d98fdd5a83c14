#include "suf/gates/compose/ranges.hpp"

#include <algorithm>

namespace suf::gates {

Bound BoundedProduct(Bound x, Bound y) {
  const Bound most = Bound{1} << 126;
  const bool negative = (x < 0) != (y < 0);
  const Bound a = x < 0 ? -x : x, b = y < 0 ? -y : y;
  SUF_CHECK(a <= most && b <= most);
  const Bound size = b != 0 && a > most / b ? most : a * b;
  return negative ? -size : size;
}

std::pair<Bound, Bound> ProductBounds(const ValueType& x, const ValueType& y) {
  return std::minmax({BoundedProduct(x.low, y.low), BoundedProduct(x.low, y.high), BoundedProduct(x.high, y.low),
                      BoundedProduct(x.high, y.high)});
}

ValueType NumberOrRing(const GateUse& u, const GateFacts& gate, Bound low, Bound high, int scale, pfss::Shape shape) {
  if (scale < kLeastResultScale || scale > kMostResultScale)
    FailUse(gate, "the result's scale is ", scale, ", and scales lie in ", kLeastResultScale, " to ", kMostResultScale,
            "; lower the scale of an operand first, with trunc");
  const Bound end = Bound{1} << (low < 0 ? 63 : 64);
  const bool fits = low >= -end && high < end;
  if (auto ring = u.set.find("ring"); !fits && ring != u.set.end())
    return WholeNumber(int(ring->second), scale, true, std::move(shape));
  return NumberIn(low, high, scale, std::move(shape), gate.name);
}

int64_t LastLength(const GateFacts& gate, const std::string& name, const ValueType& t) {
  if (t.shape.empty()) FailUse(gate, name, " is a single number and needs an axis; write a shape, as in [16]");
  if (t.shape.back() == kRows)
    FailUse(gate, "the last axis of ", name, " ", Name(t.shape),
            " is the rows of a call; give this axis a fixed length, as in [n, 16]");
  return t.shape.back();
}

pfss::Shape WithoutLast(pfss::Shape shape) {
  shape.pop_back();
  return shape;
}

}  // namespace suf::gates
