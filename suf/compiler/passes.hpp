// The form of a function that lowerings read (docs/mathematics.md#function-passes). Its pieces are normalised. Its bits
// are exclusive ors of comparisons and of products of such bits. It is public data without a wire. The passes are
// normalise -> primitives -> views. Lowerings are in lower.hpp, and their choice is in choose.hpp.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "suf/func/suf.hpp"

namespace suf::compiler {

// A comparison on x mod 2^f: 1[x < beta] with 0 < beta < 2^f or, if `top`, bit f - 1 of x + beta.
struct Compare {
  bool top = false;
  int f = 0;
  uint64_t beta = 0;
  auto operator<=>(const Compare&) const = default;
};

// The exclusive or of a constant, comparisons and products, which are increasing indices into Compiled.
struct Bit {
  bool constant = false;
  std::vector<int> compares, products;
  bool operator==(const Bit&) const = default;
};
// Returns a xor b.
Bit operator^(const Bit& a, const Bit& b);
inline constexpr size_t kMostInProduct = 4;  // factors of a product; g factors deal 2^g - g - 1 bits

// A function after all passes.
struct CompiledFunction {
  func::Suf f;  // pieces cover the domain, neighbours differ, the degree is used
  std::vector<Compare> compares;
  std::vector<std::vector<Bit>> products;  // 2 to kMostInProduct factors each; a product follows those that it reads
  std::vector<Bit> bits;                   // by formula
  std::vector<Bit> steps;                  // 1[x >= begin of piece j + 1]
  std::vector<uint64_t> coefficients;      // (pieces, outputs, degree + 1) in x itself, modulo 2^ring
  std::vector<func::Octave> groups;        // the function as given, if it is on octaves

  size_t pieces() const { return f.pieces.size(); }
  // Returns a coefficient in x itself, modulo 2^ring.
  uint64_t coefficient(size_t piece, int output, int power) const {
    return coefficients[(piece * size_t(f.outputs) + size_t(output)) * size_t(f.degree + 1) + size_t(power)];
  }
  // Returns the largest a such that every piece begins at a multiple of 2^a; n for a single piece.
  int grid() const;
  // Returns the bits of a piece's number.
  int index_bits() const;
};

// Returns f with pieces up to the end of the domain. Equal neighbours are joined, and unused degrees are dropped.
func::Suf Normalise(const func::Suf& f);
// Runs all passes. Throws Cause::kInput if f does not verify.
CompiledFunction Compile(const func::Suf& f);
// The increasing indices of comparisons and products that some bits read.
struct BitOperands {
  std::vector<int> compares, products;
};
// Returns the comparisons and products that the bits read, directly or by a product.
BitOperands UsedBy(const CompiledFunction& c, std::span<const Bit> bits);
// Prepares constants on octaves for RowLut alone. A trace has dozens of such tables with thousands of pieces.
CompiledFunction OnOctaves(std::string name, std::vector<func::Octave> groups, int n, int ring);
// Returns the coefficients in x of a polynomial in x - begin, modulo 2^ring.
std::vector<uint64_t> Powers(const std::vector<uint64_t>& local, uint64_t begin, int ring);

// Evaluates the compiled function at x, for Compile's own check and for tests.
func::Value Eval(const CompiledFunction& c, uint64_t x);
// Returns the result of a pass as text: "normalised", "primitives" or "views".
std::string PassText(const CompiledFunction& c, std::string_view pass);
inline constexpr const char* kPasses[] = {"normalised", "primitives", "views"};

}  // namespace suf::compiler
