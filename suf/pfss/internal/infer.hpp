// The shape and ring of an operation, inferred from its operands.
#pragma once
#include "suf/pfss/trace.hpp"

namespace suf::pfss::internal {

// Returns the shape that two shapes broadcast to, as in numpy. Throws Bug if they do not fit.
Shape Elementwise(const Shape& a, const Shape& b);
// Sets n.shape and n.ring. Throws Bug if the operands do not fit.
void Infer(const NodeList& nodes, Node& n);

}  // namespace suf::pfss::internal
