// A function as lowerings read it: normalised pieces, and every bit of it as an exclusive or of comparisons and of
// products of such bits. Pure data, public, without a wire (docs/mathematics.md#function-passes). Passes, in order:
// normalise -> primitives -> views. Not here: which lowering reads it (choose.hpp), and how (lower.hpp).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "suf/func/suf.hpp"

namespace suf::compiler {

// Of x mod 2^f: 1[x < beta], 0 < beta < 2^f; or, with `top`, bit f - 1 of x + beta.
struct Compare {
  bool top = false;
  int f = 0;
  uint64_t beta = 0;
  auto operator<=>(const Compare&) const = default;
};

// Exclusive or of a constant, comparisons and products, by index, increasing.
struct Bit {
  bool constant = false;
  std::vector<int> compares, products;
  bool operator==(const Bit&) const = default;
};
Bit Exclusive(const Bit& a, const Bit& b);
inline constexpr size_t kMostInProduct = 4;  // of a product: it deals 2^g - g - 1 bits

// The function after its passes.
struct Compiled {
  func::Suf f;  // pieces cover the domain, neighbours differ, the degree is used
  std::vector<Compare> compares;
  std::vector<std::vector<Bit>> products;  // of 2 to kMostInProduct factors, those they read before them
  std::vector<Bit> bits;                   // by formula
  std::vector<Bit> steps;                  // 1[x >= begin of piece j + 1]
  std::vector<uint64_t> coefficients;      // (pieces, outputs, degree + 1) in x itself, modulo 2^ring
  // groups: the function as it was given, where it is one on octaves.
  std::vector<func::Group> groups;

  size_t pieces() const { return f.pieces.size(); }
  uint64_t coefficient(size_t piece, int output, int power) const {
    return coefficients[(piece * size_t(f.outputs) + size_t(output)) * size_t(f.degree + 1) + size_t(power)];
  }
  // grid: the largest a such that every piece begins at a multiple of 2^a; n for one piece.
  int grid() const;
  // index_bits: bits of a piece's number.
  int index_bits() const;
};

// Pieces to the domain's end, equal neighbours as one, no degree that no piece uses.
func::Suf Normalise(const func::Suf& f);
// All passes. Throws Cause::kInput when f does not verify.
Compiled Compile(const func::Suf& f);
// The comparisons, increasing, and the products, increasing, that bits are made of.
struct Used {
  std::vector<int> compares, products;
};
Used UsedBy(const Compiled& c, std::span<const Bit> bits);
// A function of constants on octaves as RowLut reads it, and nothing else prepared: for tables of thousands
// of pieces, which a trace has by the dozen.
Compiled OnOctaves(std::string name, std::vector<func::Group> groups, int n, int ring);
// Coefficients in x itself of a polynomial in x - begin, modulo 2^ring.
std::vector<uint64_t> Powers(const std::vector<uint64_t>& local, uint64_t begin, int ring);

// What the compiled function is at x; Compile's own check, and tests'.
func::Value Eval(const Compiled& c, uint64_t x);
// Of what a pass made: "normalised", "primitives" or "views".
std::string Text(const Compiled& c, std::string_view pass);
inline constexpr const char* kPasses[] = {"normalised", "primitives", "views"};

}  // namespace suf::compiler
