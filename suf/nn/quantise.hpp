// From float weights to the whole numbers that P0 computes with. Folded, exact in real arithmetic: gamma goes into
// every reader of a LayerNorm, the removal of the mean into the matrices whose sum the LayerNorm reads, the value bias
// and beta into biases; the key bias drops out of softmax. (DESIGN 9.) Every float operation is one IEEE double
// operation, sums run from left to right.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "suf/nn/plan.hpp"

namespace suf::nn {

// Tensor: whole numbers, row-major, in the narrowest storage of 16, 32 or 64 bits that holds them all.
class Tensor {
 public:
  Tensor() = default;
  // shape: (rows, columns) or (columns).
  Tensor(std::vector<int64_t> shape, const std::vector<int64_t>& values);
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rows() const { return shape_.size() == 2 ? shape_[0] : 1; }
  int64_t cols() const { return shape_.back(); }
  int64_t size() const { return rows() * cols(); }
  int64_t operator[](int64_t i) const;
  // Row: the words of row i, widened. (cols)
  std::vector<int64_t> Row(int64_t i) const;
  // Words: all of them, two's complement. (rows, cols)
  std::vector<uint64_t> Words() const;
  // Visit: f(const T* data), T the storage type.
  template <class F>
  decltype(auto) Visit(F&& f) const {
    return std::visit([&](const auto& v) -> decltype(auto) { return f(v.data()); }, data_);
  }

 private:
  std::vector<int64_t> shape_;
  std::variant<std::vector<int16_t>, std::vector<int32_t>, std::vector<int64_t>> data_;
};

// Quantised: tensors by name. E (vocab, d), pos (max_tokens, d), gp, bp (d); for layer l: l.Wqk (d, 2 d), l.bqk (2 d),
// l.Wv (d, d), l.Wo (d, d), l.go, l.uo, l.bo (d), l.W1 (d, ff), l.b1 (ff), l.W2 (ff, d), l.g2, l.u2, l.b2 (d). Linear
// maps are (in, out). The pooled bias of n tokens is n bp.
using Quantised = std::map<std::string, Tensor>;

// DiagO, Diag2: how far gamma o n is shifted left in the sum that a LayerNorm reads; MeanO, Mean2: of that, how far the
// mean is not. Throw Cause::kRefused when the scales leave no room.
int DiagO(const Scales& s);
int Diag2(const Scales& s);
inline int MeanO(const Scales& s) { return std::min(s.mean, DiagO(s)); }
inline int Mean2(const Scales& s) { return std::min(s.mean, Diag2(s)); }

// Quantise: throws Cause::kRefused when a value leaves 2^50, naming the tensor.
Quantised Quantise(const Weights& weights, const Scales& scales, int64_t max_tokens);

}  // namespace suf::nn
