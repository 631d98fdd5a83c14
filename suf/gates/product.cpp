#include "suf/gates/product.hpp"

namespace suf::gates {

static_assert(Gate<MatmulProduct>);

Ints MatmulProduct::SpecOf(const Ints& x, const Ints& y, int64_t m, int64_t inner, int64_t n, bool transpose, int k) {
  int64_t batch = int64_t(x.size()) / (m * inner);
  Ints out;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint64_t sum = 0;
        for (int64_t l = 0; l < inner; ++l)
          sum += uint64_t(x[size_t((b * m + i) * inner + l)]) *
                 uint64_t(y[size_t(transpose ? (b * n + j) * inner + l : (b * inner + l) * n + j)]);
        out.push_back(Number(sum, k));
      }
  return out;
}

}  // namespace suf::gates
