// Products of two masked wires. Of wires with shared masks in the result's ring: local, and without key: the dealer
// defines the new mask (docs/mathematics.md#products). Of narrower wires: words for how often each wraps.
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

// x (B, M, K) by y (B, K, N), or y (B, N, K) transposed, modulo 2^k.
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

// y = x y elementwise in Z_{2^ring}, of numbers |x| < 2^(k-2) and |y| < 2^(m-2) in rings of k and m bits.
// Each is a - r + 2^k g b with public a and g: nine terms, of which those past the ring vanish; r r' is owed. One
// flight to shares.
struct Multiply {
  static constexpr std::string_view kName = "multiply";
  int ring = 1;

  Ints Spec(const Ints& x, const Ints& y) const;
  Owing Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& y) const;
  // An element of both bundles, for two wires of less than 64 bits; `shared`: the result's mask is shared.
  int64_t KeyBits(int k, int m, bool shared) const;
};

// y_ij = x_ij s_i in Z_{2^ring}: a row's one factor, |s_i| < 2^(m-2), times its numbers, |x_ij| < 2^(k-2);
// x (.., J), s (..). Words of s are dealt once a row. One flight to shares.
struct RowProduct {
  static constexpr std::string_view kName = "row product";
  int ring = 1;

  Ints Spec(const Ints& x, const Ints& s) const;
  Owing Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& s) const;
  // Of a row of J numbers, of both bundles, for two wires of less than 64 bits.
  int64_t KeyBits(int k, int m, int64_t row, bool shared) const;
};

}  // namespace suf::gates
