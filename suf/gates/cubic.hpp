// A spline of degree 3 by Horner's rule (docs/mathematics.md#lowerings). The coefficients of a piece are selected, and
// each degree takes a product of masked wires. The lowering Index computes the same function in fewer flights.
#pragma once
#include <array>

#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = `((c3 u + c2) u + c1) u + c0` in Z_{2^ring}, with u = x - begin of the piece that contains x in [0, 2^k). There
// are at least two pieces, by increasing begin, the first at 0. Flights to shares: five, plus those of the comparisons
// (one by parity, two by digits, three by blocks).
struct Cubic {
  static constexpr std::string_view kName = "cubic";
  struct CubicPiece {
    uint64_t begin = 0;
    std::array<int64_t, 4> c{};  // c0 .. c3
  };
  std::vector<CubicPiece> pieces;
  int ring = 1;
  compiler::Lowering lowering{compiler::Kind::kHorner, compiler::StepSource::kDigits, Stages::kOne};

  Ints Spec(const Ints& x, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const;
  // Returns the key bits of both bundles for an element, with the owed word dealt.
  int64_t KeyBits(int k) const;
};

}  // namespace suf::gates
