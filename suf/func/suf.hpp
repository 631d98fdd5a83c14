// The representation of functions (docs/mathematics.md#suf). A structured unary function (SUF) of one fixed-point
// number is a piecewise polynomial with integer coefficients, plus Boolean predicates. Every nonlinear function is
// written once as a SUF; lowerings (compiler) turn it into FSS reads. This file has the data, its checks, its
// exact meaning and the layout of its outputs. See text.hpp for its text, and fit.hpp for fits.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::func {

using U128 = unsigned __int128;  // cutpoints and thresholds: 2^64 is legal

// The polynomials on [begin, next piece's begin). Polynomial j at t = x - begin is sum_i poly[j][i] t^i modulo 2^ring.
// Local coordinates keep coefficients small, and suffice for lowerings that read tables.
struct Piece {
  U128 begin = 0;
  std::vector<std::vector<uint64_t>> poly;  // (outputs, degree + 1), each below 2^ring
  bool operator==(const Piece&) const = default;
};

// A term of a formula:
// * kLt: x < value
// * kLtLow: x mod 2^f < value
// * kMsb: the top bit of x + value mod 2^n
// * kIn: value <= x < upper
// * kNot, kAnd, kOr, kXor: operators
// * kTrue, kFalse: constants
struct Term {
  enum Kind : uint8_t { kLt, kLtLow, kMsb, kNot, kAnd, kOr, kXor, kIn, kTrue, kFalse } kind = kLt;
  int f = 0;
  U128 value = 0, upper = 0;
  bool operator==(const Term&) const = default;
};
// A Boolean expression in postfix order.
using Formula = std::vector<Term>;

// A named output. A bit is formula `source`. A number is the low `bits` bits of polynomial `source`.
struct OutputChannel {
  enum Kind : uint8_t { kBit, kUnsigned, kSigned } kind = kUnsigned;
  int bits = 1;
  int source = 0;
  std::string name;
  bool operator==(const OutputChannel&) const = default;
};

// A structured unary function.
struct Suf {
  std::string name;
  int n = 0;                  // domain Z_{2^n}, 1 .. 64
  int ring = 64;              // polynomials are evaluated modulo 2^ring
  int outputs = 1;            // polynomials of a piece
  int degree = 0;             // a polynomial has degree + 1 coefficients
  std::vector<Piece> pieces;  // by increasing begin, the first at 0
  U128 end = 0;               // <= 2^n; polynomials are 0 from here on
  std::vector<Formula> formulas;
  std::vector<OutputChannel> channels;
  bool operator==(const Suf&) const = default;
};

// Limits of a Suf, which bound the size of its text and of its lowerings.
inline constexpr int kMostOutputs = 64, kMostDegree = 7, kMostFormulas = 64, kMostTerms = 256, kMostChannels = 256,
                     kMostName = 256;
inline constexpr size_t kMostPieces = size_t{1} << 16, kMostCoefficients = size_t{1} << 22;

// Returns whether the text form reads `s` as one word. A word has 1 to kMostName printable bytes and no space. It does
// not begin with #, which begins a comment.
bool IsWord(std::string_view s);
// Throws Cause::kInput, with the fault, if a Suf is not well formed or exceeds a limit.
void Verify(const Suf& f);

// Polynomials and predicates at one point.
struct Value {
  std::vector<uint64_t> poly;  // modulo 2^ring
  std::vector<bool> bits;
};
// Returns the exact values at x < 2^n.
Value Evaluate(const Suf& f, uint64_t x);
// Returns the values of the channels at x, in order; kSigned ones in two's complement.
std::vector<int64_t> Channels(const Suf& f, uint64_t x);

// Constant pieces of one width of a function of x >= 0. Piece v has values[v - lo] on [v 2^w, (v+1) 2^w), lo <= v < hi.
// A function on octaves is a list of groups by increasing w. They cover [0, hi_last 2^w_last) without holes.
struct Octave {
  int w = 0;
  int64_t lo = 0, hi = 0;
  std::vector<int64_t> values;  // hi - lo
};
// A Suf or a function on octaves, prepared once for many points. It has flat arrays, a shift if all pieces have one
// width, and formulas with a single kind of comparison.
class Evaluator {
 public:
  explicit Evaluator(const Suf& f);
  // Prepares a function on octaves modulo 2^ring, as FromGroups makes it, but without formulas and channels.
  Evaluator(std::span<const Octave> groups, int n, int ring);
  // Returns polynomial `output` at x < 2^n, as Evaluate does.
  uint64_t At(uint64_t x, int output = 0) const;
  // Returns formula `formula` at x < 2^n.
  bool Bit(uint64_t x, int formula) const;
  // Returns all formulas at x < 2^n, formula i as bit i.
  uint64_t Bits(uint64_t x) const;
  // Returns the values of the channels at x, as Channels(f, x) does.
  std::vector<int64_t> Channels(uint64_t x) const;
  // Writes the values of the channels at x to `out`, without an allocation.
  void Channels(uint64_t x, std::span<int64_t> out) const;
  size_t channels() const { return channels_.size(); }

 private:
  // A step of a formula. kLeaf is (x + add) & mask <= last.
  struct FormulaStep {
    enum Kind : uint8_t { kLeaf, kConstant, kNot, kAnd, kOr, kXor } kind = kConstant;
    bool value = false;
    uint64_t add = 0, mask = 0, last = 0;
  };
  struct FormulaOutput {
    OutputChannel::Kind kind = OutputChannel::kBit;
    int bits = 1, source = 0;
  };
  static FormulaStep Compiled(const Term& t, int n);
  // Returns the last piece that begins at or before x.
  size_t Find(uint64_t x) const;
  uint64_t In(size_t piece, uint64_t x, int output) const;
  bool Run(uint64_t x, size_t formula) const;

  int n_, ring_, outputs_, width_;  // width: coefficients of a polynomial
  U128 end_;
  std::optional<int> uniform_;
  std::vector<uint64_t> begin_, coefficients_;  // (pieces), (pieces, outputs, width)
  std::vector<FormulaStep> steps_;              // steps of all formulas
  std::vector<uint32_t> formula_{0};            // (formulas + 1): begin of each in steps_
  std::vector<FormulaOutput> channels_;
};

// The place of a channel in packed words of 64 bits.
struct ChannelSlot {
  int word = 0, offset = 0;
};
// Returns the slots of the channels: first fit in channel order, and no channel crosses a word.
std::vector<ChannelSlot> Layout(std::span<const OutputChannel> channels);
// Returns the values of channels as packed words. Of each value the low bits of its channel count.
std::vector<uint64_t> PackWords(std::span<const OutputChannel> channels, std::span<const int64_t> values);
// Returns the channels at x as packed words.
std::vector<uint64_t> Pack(const Suf& f, uint64_t x);
// Reverses PackWords. Bits are 0 or 1, and kSigned channels are in two's complement. A kUnsigned channel of 64 bits is
// to be read as uint64_t. `words` must hold the layout.
std::vector<int64_t> Unpack(std::span<const OutputChannel> channels, std::span<const uint64_t> words);

// Returns a if all pieces have width 2^a and cover the whole domain, otherwise nothing.
std::optional<int> UniformBits(const Suf& f);

// Returns a function on octaves as a Suf.
Suf FromGroups(std::string name, std::span<const Octave> groups, int n, int ring);
// Reverses FromGroups, modulo 2^ring. Consecutive pieces of one width are a group. Values are unsigned or in two's
// complement, as the first channel says. Throws Cause::kInput if f is no function on octaves. Such a function
// has one output of constants. Widths are powers of two, and pieces begin at multiples of their width.
std::vector<Octave> ToGroups(const Suf& f);
// Returns 2^p pieces of width 2^a on Z_{2^(a+p)}: y = a0[i] + b0[i] (x mod 2^a). If b0 is empty, y = a0[i].
Suf Uniform(std::string name, int a, std::span<const int64_t> a0, std::span<const int64_t> b0, int ring);

}  // namespace suf::func
