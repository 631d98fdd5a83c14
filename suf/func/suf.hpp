// The function IR: a SUF (structured unary function) is a piecewise polynomial with integer coefficients plus Boolean
// predicates of one fixed-point number. Every nonlinear function is written once as a SUF; lowerings (compiler room)
// turn it into FSS reads. (docs/mathematics.md#suf.) Here: the data, its verifier, its exact meaning, the layout of its
// outputs. text.hpp prints and parses, fit.hpp makes SUFs.
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

// x in [begin, next piece's begin) -> polynomial j at t = x - begin: sum_i poly[j][i] t^i modulo 2^ring. Local
// coordinates keep coefficients small, and lowerings that read tables need no other.
struct Piece {
  U128 begin = 0;
  std::vector<std::vector<uint64_t>> poly;  // (outputs, degree + 1), each below 2^ring
  bool operator==(const Piece&) const = default;
};

// Formula: a Boolean expression in postfix order.
//   kLt [beta]: x < beta;  kLtLow [f, gamma]: x mod 2^f < gamma;  kMsb [c]: top bit of x + c mod 2^n;  kNot, kAnd, kOr,
//   kXor;  kIn [a, b]: a <= x < b;  kTrue, kFalse.
struct Term {
  enum Kind : uint8_t { kLt, kLtLow, kMsb, kNot, kAnd, kOr, kXor, kIn, kTrue, kFalse } kind = kLt;
  int f = 0;
  U128 value = 0, upper = 0;  // upper: the b of kIn
  bool operator==(const Term&) const = default;
};
using Formula = std::vector<Term>;

// One named output. A bit comes from formula `source`, a number from polynomial `source`, of which it keeps
// `bits` low bits.
struct Channel {
  enum Kind : uint8_t { kBit, kUnsigned, kSigned } kind = kUnsigned;
  int bits = 1;
  int source = 0;
  std::string name;
  bool operator==(const Channel&) const = default;
};

struct Suf {
  std::string name;
  int n = 0;                  // domain Z_{2^n}, 1 .. 64
  int ring = 64;              // polynomials are evaluated modulo 2^ring
  int outputs = 1;            // polynomials a piece
  int degree = 0;             // coefficients a polynomial, less one
  std::vector<Piece> pieces;  // by increasing begin, the first at 0
  U128 end = 0;               // <= 2^n; polynomials are 0 at and after it
  std::vector<Formula> formulas;
  std::vector<Channel> channels;
  bool operator==(const Suf&) const = default;
};

// Limits of a Suf, so that its text and what is made of it stay of reasonable size.
inline constexpr int kMostOutputs = 64, kMostDegree = 7, kMostFormulas = 64, kMostTerms = 256, kMostChannels = 256,
                     kMostName = 256;
inline constexpr size_t kMostPieces = size_t{1} << 16, kMostCoefficients = size_t{1} << 22;

// Whether the text form reads `s` as one word: 1 to kMostName bytes, printable, no space, and no # in
// front, which begins a comment.
bool IsWord(std::string_view s);
// Throws Cause::kInput with a sentence when a Suf is not well formed, or over a limit.
void Verify(const Suf& f);

// Polynomials and predicates at one point.
struct Value {
  std::vector<uint64_t> poly;  // modulo 2^ring
  std::vector<bool> bits;
};
// The exact meaning, for x < 2^n.
Value Evaluate(const Suf& f, uint64_t x);
// The channels' values at x in order; kSigned ones in two's complement.
std::vector<int64_t> Channels(const Suf& f, uint64_t x);

// Pieces of one width of a function of x >= 0: [v 2^w, (v+1) 2^w) has values[v - lo], v in [lo, hi). A function
// on octaves is a list of groups by increasing w that cover [0, hi_last 2^w_last) without holes, the first from 0.
struct Group {
  int w = 0;
  int64_t lo = 0, hi = 0;
  std::vector<int64_t> values;  // hi - lo
};
// A Suf or a function on octaves, prepared once for many points: flat arrays, a shift where all pieces have
// one width, and formulas whose comparisons are all of one kind.
class Evaluator {
 public:
  explicit Evaluator(const Suf& f);
  // Of groups modulo 2^ring, as FromGroups makes a function of them; it has no formulas and no channels.
  Evaluator(std::span<const Group> groups, int n, int ring);
  // Polynomial `output` at x < 2^n, as Evaluate has it.
  uint64_t At(uint64_t x, int output = 0) const;
  // Formula `formula` at x < 2^n. Bits: all of them, formula i as bit i.
  bool Bit(uint64_t x, int formula) const;
  uint64_t Bits(uint64_t x) const;
  // As Channels(f, x) has them; into `out` without an allocation, one number a channel.
  std::vector<int64_t> Channels(uint64_t x) const;
  void Channels(uint64_t x, std::span<int64_t> out) const;
  size_t channels() const { return channels_.size(); }

 private:
  // Of a formula. kLeaf: (x + add) & mask <= last.
  struct Step {
    enum Kind : uint8_t { kLeaf, kConstant, kNot, kAnd, kOr, kXor } kind = kConstant;
    bool value = false;
    uint64_t add = 0, mask = 0, last = 0;
  };
  struct Output {
    Channel::Kind kind = Channel::kBit;
    int bits = 1, source = 0;
  };
  static Step Compiled(const Term& t, int n);
  size_t Find(uint64_t x) const;  // the last piece that begins at or before x
  uint64_t In(size_t piece, uint64_t x, int output) const;
  bool Run(uint64_t x, size_t formula) const;

  int n_, ring_, outputs_, width_;  // width: coefficients a polynomial
  U128 end_;
  std::optional<int> uniform_;
  std::vector<uint64_t> begin_, coefficients_;  // (pieces), (pieces, outputs, width)
  std::vector<Step> steps_;                     // of all formulas
  std::vector<uint32_t> formula_{0};            // (formulas + 1): where each begins in steps_
  std::vector<Output> channels_;
};

// Where a channel lies in packed words of 64 bits: first fit in channel order, no field across a word.
struct Slot {
  int word = 0, offset = 0;
};
std::vector<Slot> Layout(std::span<const Channel> channels);
std::vector<uint64_t> Pack(const Suf& f, uint64_t x);
// The inverse of Pack, with the channels' types: bits are 0 or 1, kSigned in two's complement. A kUnsigned
// channel of 64 bits is the uint64_t of its number. `words` must hold the layout.
std::vector<int64_t> Unpack(std::span<const Channel> channels, std::span<const uint64_t> words);

// A when all pieces are 2^a wide and cover the whole domain, as WindowLut needs.
std::optional<int> UniformBits(const Suf& f);

// The same function as a piecewise constant Suf.
Suf FromGroups(std::string name, std::span<const Group> groups, int n, int ring);
// The inverse: consecutive pieces of one width are a group, values are those of the first channel's kind
// (unsigned, or in two's complement), equal to what FromGroups was given modulo 2^ring. Throws Cause::kInput for what
// is no function on octaves: other than one output of constants, widths that are no powers of two, pieces that do not
// begin at a multiple of their width.
std::vector<Group> ToGroups(const Suf& f);
// 2^p pieces of width 2^a on Z_{2^(a+p)}: y = a0[i] + b0[i] (x mod 2^a); b0 may be empty (constants).
Suf Uniform(std::string name, int a, std::span<const int64_t> a0, std::span<const int64_t> b0, int ring);

}  // namespace suf::func
