// Values on the edges of a graph: tensors of reals (the float model) or of whole numbers (the specification).
#pragma once
#include <cstdint>
#include <vector>

#include "suf/pfss/values.hpp"

namespace suf::nn {

using pfss::Shape;
using pfss::Size;

using Reals = std::vector<double>;
using Ints = std::vector<int64_t>;

// A row-major tensor: rows of `cols()` values. A score's shape is (heads, n, n).
template <class T>
struct Array {
  Shape shape;
  std::vector<T> at;
  int64_t cols() const { return shape.back(); }
  int64_t rows() const { return int64_t(at.size()) / cols(); }
};
using RealArray = Array<double>;
using IntArray = Array<int64_t>;

}  // namespace suf::nn
