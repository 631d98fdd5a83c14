// Products of two masked wires (docs/mathematics.md#products). If both masks are shared in the result's ring, a product
// is local. It takes no key, because the dealer defines the new mask. Narrower wires take words for their wraps.
#pragma once
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Returns f(x, y) for a bilinear f, in the narrower ring of the two. One flight.
template <class F>
OwedWord Product(const SharedWire<kPub>& x, const SharedWire<kPub>& y, F f) {
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

// The product of x `(B, M, K)` and y `(B, K, N)`, or of y `(B, N, K)` transposed, modulo 2^k.
struct MatmulProduct {
  static constexpr std::string_view kName = "product";
  bool transpose = false;

  static Ints SpecOf(const Ints& x, const Ints& y, int64_t m, int64_t inner, int64_t n, bool transpose, int k);
  Ints Spec(const Ints& x, const Ints& y, int64_t m, int64_t inner, int64_t n, int k) const {
    return SpecOf(x, y, m, inner, n, transpose, k);
  }
  OwedWord Build(Trace&, const SharedWire<kPub>& x, const SharedWire<kPub>& y) const {
    return Product(x, y, [this](auto a, auto b) { return Matmul(a, b, transpose); });
  }
};

// The elementwise product in Z_{2^ring} of numbers |x| < 2^(k-2) and |y| < 2^(m-2), in rings of k and m bits. Each
// number is a - r + 2^k g b with public a and g. Of their nine terms those beyond the ring vanish, and r r' is owed.
// One flight to shares.
struct Multiply {
  static constexpr std::string_view kName = "multiply";
  int ring = 1;

  Ints Spec(const Ints& x, const Ints& y) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& y) const;
  // Returns the key bits of both bundles for an element of wires below 64 bits. `shared`: the result's mask is shared.
  int64_t KeyBits(int k, int m, bool shared) const;
};

// y_ij = x_ij s_i in Z_{2^ring}, of rows x (.., J) and one factor a row, s (..). |x_ij| < 2^(k-2) and |s_i| < 2^(m-2).
// Words of s are dealt once a row. One flight to shares.
struct RowProduct {
  static constexpr std::string_view kName = "row product";
  int ring = 1;

  Ints Spec(const Ints& x, const Ints& s) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& s) const;
  // Returns the key bits of both bundles for a row of J numbers of wires below 64 bits. `shared`: the result's mask is
  // shared.
  int64_t KeyBits(int k, int m, int64_t row, bool shared) const;
};

}  // namespace suf::gates
