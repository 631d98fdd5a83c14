// Polynomials in opened bits, with public coefficients: t_i = hat_i xor rho_i, so a product of bits is a sum over its
// subsets of what is public times a monomial of rho, which the dealer shares once. In the exclusive-or world a monomial
// costs one bit and a bit alone nothing; in the arithmetic world each is a ring word.
// (docs/mathematics.md#borrow.) The borrow polynomial of digits has operations of its own: digits.hpp.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "suf/compiler/words.hpp"

namespace suf::compiler {

// An opened string is taken apart for one world or the other: a form is nodes of the trace, and neither world reads
// the other's.
// OpenedBit: of the arithmetic world, a bit as an int, b = hat xor rho = hat + sign rho.
struct OpenedBit {
  Pub hat;   // 0 or 1
  Pub sign;  // 1 - 2 hat
  Sec rho;
};
// Of a string of at most 64 bits.
std::vector<OpenedBit> Apart(const Wire<kPub>& string);
// Of the exclusive-or world: bit i is hat[i] + rho[i] in Add(1), where each sign is 1; held: shares of
// rho[i], which are free.
struct OpenedBits {
  std::vector<Pub> hat;
  std::vector<Sec> rho;
  std::vector<Sh> held;
};
OpenedBits ApartX(const SharedWire<kPub>& string);

// Of bits, by index; of no bit it is 1. A bit that stands in it twice is one. At most kMostFactors bits.
using Product = std::vector<int>;
inline constexpr size_t kMostFactors = 16;
// Products and their coefficients.
using Weighted = std::vector<std::pair<int64_t, Product>>;

// Shares in Add(1) of the exclusive or of products and constant. There is at least one bit.
Sh PolynomialX(Trace& t, const OpenedBits& bits, const std::vector<Product>& products, bool constant);
// The sum of coefficients times products in Z_{2^k}, times a dealer's factor if there is one. Words are as
// narrow as the coefficients' common powers of two let them be.
Owing PolynomialA(Trace& t, std::span<const OpenedBit> bits, const Weighted& products, int k,
                  const std::optional<Sec>& times = std::nullopt);

// Bits of key an element of PolynomialX alone.
int64_t MonomialsX(const std::vector<Product>& products);
// Bits of key an element of PolynomialA alone, with or without a factor; less what Settle deals.
int64_t WordsA(const Weighted& products, int k, bool times = false);

}  // namespace suf::compiler
