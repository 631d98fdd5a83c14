// P0's whole numbers: a weight at its binary scale, in narrow storage.
#pragma once
#include <string>
#include <variant>

#include "suf/nn/graph/array.hpp"

namespace suf::nn {

// Whole numbers, row-major, in the narrowest storage of 16, 32 or 64 bits that holds them all.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Shape shape, const Ints& values);
  const Shape& shape() const { return shape_; }
  int64_t cols() const { return shape_.back(); }
  int64_t rows() const { return size() / cols(); }
  int64_t size() const { return Size(shape_); }
  int64_t operator[](int64_t i) const;
  // Returns the words of row i, widened: (cols).
  Ints Row(int64_t i) const;
  // Returns all elements as words, in two's complement.
  std::vector<uint64_t> Words() const;
  // Returns all elements as doubles, which hold them exactly.
  Reals Numbers() const;
  // Calls f(const T* data), with T the storage type.
  template <class F>
  decltype(auto) Visit(F&& f) const {
    return std::visit([&](const auto& v) -> decltype(auto) { return f(v.data()); }, data_);
  }

 private:
  Shape shape_;
  std::variant<std::vector<int16_t>, std::vector<int32_t>, std::vector<int64_t>> data_;
};

// Returns floor(a 2^scale + 1/2). Throws Cause::kRefused, naming the weight, if a value leaves 2^50.
Tensor Fixed(const std::string& name, Shape shape, const Reals& a, int scale);

}  // namespace suf::nn
