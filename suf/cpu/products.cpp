#include "suf/cpu/products.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

template <class T>
std::shared_ptr<const ring::PackedOperand<T>> Products::PackedWeight(int input, size_t k, int bits,
                                                                     PackedWeights<T>& cache) {
  const Node& n = tensors_.node(input);
  const size_t cols = tensors_.count(input) / k;
  std::lock_guard l(weights_.m);
  auto& [version, slot] = cache[{tensors_.schedule().trace().name(n.label), bits}];
  if (const uint64_t now = tensors_.of(input).version; !slot || version != now) {
    auto b = tensors_.Words<T>(input, false);
    version = now;
    slot = std::make_shared<const ring::PackedOperand<T>>(ring::Prepare<T>(b.get(), k, cols, cols, bits, variant_));
  }
  return slot;
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
  if (right.op == Op::kInput && one && plain) {
    ring::Multiply<T>(a.get(), k, m * batch, *PackedWeight(n.args[1], k, bits, cache), c, cols, false, pool_);
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
