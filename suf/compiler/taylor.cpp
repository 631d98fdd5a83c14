#include "suf/compiler/taylor.hpp"

#include "suf/ring/modular.hpp"

namespace suf::compiler {

uint64_t Binomial(int n, int k) {
  uint64_t v = 1;
  for (int i = 0; i < k; ++i) v = v * uint64_t(n - i) / uint64_t(i + 1);
  return v;
}

Taylor::Taylor(Trace& t, const Wire<kPub>& x, int ring, int degree, const std::optional<OpenedBit>& wrap)
    : t_(t), ring_(ring) {
  const int n = x.k();
  powers_.resize(size_t(degree) + 1);
  d_.resize(size_t(degree) + 1);
  d_[0] = {Factor{}};
  if (degree == 0) return;
  SUF_CHECK(wrap.has_value() == (ring > n));
  Sec r = Lift(x.r);
  Sec power = r;
  std::optional<Sec> other, other_power;
  if (wrap) {
    other = t.constant(int64_t(uint64_t{1} << n)) - r;  // 2^n - r
    other_power = other;
  }
  Pub hat = Lift(x.hat);
  powers_[1] = hat;
  for (int k = 1; k <= degree; ++k) {
    if (k > 1) {
      powers_[size_t(k)] = powers_[size_t(k) - 1] * hat;
      power = power * r;
      if (wrap) other_power = *other_power * *other;
    }
    Factors& d = d_[size_t(k)];
    d.push_back({k % 2 ? -1 : 1, 0, {}, power, {}});
    if (!wrap) continue;
    // b ((2^n - r)^k - (-r)^k), a multiple of 2^n
    Sec step = k % 2 ? *other_power + power : *other_power - power;
    step = step >> n;
    d.push_back({1, n, wrap->hat, step, {}});
    Sec both = step * wrap->rho;
    d.push_back({1, n, wrap->sign, both, {}});
  }
}

std::optional<Pub> Taylor::At(int k, std::span<const uint64_t> c) const {
  std::optional<Pub> sum;
  for (size_t q = size_t(k); q < c.size(); ++q) {
    uint64_t v = c[q] * Binomial(int(q), k) & ring::Mask(ring_);
    if (!v) continue;
    Const word = t_.constant(int64_t(v));
    Pub term = word;
    if (std::optional<Pub> p = Power(int(q) - k)) term = *p * word;
    sum = sum ? *sum + term : term;
  }
  return sum;
}

Sh Taylor::At(int k, std::span<const Sh> c) const {
  Sh sum = c[size_t(k)];
  for (size_t q = size_t(k) + 1; q < c.size(); ++q) {
    Sh term = c[q] * *Power(int(q) - k);
    sum = sum + term * int64_t(Binomial(int(q), k));
  }
  return sum;
}

}  // namespace suf::compiler
