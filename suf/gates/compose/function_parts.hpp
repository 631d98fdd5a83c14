// The parts of a function that a statement reads, as functions for the compiler. Numbers may be read in a ring wider
// than their channel. Bits of intervals are formulas.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "suf/gates/compose/entries.hpp"

namespace suf::gates {

// Limits of the outputs `index` and `hot`.
inline constexpr size_t kMostIndexed = 128, kMostHot = 64;

// An output of a function: a channel, or a string of bits.
struct FunctionPort {
  enum FunctionPortKind : uint8_t { kNumber, kBit, kIndex, kHot, kMask } kind = kNumber;
  int channel = -1;  // of kNumber and kBit
  std::string name;
  int bits = 1;  // of a string: its length
};
// Returns the channels of a function, then those of `index`, `hot` and `mask` that it has. A channel's name wins.
std::vector<FunctionPort> PortsOf(const func::Function& f);
// Returns the begins of the intervals. The rest of the domain is one, if the pieces do not cover it.
std::vector<func::U128> IntervalsOf(const func::Suf& f);
// Returns whether every number of a type is a word of n bits, in two's complement or unsigned.
bool FitsWord(const ValueType& x, int n);

// A channel of numbers over the integers.
struct IntegerChannel {
  // Bounds of all pieces that an x of the type can reach, if they lie within the channel's numbers.
  std::optional<std::pair<Bound, Bound>> range;
  // By piece: coefficients modulo 2^64. With a range, they give the channel's number in every ring. Otherwise they do
  // so modulo 2^bits.
  std::vector<std::vector<uint64_t>> coefficients;
};
IntegerChannel IntegerChannelOf(const func::Suf& f, const func::OutputChannel& channel, const ValueType& x);
// Returns the range of a channel of a Split, if its tables' results cannot wrap.
std::optional<std::pair<Bound, Bound>> IntegerRange(const func::Split& f);

// The functions that a statement reads of a Suf.
struct FunctionParts {
  // One function for each kMostFormulas formulas. The numbers are outputs of the first one.
  std::vector<func::Suf> functions;
  std::vector<int> outputs;            // by port: the output of a number; otherwise -1
  std::vector<std::vector<int>> bits;  // by port: its formulas, numbered through all functions
  int ring = 1;                        // of all numbers
};
// Returns the parts that ports with `read` need, for numbers in these rings. Throws Cause::kInput if a ring is wider
// than a channel whose numbers can wrap.
FunctionParts PartsOf(const GateFacts& gate, const func::Suf& f, const std::vector<FunctionPort>& ports,
                      const ValueType& x, const std::vector<bool>& read, const std::vector<int>& rings);

}  // namespace suf::gates
