// Types of results that grow: exact bounds, scales and lengths of axes, for the entries of this folder.
#pragma once
#include <utility>

#include "suf/gates/compose/entries.hpp"

namespace suf::gates {

// The least and the largest scale of a result.
inline constexpr int kLeastResultScale = -64, kMostResultScale = 64;

// Returns x y, or +-2^126 if it lies beyond. Both factors lie in [-2^126, 2^126].
Bound BoundedProduct(Bound x, Bound y);
// Returns the least and the largest product of a number of each type. They are exact up to 2^126.
std::pair<Bound, Bound> ProductBounds(const ValueType& x, const ValueType& y);
// Returns the narrowest number that holds [low, high]. Beyond 64 bits it returns a whole number of the statement's
// ring. Throws Cause::kInput if the statement has no ring, or if the scale is out of range.
ValueType NumberOrRing(const GateUse& u, const GateFacts& gate, Bound low, Bound high, int scale, pfss::Shape shape);
// Returns the length of the last axis of an input. Throws Cause::kInput if it has none, or if it has the rows of a
// call.
int64_t LastLength(const GateFacts& gate, const std::string& name, const ValueType& t);
// Returns the shape without its last axis.
pfss::Shape WithoutLast(pfss::Shape shape);

}  // namespace suf::gates
