// P0's whole numbers: a weight at its binary scale, in narrow storage.
#pragma once
#include <string>
#include <variant>

#include "suf/nn/array.hpp"

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
  // The words of row i, widened. (cols)
  Ints Row(int64_t i) const;
  // All of them, two's complement.
  std::vector<uint64_t> Words() const;
  // As doubles, which hold them exactly.
  Reals Numbers() const;
  // Visit: f(const T* data), T the storage type.
  template <class F>
  decltype(auto) Visit(F&& f) const {
    return std::visit([&](const auto& v) -> decltype(auto) { return f(v.data()); }, data_);
  }

 private:
  Shape shape_;
  std::variant<std::vector<int16_t>, std::vector<int32_t>, std::vector<int64_t>> data_;
};

// floor(a 2^scale + 1/2). Throws Cause::kRefused when a value leaves 2^50, naming the weight.
Tensor Fixed(const std::string& name, Shape shape, const Reals& a, int scale);

}  // namespace suf::nn
