// The product of two masked wires: local, and without key: the dealer defines the new mask (DESIGN 9: three local
// products).
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Product: f(x, y) for a bilinear f, in the narrower ring of the two. One flight.
template <class F>
Owing Product(const SharedWire<kPub>& x, const SharedWire<kPub>& y, F f) {
  auto x0 = x.hat - x.s.a;
  auto y0 = y.hat - y.s.a;
  pfss::Own<0> a = f(x0, y0);
  auto left = f(x.s.b, y.hat);
  auto right = f(x.hat, y.s.b);
  auto both = left + right;
  pfss::Own<1> b = -both;
  pfss::Sec owed = f(x.r, y.r);
  auto half = f(x.s.a, y.s.a);
  owed = owed - half;
  return {{a, b}, owed};
}

// MatmulProduct: x (B, M, K) by y (B, K, N), or y (B, N, K) transposed, modulo 2^k.
struct MatmulProduct {
  static constexpr std::string_view kName = "product";
  bool transpose = false;

  static Ints SpecOf(const Ints& x, const Ints& y, int64_t m, int64_t inner, int64_t n, bool transpose, int k);
  Ints Spec(const Ints& x, const Ints& y, int64_t m, int64_t inner, int64_t n, int k) const {
    return SpecOf(x, y, m, inner, n, transpose, k);
  }
  Owing Build(Trace&, const SharedWire<kPub>& x, const SharedWire<kPub>& y) const {
    return Product(x, y, [this](auto a, auto b) { return Matmul(a, b, transpose); });
  }
};

}  // namespace suf::gates
