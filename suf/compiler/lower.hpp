// Lowerings: what a compiled function becomes on a masked wire, x = x_hat - r in Z_{2^n}. Each is a combination of four
// parts: where the bits of comparisons come from (bits.hpp), how a piece is selected, how the polynomial ends, and
// dense forms. No lowering knows a function by name; its shape and keys depend on no mask.
// (docs/mathematics.md#lowerings.)
#pragma once
#include <string>
#include <vector>

#include "suf/compiler/digits.hpp"
#include "suf/compiler/passes.hpp"

namespace suf::compiler {

// Where comparisons come from. Parity: a prefix parity of a table or a tree, no flight. Digits, blocks: borrows
// in two and three stages, one and two flights.
enum class Steps : uint8_t { kParity, kDigits, kBlocks };

// How the numbers of a function, or its bits, are made.
enum class Kind : uint8_t {
  kConstant,    // one constant piece: no flight, no key
  kStepDcf,     // a DCF with payload (1, r, .., r^d), read at every cutpoint: no flight (IntervalLut for constants)
  kOpenSteps,   // each step's bit is opened, monomials finish: one flight more than its steps
  kIndex,       // the piece's number is opened bit by bit, a one-hot table at its mask is read: two more
  kWindowLut,   // pieces on a grid: piece and place are opened, a one-hot table is read: three, or four, or five
  kWindowBoth,  // pieces on a grid: a piece and the one below are read, the borrow selects: one, two or three
  kRowLut,      // constants on octaves: likewise
  kHorner,      // as Index, then a product a degree
  kDense,       // the whole truth table: no flight, n <= 16
  kPacked,      // of bits: an exclusive or of comparisons; products are opened, a flight a level
};

// The ring in which WindowBoth and RowLut open what they read. Wide: the result's. Narrow: with a gap about
// the entries, lifted by words of the dealer: fewer bits sent, more key.
enum class Openings : uint8_t { kWide, kNarrow };

struct Lowering {
  Kind kind = Kind::kIndex;
  Steps steps = Steps::kDigits;  // of OpenSteps, Index, Horner, Packed; RowLut: parity is one tree
  Stages stages = Stages::kOne;  // of the cuts of WindowLut, WindowBoth and RowLut
  Openings openings = Openings::kWide;
  bool operator==(const Lowering&) const = default;
};
// "StepDcf", "IntervalLut", "Parity+Open", "Index/digits", "WindowLut/2", "RowLut/2/narrow", ..
std::string Name(const Compiled& c, const Lowering& l);
std::string Name(const Lowering& l);

// Of a whole function; a part that the function does not have is not read.
struct Choice {
  Lowering numbers, bits;
  bool operator==(const Choice&) const = default;
};
std::string Name(const Compiled& c, const Choice& choice);

// WhyNotNumbers, WhyNotBits: empty if the lowering applies to that part of the function, else one clause why not.
std::string WhyNotNumbers(const Compiled& c, const Lowering& l);
std::string WhyNotBits(const Compiled& c, const Lowering& l);
// AllForNumbers, AllForBits: all lowerings, whether they apply or not, in one fixed order.
std::vector<Lowering> AllForNumbers();
std::vector<Lowering> AllForBits();

// What the parties hold of F(x).
struct Lowered {
  std::vector<Owing> numbers;  // an output each, in Z_{2^ring}
  std::optional<Owing> bits;   // Xor(formulas): bit i is formula i
};
// Emits, with scopes `name`/Coeff and `name`/Pred. ring <= f.ring: of the numbers. The wire has f.n bits.
Lowered Lower(Trace& t, const Compiled& c, const Choice& choice, const Wire<kPub>& x, int ring);

// Cutpoint reading: x = floor((z + offset) / 2^shift) mod 2^(k - shift) of a wire z in Z_{2^k}.
struct Entry {
  int shift = 0;
  uint64_t offset = 0;
  Stages stages = Stages::kOne;  // of the cut, where the lowering needs x as a wire of its own
  bool operator==(const Entry&) const = default;
};
Lowered Lower(Trace& t, const Compiled& c, const Choice& choice, const Entry& entry, const Wire<kPub>& z, int ring);

// A function on octaves of x >> shift, c.f.n = k - shift, by RowLut or StepDcf at the un-truncated wire: no
// stage for the shift. RowKeyBits: an element of both bundles, the owed word dealt. (docs/mathematics.md#wide-squares)
Owing LowerRow(Trace& t, const Compiled& c, const Lowering& l, const WideWire& x, int shift, int ring);
int64_t RowKeyBits(const Compiled& c, const Lowering& l, int shift, int ring);

// e x the table's entries at a wire's value; sign = e, +-1, the dealer's.
struct Reading {
  Sh values;  // (C, ..)
  Sec sign;   // (..)
};
// A one-hot table at the wire's mask (k <= 10 bits) selects from C tables (C, 2^k). No flight.
Reading ReadTables(Trace& t, const Wire<kPub>& i, Const tables);

// NumbersNamed, BitsNamed: the lowering of that name, in any function's words; nothing when there is none.
std::optional<Lowering> NumbersNamed(std::string_view name);
std::optional<Lowering> BitsNamed(std::string_view name);

// Closed forms: key bits an element of both bundles, every owed word dealt. (Where numbers and bits read one view by
// parity, both together cost less than the sum.)
int64_t NumbersKeyBits(const Compiled& c, const Lowering& l, const Entry& entry, int ring,
                       fss::DcfScheme scheme = fss::DcfScheme::kSuf);
int64_t BitsKeyBits(const Compiled& c, const Lowering& l);

}  // namespace suf::compiler
