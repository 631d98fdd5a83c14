// A spline of degree 3 by Horner's rule, the classical way: a piece's coefficients are selected, then each degree is a
// product of masked wires (docs/mathematics.md#lowerings). Index makes the same function in fewer flights.
#pragma once
#include <array>

#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = ((c3 u + c2) u + c1) u + c0 in Z_{2^ring}, u = x - begin of the piece in which x of [0, 2^k) lies. Two
// pieces or more, by increasing begin, the first at 0. Flights to shares: five beside those of the comparisons (one,
// two or three by parity, digits or blocks).
struct Cubic {
  static constexpr std::string_view kName = "cubic";
  struct Piece {
    uint64_t begin = 0;
    std::array<int64_t, 4> c{};  // c0 .. c3
  };
  std::vector<Piece> pieces;
  int ring = 1;
  compiler::Lowering lowering{compiler::Kind::kHorner, compiler::Steps::kDigits, Stages::kOne};

  Ints Spec(const Ints& x, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // An element of both bundles, the owed word dealt.
  int64_t KeyBits(int k) const;
};

}  // namespace suf::gates
