// Lowerings of a compiled function on a masked wire x = x_hat - r in Z_{2^n} (docs/mathematics.md#lowerings). A
// lowering combines comparison bits (bits.hpp), a selection of the piece, an end of the polynomial, and dense forms. No
// lowering knows a function by name. Its shape and keys do not depend on masks.
#pragma once
#include <string>
#include <vector>

#include "suf/compiler/digits.hpp"
#include "suf/compiler/passes.hpp"

namespace suf::compiler {

// The source of comparisons:
// * kParity: prefix parities of a table or a tree; no flight
// * kDigits: borrows in two stages; one flight
// * kBlocks: borrows in three stages; two flights
enum class StepSource : uint8_t { kParity, kDigits, kBlocks };

// A method to compute the numbers of a function, or its bits.
enum class Kind : uint8_t {
  kConstant,    // one constant piece: no flight, no key
  kStepDcf,     // a DCF with payload (1, r, .., r^d) is read at each cutpoint: no flight; IntervalLut for constants
  kOpenSteps,   // the bit of each step is opened, and monomials finish: one flight more than the steps
  kIndex,       // the number of the piece is opened bit by bit, and selects in a one-hot table: two flights more
  kWindowLut,   // pieces on a grid: piece and place are opened, and a one-hot table is read: three to five flights
  kWindowBoth,  // pieces on a grid: a piece and the one below are read, and the borrow selects: one to three flights
  kRowLut,      // constants on octaves, read as by kWindowBoth
  kHorner,      // as kIndex, then a product for each degree
  kDense,       // the whole truth table: no flight, n <= 16
  kPacked,      // bits only: an exclusive or of comparisons; products take a flight for each level
};

// The ring in which WindowBoth and RowLut open their reads. Wide is the ring of the result. Narrow leaves a gap around
// the entries, and words of the dealer lift the read. It sends fewer bits and takes a larger key.
enum class Openings : uint8_t { kWide, kNarrow };

// One way to lower numbers or bits.
struct Lowering {
  Kind kind = Kind::kIndex;
  StepSource steps =
      StepSource::kDigits;       // for kOpenSteps, kIndex, kHorner and kPacked; in kRowLut kParity is one tree
  Stages stages = Stages::kOne;  // for the cuts of kWindowLut, kWindowBoth and kRowLut
  Openings openings = Openings::kWide;
  bool operator==(const Lowering&) const = default;
};
// Returns the name of a lowering for a function: "StepDcf", "IntervalLut", "Parity+Open", "Index/digits",
// "WindowLut/2", "RowLut/2/narrow", ..
std::string Name(const CompiledFunction& c, const Lowering& l);
// Returns the name of a lowering for any function.
std::string Name(const Lowering& l);

// The lowerings of a whole function. A part that the function lacks is ignored.
struct Choice {
  Lowering numbers, bits;
  bool operator==(const Choice&) const = default;
};
std::string Name(const CompiledFunction& c, const Choice& choice);

// Returns why the lowering does not apply to the function's numbers, as one clause; empty if it applies.
std::string WhyNotNumbers(const CompiledFunction& c, const Lowering& l);
// Returns why the lowering does not apply to the function's bits, as one clause; empty if it applies.
std::string WhyNotBits(const CompiledFunction& c, const Lowering& l);
// Returns all lowerings of numbers, whether they apply or not, in a fixed order.
std::vector<Lowering> AllForNumbers();
// Returns all lowerings of bits, whether they apply or not, in a fixed order.
std::vector<Lowering> AllForBits();

// The shares of F(x).
struct FunctionShares {
  std::vector<OwedWord> numbers;  // one for each output, in Z_{2^ring}
  std::optional<OwedWord> bits;   // Xor(formulas): bit i is formula i
};
// Emits a function at a wire of f.n bits, in scopes `name`/Coeff and `name`/Pred. The numbers are in Z_{2^ring},
// ring <= f.ring.
FunctionShares Lower(Trace& t, const CompiledFunction& c, const Choice& choice, const Wire<kPub>& x, int ring);

// The argument of a function behind a shift: `floor((z + offset) / 2^shift) mod 2^(k - shift)` of a wire z in Z_{2^k}.
struct CutReading {
  int shift = 0;
  uint64_t offset = 0;
  Stages stages = Stages::kOne;  // stages of the cut, if the lowering needs a wire for x
  bool operator==(const CutReading&) const = default;
};
// Emits a function behind a shift.
FunctionShares Lower(Trace& t, const CompiledFunction& c, const Choice& choice, const CutReading& entry,
                     const Wire<kPub>& z, int ring);

// Emits a function on octaves at x >> shift, with c.f.n = k - shift, by RowLut or StepDcf. It reads the wire itself, so
// the shift takes no stage (docs/mathematics.md#wide-squares).
OwedWord LowerRow(Trace& t, const CompiledFunction& c, const Lowering& l, const WideWire& x, int shift, int ring);
// Returns the key bits of LowerRow for an element of both bundles, with the owed word dealt.
int64_t RowKeyBits(const CompiledFunction& c, const Lowering& l, int shift, int ring);

// Table entries at a wire's value, times a sign e = +-1 that only the dealer knows.
struct Reading {
  Sh values;  // (C, ..), times e
  Sec sign;   // e, (..)
};
// Reads C tables (C, 2^k) at a wire of k <= 10 bits, by a one-hot table at its mask. No flight.
Reading ReadTables(Trace& t, const Wire<kPub>& i, Const tables);

// Returns the lowering of numbers with this name, or nothing.
std::optional<Lowering> NumbersNamed(std::string_view name);
// Returns the lowering of bits with this name, or nothing.
std::optional<Lowering> BitsNamed(std::string_view name);

// Returns the key bits of the numbers for an element of both bundles, with all owed words dealt. If numbers and bits
// read one view by parity, both together cost less than the sum.
int64_t NumbersKeyBits(const CompiledFunction& c, const Lowering& l, const CutReading& entry, int ring,
                       fss::DcfScheme scheme = fss::DcfScheme::kSuf);
// Returns the key bits of the bits for an element of both bundles, with all owed words dealt.
int64_t BitsKeyBits(const CompiledFunction& c, const Lowering& l);

}  // namespace suf::compiler
