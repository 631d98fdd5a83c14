#include "suf/compiler/poly.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace suf::compiler {

namespace {

BitProduct Reduced(BitProduct p) {
  std::sort(p.begin(), p.end());
  p.erase(std::unique(p.begin(), p.end()), p.end());
  SUF_CHECK(p.size() <= kMostFactors && (p.empty() || p[0] >= 0));
  return p;
}

// Public coefficients by monomial of rho. A coefficient is a sum of constants times products of opened bits.
using Terms = std::map<BitProduct, WeightedProducts>;

// Inserts t_i = hat_i + (sign of) rho_i in every product.
Terms Expand(const std::map<BitProduct, int64_t>& sum) {
  Terms terms;
  for (auto& [product, c] : sum)
    for (size_t set = 0; set < size_t{1} << product.size(); ++set) {
      BitProduct secret, open;
      for (size_t i = 0; i < product.size(); ++i) (set >> i & 1 ? secret : open).push_back(product[i]);
      terms[secret].push_back({c, open});
    }
  return terms;
}

// Expands the exclusive or of products; equal products cancel.
Terms OfX(const std::vector<BitProduct>& products) {
  std::map<BitProduct, int64_t> sum;
  for (const BitProduct& p : products)
    if (BitProduct r = Reduced(p); !sum.erase(r)) sum[r] = 1;
  return Expand(sum);
}

// Expands a weighted sum. Its coefficients are representatives in [-2^(k-1), 2^(k-1)).
Terms OfA(const WeightedProducts& products, int k) {
  SUF_CHECK(k >= 1 && k <= 64);
  std::map<BitProduct, int64_t> sum;
  for (auto& [c, p] : products) {
    int64_t& all = sum[Reduced(p)];
    all = int64_t((uint64_t(all) + uint64_t(c)) << (64 - k)) >> (64 - k);
  }
  std::erase_if(sum, [](auto& term) { return term.second == 0; });
  return Expand(sum);
}

// Returns the largest s such that 2^s divides all constants of a coefficient.
int Shift(const WeightedProducts& coefficient) {
  int shift = 63;
  for (auto& [c, open] : coefficient) shift = std::min(shift, std::countr_zero(uint64_t(c)));
  return shift;
}
bool Constant(const WeightedProducts& coefficient) { return coefficient.size() == 1 && coefficient[0].second.empty(); }

// Returns the product of bits. It multiplies from the left, so that products with equal beginnings share nodes.
template <class V>
V Times(const std::vector<V>& bits, const BitProduct& p) {
  V v = bits.at(size_t(p[0]));
  for (size_t i = 1; i < p.size(); ++i) v = v * bits.at(size_t(p[i]));
  return v;
}

// Returns the value of a public coefficient divided by 2^shift.
Pub Value(Trace& t, const std::vector<Pub>& hat, const WeightedProducts& coefficient, int shift) {
  std::optional<Pub> sum;
  int64_t constant = 0;
  for (auto& [c, open] : coefficient) {
    if (open.empty()) {
      constant = c >> shift;
      continue;
    }
    Pub term = Times(hat, open);
    term = term * (c >> shift);
    sum = sum ? *sum + term : term;
  }
  if (!sum) return t.constant(constant);
  return *sum + constant;
}

}  // namespace

std::vector<OpenedBit> SplitBits(const Wire<kPub>& string) {
  std::vector<OpenedBit> out;
  for (int i = 0; i < string.hat.bits(); ++i) {
    Pub hat = Lift(BitOf(string.hat, i));
    Pub sign = hat * 2;
    sign = 1 - sign;
    Sec rho = Lift(BitOf(string.r, i));
    out.push_back({hat, sign, rho});
  }
  return out;
}

OpenedBits SplitBitsX(const SharedWire<kPub>& string) {
  Pub hat = Unbits(string.hat);
  Sec rho = Unbits(string.r);
  pfss::Own<0> a = Unbits(pfss::Own<0>(string.s.a));
  pfss::Own<1> b = Unbits(pfss::Own<1>(string.s.b));
  OpenedBits bits;
  for (int64_t i = 0; i < hat.shape()[0]; ++i) {
    bits.hat.push_back(At(hat, i));
    bits.rho.push_back(At(rho, i));
    pfss::Own<0> mine = At(a, i);
    pfss::Own<1> theirs = At(b, i);
    bits.held.push_back({mine, theirs});
  }
  return bits;
}

Sh PolynomialX(Trace& t, const OpenedBits& bits, const std::vector<BitProduct>& products, bool constant) {
  SUF_CHECK(!bits.hat.empty());
  std::optional<Sh> y;
  std::optional<Pub> open;
  for (auto& [secret, coefficient] : OfX(products)) {
    Pub c = Value(t, bits.hat, coefficient, 0);
    if (secret.empty()) {
      open = c;
      continue;
    }
    Sh word = secret.size() == 1 ? bits.held.at(size_t(secret[0])) : Sh(t.deal(Times(bits.rho, secret), 1));
    if (!Constant(coefficient)) word = word * c;
    y = y ? *y + word : word;
  }
  if (!y) y = Zeros(t, bits.hat[0].shape(), 1);
  if (open) y = *y + *open;
  return constant ? *y + 1 : *y;
}

OwedWord PolynomialA(Trace& t, std::span<const OpenedBit> bits, const WeightedProducts& products, int k,
                     const std::optional<Sec>& times) {
  SUF_CHECK(!bits.empty());
  std::vector<Pub> hat, sign;
  std::vector<Sec> rho;
  for (const OpenedBit& b : bits) {
    hat.push_back(b.hat);
    sign.push_back(b.sign);
    rho.push_back(b.rho);
  }
  WordSum y(t, k);
  for (auto& [secret, coefficient] : OfA(products, k)) {
    const int shift = Shift(coefficient);
    Factor f{1, shift, {}, times, {}};
    if (secret.empty() && times && Constant(coefficient)) {  // owed, so it is not dealt
      f.u = *times * (coefficient[0].first >> shift);
    } else {
      f.p = Value(t, hat, coefficient, shift);
    }
    if (!secret.empty()) {
      f.p = *f.p * Times(sign, secret);
      Sec word = Times(rho, secret);
      f.u = times ? word * *times : word;
    }
    y.Add(f);
  }
  return y.Done(bits[0].hat.shape());
}

int64_t MonomialsX(const std::vector<BitProduct>& products) {
  int64_t bits = 0;
  for (auto& [secret, coefficient] : OfX(products)) bits += secret.size() > 1;
  return bits;
}

int64_t WordsA(const WeightedProducts& products, int k, bool times) {
  int64_t bits = 0;
  for (auto& [secret, coefficient] : OfA(products, k))
    if (!secret.empty() || (times && !Constant(coefficient))) bits += k - Shift(coefficient);
  return bits;
}

}  // namespace suf::compiler
