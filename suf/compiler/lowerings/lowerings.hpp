// Lowerings that have files of their own, for lower.cpp.
#pragma once
#include <algorithm>

#include "suf/compiler/lower.hpp"

namespace suf::compiler::internal {

// Returns the coefficients of a piece in x itself.
std::span<const uint64_t> Coefficients(const CompiledFunction& c, size_t piece, int output);
// Returns whether powers of x need 1[x_hat < r].
bool NeedsWrap(const CompiledFunction& c, int ring);

// Returns the bits of the piece's number.
std::vector<Bit> PieceNumber(const CompiledFunction& c);

// ---- dcf.cpp
std::vector<OwedWord> StepDcf(Trace& t, const CompiledFunction& c, const Wire<kPub>& x, int ring);
// Reads constants at x >> shift, by a DCF on all bits of x.
OwedWord StepDcfOfWide(Trace& t, const CompiledFunction& c, const WideWire& x, int shift, int ring);
// Returns the key bits of StepDcfOfWide on a wire of k bits, for an element.
int64_t WideDcfKeyBits(int k, int ring);
// ---- dense.cpp
std::vector<OwedWord> DenseNumbers(Trace& t, const CompiledFunction& c, const Wire<kPub>& x, int ring);
Sh DenseBits(Trace& t, const CompiledFunction& c, const Wire<kPub>& x);
// ---- window.cpp
// Tables of 2^p pieces of width 2^a, and the rings in which the reads are opened.
struct PieceGrid {
  // `width` is the number of powers of the place in a piece; 1 if a piece has a single place.
  int a = 0, p = 0, width = 1;
  std::vector<std::vector<uint64_t>> tables;  // (outputs x width), 2^p numbers in two's complement
  std::vector<int> bits;                      // (outputs x width): |read| < 2^(bits - 2), or the ring.
  // Returns the cuts of the place, if `placed`, and of the piece's number.
  std::vector<Cut> Cuts(int shift, bool placed) const {
    std::vector<Cut> cuts;
    if (shift > 0 && placed) cuts.push_back({shift, a + 1});
    if (shift + a > 0) cuts.push_back({shift + a, p});
    return cuts;
  }
};
PieceGrid GridOf(const CompiledFunction& c, int ring);
// Returns powers 0 .. width - 1 of the secret part of a place, -r + 2^(a+1) g b, as summands. `place` is Lifted's.
std::vector<Factors> SecretPowers(const PieceGrid& grid, const Factors& place);
// Returns the n-th Taylor coefficient of a polynomial at a public place. Its coefficients are entries first ..
// first + width - 1 of `values`.
Sh TaylorAt(const Sh& values, int64_t first, int width, int n, Pub place);
// Returns whether a lowering reads a function behind a shift from z's own digits, without a wire for x.
bool ReadsOwnDigits(const CompiledFunction& c, const Lowering& l);
std::vector<OwedWord> WindowLut(Trace& t, const CompiledFunction& c, const CutReading& entry, const Wire<kPub>& z,
                                int ring);
std::vector<OwedWord> WindowBoth(Trace& t, const CompiledFunction& c, const CutReading& entry, const Wire<kPub>& z,
                                 int ring, Openings openings);
// Returns how many words of the dealer WindowBoth's borrow multiplies: one for each power and each output.
inline int BothReadings(const CompiledFunction& c, const PieceGrid& g) { return g.width + c.f.outputs; }
// The bits of the rings in which a read and the step to its neighbour are opened. Either |read| < 2^(here - 2) and
// |step| < 2^(step - 2), or the ring is that of the result.
struct ReadRings {
  int here, step;
};
// Returns the rings of WindowBoth's read of the n-th Taylor coefficient of output o.
inline ReadRings ReadRingsOf(const PieceGrid& g, int o, int n, int ring, Openings openings) {
  if (openings == Openings::kWide) return {ring, ring};
  const int here = std::min(ring, g.bits[size_t(o * g.width + n)]);
  return {here, std::min(ring, here + 1)};
}
// The reads of WindowBoth's tables.
struct BothReads {
  // The read of a piece, and the step to the piece below.
  struct Read {
    Wire<kPub> here, step;
  };
  std::vector<Read> reads;  // by output and power
  std::vector<Sec> power;   // the sign e of the place times powers of r's place
};
// Reads WindowBoth's tables at a wire with its offset, cut at bit `cut`.
BothReads ReadBoth(Trace& t, const CompiledFunction& c, const PieceGrid& g, const Wire<kPub>& x, int cut, int ring,
                   Openings openings);
// Returns the rings of RowLut's read of a group on n bits.
ReadRings ReadRingsOf(const func::Octave& g, int n, int ring, Openings openings);
// Cuts of a row function that share digits.
struct RowRun {
  std::vector<Cut> cuts;
  DigitPlan plan;
};
// Returns one run of all cuts if they fit one plan, otherwise the runs with the fewest key bits. Behind a shift digits
// may be trees, and all runs share the lowest tree.
std::vector<RowRun> RowRuns(std::span<const func::Octave> groups, int shift, int ring, Stages stages);
// Reads constants on octaves at x >> shift. If l.steps is kParity, a tree at the finest place serves all widths, with
// less key and more AES blocks. Otherwise each width has its own table or tree.
OwedWord RowLut(Trace& t, std::span<const func::Octave> groups, const WideWire& x, int shift, int ring,
                const Lowering& l);

}  // namespace suf::compiler::internal
