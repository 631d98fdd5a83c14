// Gates that find the largest of many numbers, and where they stand (docs/mathematics.md#duels, #ranks). Numbers are
// words of Z_{2^k}. Every comparison is the top bit of a difference, so each gate is exact for all words. It compares
// numbers if their differences lie in [-2^(k-1), 2^(k-1)).
#pragma once
#include <optional>

#include "suf/compiler/poly.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// Numbers, and where each one comes from.
struct PlacedWires {
  Wire<kPub> number;                // (.., n) in Z_{2^k}
  std::optional<Wire<kPub>> place;  // (P, .., n) in Z_2: the bits of the places, the lowest first; none if P = 0
};
struct PlacedInts {
  Ints number, place;
};

// A round of tournaments. Neighbours meet along the first axis of x (S, ..). The second of two wins if the first less
// the second has its top bit set. So the first one wins if both are equal. If S is odd, the last row waits. The result
// has ceil(S / 2) rows. A winner keeps the bits of its place and gets one more on top, 1 for the second of two. That
// bit costs no key, because it is the opened result of the comparison.
//
// Flights: 2 by parity, 3 by digits, 4 by blocks. Both results are opened.
struct Duel {
  static constexpr std::string_view kName = "duel";
  compiler::StepSource steps = compiler::StepSource::kDigits;

  // `rows` is S; `planes` is P.
  PlacedInts Spec(const PlacedInts& x, int k, int64_t rows, int planes) const;
  PlacedWires Build(Trace& t, const PlacedWires& x) const;
  // Returns both bundles' key bits for two numbers that meet.
  int64_t KeyBits(int k, int planes) const;
};

// The ranks of x (.., n) in its rows, n > 1, in Z_{2^ring}: how many others beat a number. Of two numbers the later one
// wins if the earlier less the later has its top bit set. So of equal numbers the earlier one wins. All pairs are
// compared.
//
// Flights to shares: 1 by parity, 2 by digits, 3 by blocks.
struct Ranks {
  static constexpr std::string_view kName = "ranks";
  compiler::StepSource steps = compiler::StepSource::kDigits;
  int ring = 1;
  std::optional<int64_t> floor;  // adds [x < floor] of each number, in the same flights

  struct RankShares {
    OwedWord rank;
    std::optional<compiler::OpenedBit> under;
  };
  Ints Spec(const Ints& x, int k, int64_t row) const;
  Ints SpecUnder(const Ints& x, int k) const;
  RankShares BuildBoth(Trace& t, const Wire<kPub>& x) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const { return BuildBoth(t, x).rank; }
  // Returns both bundles' key bits for a row of n numbers. No word is owed.
  int64_t KeyBits(int k, int64_t row) const;
};

// The `keep` numbers of least rank in each row of x (.., n), keep < n, in the order of their ranks. The result is
// (.., keep). A place gets the bits of the number within the row on top, log2 n rounded up. If several
// numbers share a rank, the entry is their sum, and bits of their places are added modulo 2.
//
// Flights: 4 by parity, 5 by digits, 6 by blocks. Both results are opened, under shared masks.
struct TopOfGroup {
  static constexpr std::string_view kName = "top of group";
  compiler::StepSource steps = compiler::StepSource::kDigits;
  int64_t keep = 1;

  PlacedInts Spec(const PlacedInts& x, int k, int64_t row, int planes) const;
  PlacedWires Build(Trace& t, const PlacedWires& x) const;
  // Returns both bundles' key bits for a row of n numbers.
  int64_t KeyBits(int k, int64_t row, int planes) const;
};

// Returns the bits that number things 0 .. n - 1.
int BitsToCount(int64_t n);
// Returns the factors whose sum is an opened bit.
compiler::Factors BitFactors(const compiler::OpenedBit& b);

}  // namespace suf::gates
