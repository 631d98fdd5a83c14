// Types of the values between gates. A composition infers them, and gates check them (docs/gates.md).
#pragma once
#include <cstdint>
#include <string>

#include "suf/pfss/values.hpp"

namespace suf::gates {

// Bounds of numbers; both those of signed and of unsigned numbers of 64 bits fit.
using Bound = __int128;

// kNumber: an integer that stands for itself / 2^scale. kBit: 0 or 1. kMask: a string of 2 to 64 bits under XOR.
enum class ValueKind : uint8_t { kNumber, kBit, kMask };

// The rows of a call: a dimension that a shape leaves open. SetRows replaces it.
inline constexpr int64_t kRows = -1;

// The public facts of a value. A number lies in [low, high], which its width holds.
struct ValueType {
  ValueKind kind = ValueKind::kNumber;
  int bits = 1;           // a number has 1 to 64, a mask 2 to 64, a bit 1
  int scale = 0;          // of a number
  bool is_signed = true;  // of a number: in two's complement
  Bound low = 0, high = 0;
  pfss::Shape shape;

  bool operator==(const ValueType&) const = default;
};

// Returns a number of this width whose range is the whole width.
ValueType WholeNumber(int bits, int scale, bool is_signed, pfss::Shape shape);
// Returns the narrowest number that holds [low, high]; it is signed if low is negative. Throws Cause::kInput, with
// `what`, if it needs more than 64 bits.
ValueType NumberIn(Bound low, Bound high, int scale, pfss::Shape shape, const std::string& what);
ValueType BitOf(pfss::Shape shape);
ValueType MaskOf(int bits, pfss::Shape shape);

// Returns the least k for which [low, high] are words of two's complement in Z_{2^k}.
int SignedBits(Bound low, Bound high);
inline int SignedBits(const ValueType& t) { return SignedBits(t.low, t.high); }
// Returns the type of the low k bits. It is the type itself if it fits, otherwise a signed number of k bits.
ValueType Reduced(const ValueType& t, int k);

// Returns "signed 32:12 [n, 16]", "bit [n]" or "mask of 5 bits [n]".
std::string Name(const ValueType& t);
// Returns "number", "bit" or "mask".
const char* NameOf(ValueKind kind);
// Returns "[n, 16]".
std::string Name(const pfss::Shape& shape);
// Returns `v` in decimal.
std::string Decimal(Bound v);

// Returns the shape to which both broadcast. From the last axis on, lengths are equal, or one is 1 or missing. Throws
// Cause::kInput if there is none.
pfss::Shape Broadcast(const pfss::Shape& a, const pfss::Shape& b);
// Returns the shape with `rows` in place of kRows.
pfss::Shape SetRows(pfss::Shape shape, int64_t rows);

}  // namespace suf::gates
