// The end of a polynomial: P(x) = sum_k T_k(x_hat) d^k (docs/mathematics.md#taylor). T_k is the k-th Taylor coefficient
// at the public x_hat, and d = x - x_hat = -r + 2^n b. The borrow b = 1[x_hat < r] matters only in a ring wider than
// the domain.
#pragma once
#include "suf/compiler/bits.hpp"

namespace suf::compiler {

// Taylor coefficients and powers of d, for one wire and one ring.
class Taylor {
 public:
  // `wrap` is the opened b, only for ring > n and degree > 0.
  Taylor(Trace& t, const Wire<kPub>& x, int ring, int degree, const std::optional<OpenedBit>& wrap);
  // Returns d^k for k = 0 .. degree; the first is 1.
  const std::vector<Factors>& d() const { return d_; }
  // Returns T_k of the polynomial with public coefficients c_0, c_1, ..; nothing if it is zero for every x_hat.
  std::optional<Pub> At(int k, std::span<const uint64_t> c) const;
  // Returns shares of T_k of the polynomial with shared coefficients.
  Sh At(int k, std::span<const Sh> c) const;

 private:
  std::optional<Pub> Power(int k) const { return k ? std::optional(powers_[size_t(k)]) : std::nullopt; }
  Trace& t_;
  int ring_;
  std::vector<Pub> powers_;  // x_hat^k; the first is unused
  std::vector<Factors> d_;
};

// Returns n over k, n <= 15.
uint64_t Binomial(int n, int k);

}  // namespace suf::compiler
