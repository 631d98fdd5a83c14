#include "suf/cpu/products.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

// Returns the slot of a version, which it adds if there is none.
template <class T>
static std::shared_ptr<PackedSlot<T>> SlotOf(WeightCache& weights, PackedWeights<T>& cache,
                                             std::pair<std::string, int> key, uint64_t version) {
  std::vector<std::shared_ptr<PackedSlot<T>>> unused;  // wiped without the lock
  const std::lock_guard l(weights.m);
  auto& versions = cache[std::move(key)];
  const auto at = std::find_if(versions.begin(), versions.end(), [&](auto& s) { return s->version == version; });
  if (at != versions.end()) return *at;
  const auto used = std::partition(versions.begin(), versions.end(), [](auto& s) { return s.use_count() > 1; });
  unused.assign(std::move_iterator(used), std::move_iterator(versions.end()));
  versions.erase(used, versions.end());
  return versions.emplace_back(std::make_shared<PackedSlot<T>>(version));
}

template <class T>
const ring::PackedOperand<T>& Products::PackedWeight(int input, size_t k, int bits, PackedWeights<T>& cache) {
  const Node& n = tensors_.node(input);
  const size_t cols = tensors_.count(input) / k;
  auto slot = SlotOf(weights_, cache, {tensors_.schedule().trace().name(n.label), bits}, tensors_.of(input).version);
  used_.push_back(slot);
  const std::lock_guard l(slot->m);
  if (!slot->packed) {
    auto b = tensors_.Words<T>(input, false);
    slot->packed.emplace(ring::Prepare<T>(b.get(), k, cols, cols, bits, variant_));
  }
  return *slot->packed;
}

template <class T>
void Products::MatmulAs(int i, PackedWeights<T>& cache) {
  const Node &n = tensors_.node(i), &right = tensors_.arg(n, 1);
  const size_t m = size_t(n.shape[n.shape.size() - 2]), cols = size_t(n.shape.back()),
               k = size_t(tensors_.arg(n, 0).shape.back()), batch = tensors_.count(i) / (m * cols);
  const bool plain = !n.attrs[0], one = right.shape.size() == 2;
  // The widths that the kernels distinguish.
  const int bits = sizeof(T) == 8 && tensors_.schedule().width(i) <= 52 ? 52 : int(8 * sizeof(T));
  auto a = tensors_.Words<T>(n.args[0], false);
  std::shared_ptr<uint8_t> p = tensors_.Scratch(tensors_.count(i) * sizeof(T));
  T* c = As<T>(p.get());
  if (grouping::ReadsWeight(tensors_.schedule().trace(), i)) {
    ring::Multiply<T>(a.get(), k, m * batch, PackedWeight(n.args[1], k, bits, cache), c, cols, false, pool_);
  } else {
    auto b = tensors_.Words<T>(n.args[1], false);
    auto product = [&](size_t s) {
      ring::Gemm<T>(m, cols, k, a.get() + s * m * k, k, b.get() + (one ? 0 : s * k * cols), plain ? cols : k,
                    plain ? ring::MatrixOrder::kPlain : ring::MatrixOrder::kTransposed, c + s * m * cols, cols, false,
                    pool_, bits, variant_);
    };
    if (batch == 1)
      product(0);
    else
      pool_.For(batch, 1, [&](size_t lo, size_t hi) {
        for (size_t s = lo; s < hi; ++s) product(s);
      });
  }
  const int element = tensors_.element(i);
  if (element == int(sizeof(T))) {
    tensors_.Put(i, {p, element});
  } else {
    auto out = tensors_.Make(i);
    loops_.move[Code(sizeof(T))][Code(element)](p.get(), tensors_.count(i), out.get());
  }
}

void Products::Matmul(int i) {
  const int bits = tensors_.schedule().width(i);
  if (bits <= 16)
    MatmulAs<uint16_t>(i, weights_.p16);
  else if (bits <= 32)
    MatmulAs<uint32_t>(i, weights_.p32);
  else
    MatmulAs<uint64_t>(i, weights_.p64);
}

}  // namespace suf::cpu
