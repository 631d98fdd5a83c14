// Shape and ring of every operation, from its operands.
#pragma once
#include <vector>

#include "suf/pfss/trace.hpp"

namespace suf::pfss::internal {

// Numpy's broadcast shape.
Shape Elementwise(const Shape& a, const Shape& b);
// Fills n.shape and n.ring; throws Bug on operands that do not fit.
void Infer(const std::vector<Node>& nodes, Node& n);

}  // namespace suf::pfss::internal
