// Matrix products and their packed operands.
#pragma once
#include <map>
#include <mutex>

#include "suf/cpu/tensors.hpp"
#include "suf/ring/gemm.hpp"

namespace suf::cpu {

// Right operands by input name and ring, each with the version of its input.
template <class T>
using PackedWeights =
    std::map<std::pair<std::string, int>, std::pair<uint64_t, std::shared_ptr<const ring::PackedOperand<T>>>>;
// Right operands that are packed once. Every run uses them until their input has another version.
struct WeightCache {
  std::mutex m;
  PackedWeights<uint16_t> p16;
  PackedWeights<uint32_t> p32;
  PackedWeights<uint64_t> p64;
};

// The matrix products of a run. It knows which kernel a width needs and which weights are packed already.
class Products {
 public:
  Products(Tensors& tensors, exec::Pool& pool, ring::Isa variant, WeightCache& weights)
      : tensors_(tensors), pool_(pool), variant_(variant), loops_(LoopsFor(variant)), weights_(weights) {}
  // Computes node i, a kMatmul.
  void Matmul(int i);

 private:
  template <class T>
  void MatmulAs(int i, PackedWeights<T>& cache);
  // Returns an input as a right operand of k rows, packed now or in an earlier run.
  template <class T>
  std::shared_ptr<const ring::PackedOperand<T>> PackedWeight(int input, size_t k, int bits, PackedWeights<T>& cache);

  Tensors& tensors_;
  exec::Pool& pool_;
  ring::Isa variant_;
  const StripLoops& loops_;
  WeightCache& weights_;
};

}  // namespace suf::cpu
