// How a polynomial ends: P(x) = sum_k T_k(x_hat) d^k with the k-th Taylor coefficient T_k at the public x_hat and d = x
// - x_hat = -r + 2^n b, where the borrow b = 1[x_hat < r] matters only in a ring wider than the domain
// (docs/mathematics.md#taylor).
#pragma once
#include "suf/compiler/bits.hpp"

namespace suf::compiler {

// The public side, for one wire and one ring.
class Taylor {
 public:
  // wrap: b, opened; only for ring > n and degree > 0.
  Taylor(Trace& t, const Wire<kPub>& x, int ring, int degree, const std::optional<OpenedBit>& wrap);
  // d: its powers, d^k, k = 0 .. degree; the first is 1.
  const std::vector<Factors>& d() const { return d_; }
  // T_k of the polynomial with coefficients c_0, c_1, .. (public words); nothing when it is zero for every x_hat.
  std::optional<Pub> At(int k, std::span<const uint64_t> c) const;
  // The same of shared coefficients.
  Sh At(int k, std::span<const Sh> c) const;

 private:
  std::optional<Pub> Power(int k) const { return k ? std::optional(powers_[size_t(k)]) : std::nullopt; }
  Trace& t_;
  int ring_;
  std::vector<Pub> powers_;  // x_hat^k; the first is not read
  std::vector<Factors> d_;
};

// n over k, n <= 15.
uint64_t Binomial(int n, int k);

}  // namespace suf::compiler
