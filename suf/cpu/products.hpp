// Matrix products and their packed operands.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "suf/cpu/tensors.hpp"
#include "suf/ring/gemm.hpp"

namespace suf::cpu {

// A right operand of one version of an input. The first run that needs it packs it under its own lock, so other
// operands stay available meanwhile.
template <class T>
struct PackedSlot {
  explicit PackedSlot(uint64_t v) : version(v) {}
  const uint64_t version;
  std::mutex m;
  std::optional<const ring::PackedOperand<T>> packed;
};
// Right operands by input name and ring.
template <class T>
using PackedWeights = std::map<std::pair<std::string, int>, std::vector<std::shared_ptr<PackedSlot<T>>>>;
// Right operands that are packed once. A version stays until a run brings another one of its input and no run uses it.
// So runs side by side with different weights do not pack them again and again.
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
  // Returns an input as a right operand of k rows, packed now or in another run. It stays until the end of this run.
  template <class T>
  const ring::PackedOperand<T>& PackedWeight(int input, size_t k, int bits, PackedWeights<T>& cache);

  Tensors& tensors_;
  exec::Pool& pool_;
  ring::Isa variant_;
  const StripLoops& loops_;
  WeightCache& weights_;
  std::vector<std::shared_ptr<const void>> used_;  // operands of this run
};

}  // namespace suf::cpu
