// Polynomials in opened bits t_i = hat_i xor rho_i, with public coefficients (docs/mathematics.md#opened-bits). A
// product of bits is a sum over its subsets, of public factors times a monomial of rho. A monomial is dealt once. In
// the XOR world it costs one bit, and a single rho_i costs nothing. In the arithmetic world each costs a ring word. The
// borrow polynomial has operations of its own (digits.hpp).
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "suf/compiler/words.hpp"

namespace suf::compiler {

// An opened bit for the arithmetic world, as an int: b = hat xor rho = hat + sign rho. A string is split for one world
// only, because both would add nodes to the trace.
struct OpenedBit {
  Pub hat;   // 0 or 1
  Pub sign;  // 1 - 2 hat
  Sec rho;
};
// Splits a string of at most 64 bits for the arithmetic world.
std::vector<OpenedBit> SplitBits(const Wire<kPub>& string);
// Opened bits for the XOR world: bit i is hat[i] + rho[i] in Add(1). `held` are shares of rho[i], which are free.
struct OpenedBits {
  std::vector<Pub> hat;
  std::vector<Sec> rho;
  std::vector<Sh> held;
};
// Splits a string for the XOR world.
OpenedBits SplitBitsX(const SharedWire<kPub>& string);

// A product of at most kMostFactors bits, by index; 1 if there is none. A repeated bit counts once.
using BitProduct = std::vector<int>;
inline constexpr size_t kMostFactors = 16;
// Products and their coefficients.
using WeightedProducts = std::vector<std::pair<int64_t, BitProduct>>;

// Returns shares in Add(1) of the exclusive or of products and a constant. There must be at least one bit.
Sh PolynomialX(Trace& t, const OpenedBits& bits, const std::vector<BitProduct>& products, bool constant);
// Returns the sum of coefficients times products in Z_{2^k}, times a dealer's factor if there is one. Words are as
// narrow as the common powers of two of the coefficients allow.
OwedWord PolynomialA(Trace& t, std::span<const OpenedBit> bits, const WeightedProducts& products, int k,
                     const std::optional<Sec>& times = std::nullopt);

// Returns the key bits of PolynomialX for an element.
int64_t MonomialsX(const std::vector<BitProduct>& products);
// Returns the key bits of PolynomialA for an element, with or without a factor, but without the owed word.
int64_t WordsA(const WeightedProducts& products, int k, bool times = false);

}  // namespace suf::compiler
