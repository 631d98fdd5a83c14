// The parts of lower.cpp that have files of their own.
#pragma once
#include <algorithm>

#include "suf/compiler/lower.hpp"

namespace suf::compiler::internal {

std::span<const uint64_t> Coefficients(const Compiled& c, size_t piece, int output);
// Whether powers of x need 1[x_hat < r].
bool NeedsWrap(const Compiled& c, int ring);

std::vector<Bit> PieceNumber(const Compiled& c);

// ---- dcf.cpp
std::vector<Owing> StepDcf(Trace& t, const Compiled& c, const Wire<kPub>& x, int ring);
// Constants at x >> shift, read off a DCF on all bits of x; WideDcfKeyBits: of a wire of k bits.
Owing StepDcfOfWide(Trace& t, const Compiled& c, const WideWire& x, int shift, int ring);
int64_t WideDcfKeyBits(int k, int ring);
// ---- dense.cpp
std::vector<Owing> DenseNumbers(Trace& t, const Compiled& c, const Wire<kPub>& x, int ring);
Sh DenseBits(Trace& t, const Compiled& c, const Wire<kPub>& x);
// ---- window.cpp
// Grid: tables of pieces of width 2^a, one an output and power, and rings in which the reads are opened.
struct Grid {
  int a = 0, p = 0, width = 1;                // width: powers of the place in a piece, one where it has one place
  std::vector<std::vector<uint64_t>> tables;  // (outputs x width), 2^p numbers in two's complement
  std::vector<int> bits;                      // (outputs x width): |read| < 2^(bits - 2), or the ring
  // Of the place, unless functions are constant, and of the piece's number.
  std::vector<Cut> Cuts(int shift, bool placed) const {
    std::vector<Cut> cuts;
    if (shift > 0 && placed) cuts.push_back({shift, a + 1});
    if (shift + a > 0) cuts.push_back({shift + a, p});
    return cuts;
  }
};
Grid GridOf(const Compiled& c, int ring);
// Whether a lowering reads a function behind a shift from z's own digits, and needs no wire for x.
bool CutsItself(const Compiled& c, const Lowering& l);
std::vector<Owing> WindowLut(Trace& t, const Compiled& c, const Entry& entry, const Wire<kPub>& z, int ring);
std::vector<Owing> WindowBoth(Trace& t, const Compiled& c, const Entry& entry, const Wire<kPub>& z, int ring,
                              Openings openings);
// How many words of the dealer WindowBoth's borrow multiplies: by power, and by output.
inline int BothReadings(const Compiled& c, const Grid& g) { return g.width + c.f.outputs; }
// In which a read and the step to the neighbour's are opened: |read| < 2^(here - 2), |step| < 2^(step - 2),
// or the result's ring.
struct ReadRings {
  int here, step;
};
// Of WindowBoth's read of output o's n-th Taylor coefficient; of a group of RowLut's on n bits.
inline ReadRings ReadRingsOf(const Grid& g, int o, int n, int ring, Openings openings) {
  if (openings == Openings::kWide) return {ring, ring};
  const int here = std::min(ring, g.bits[size_t(o * g.width + n)]);
  return {here, std::min(ring, here + 1)};
}
// Of WindowBoth's tables at a wire with its offset, cut at bit `cut`: by output and power what the piece
// gives and the step to the piece below, and e, the sign of the place, times powers of r's place.
struct BothReads {
  struct Read {
    Wire<kPub> here, step;
  };
  std::vector<Read> reads;
  std::vector<Sec> power;
};
BothReads ReadBoth(Trace& t, const Compiled& c, const Grid& g, const Wire<kPub>& x, int cut, int ring,
                   Openings openings);
ReadRings ReadRingsOf(const func::Group& g, int n, int ring, Openings openings);
// Some of a row function's cuts, which have digits of their own. RowRuns: all cuts in one where they fit one
// plan, else the lightest runs. Behind a shift digits may be trees, of which all runs share the lowest.
struct RowRun {
  std::vector<Cut> cuts;
  DigitPlan plan;
};
std::vector<RowRun> RowRuns(std::span<const func::Group> groups, int shift, int ring, Stages stages);
// l.steps: by parity a tree at the finest place serves all widths, for less key and more AES blocks; else each has its
// own. The function is of x >> shift.
Owing RowLut(Trace& t, std::span<const func::Group> groups, const WideWire& x, int shift, int ring, const Lowering& l);

}  // namespace suf::compiler::internal
