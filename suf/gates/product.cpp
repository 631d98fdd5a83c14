#include "suf/gates/product.hpp"

#include <algorithm>

namespace suf::gates {

static_assert(Gate<MatmulProduct> && Gate<Multiply> && Gate<RowProduct>);

Ints Multiply::Spec(const Ints& x, const Ints& y) const {
  Ints out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(Number(uint64_t(x[i]) * uint64_t(y[i]), ring));
  return out;
}

OwedWord Multiply::Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& y) const {
  SUF_CHECK(x.k() >= 2 && y.k() >= 2 && x.shape() == y.shape());
  compiler::WordSum z(t, ring);
  compiler::Factors left = compiler::Centred(x), right = compiler::Centred(y);  // the trace needs this order
  z.Add(left, right);
  return z.Done();
}

int64_t Multiply::KeyBits(int k, int m, bool shared) const {
  auto word = [&](int past) { return int64_t(std::max(0, ring - past)); };  // bits of a word times 2^past
  return 2 * word(0) + 2 * word(k) + 2 * word(m) + word(k + m) + (shared ? ring : 0);
}

Ints RowProduct::Spec(const Ints& x, const Ints& s) const {
  const size_t row = x.size() / s.size();
  Ints out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(Number(uint64_t(x[i]) * uint64_t(s[i / row]), ring));
  return out;
}

OwedWord RowProduct::Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& s) const {
  SUF_CHECK(x.k() >= 2 && s.k() >= 2 && x.shape().size() == s.shape().size() + 1);
  compiler::WordSum y(t, ring);
  compiler::Factors left = compiler::Centred(x);
  compiler::Factors right;
  for (compiler::Factor f : compiler::Centred(s)) {
    if (f.p) f.p = Column(*f.p);
    if (f.u) f.u = Column(*f.u);
    right.push_back(f);
  }
  y.Add(left, right);
  return y.Done();
}

int64_t RowProduct::KeyBits(int k, int m, int64_t row, bool shared) const {
  auto word = [&](int past) { return int64_t(std::max(0, ring - past)); };
  const int64_t once = word(0) + word(m), each = word(0) + 2 * word(k) + word(m) + word(k + m);
  return once + row * (each + (shared ? ring : 0));
}

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
