#include "suf/gates/compose/value_type.hpp"

#include <algorithm>

#include "suf/base/error.hpp"

namespace suf::gates {

namespace {

// Returns the least number of bits of an unsigned number.
int UnsignedBits(Bound v) {
  int bits = 1;
  while (v >> bits) ++bits;
  return bits;
}

// Returns the least width of two's complement of one number.
int WidthOf(Bound v) { return UnsignedBits(v < 0 ? ~v : v) + ((v < 0 ? ~v : v) != 0); }

}  // namespace

ValueType WholeNumber(int bits, int scale, bool is_signed, pfss::Shape shape) {
  const Bound half = Bound{1} << (bits - 1);
  const Bound low = is_signed ? -half : 0, high = is_signed ? half - 1 : 2 * half - 1;
  return {ValueKind::kNumber, bits, scale, is_signed, low, high, std::move(shape)};
}

ValueType NumberIn(Bound low, Bound high, int scale, pfss::Shape shape, const std::string& what) {
  const bool is_signed = low < 0;
  const int bits = is_signed ? SignedBits(low, high) : UnsignedBits(high);
  if (bits > 64)
    Fail(Cause::kInput, what, " gives numbers from ", Decimal(low), " to ", Decimal(high), ", which need ", bits,
         " bits, over 64; narrow the operands, or keep the low bits with ring=");
  return {ValueKind::kNumber, bits, scale, is_signed, low, high, std::move(shape)};
}

ValueType BitOf(pfss::Shape shape) { return {ValueKind::kBit, 1, 0, false, 0, 1, std::move(shape)}; }

ValueType MaskOf(int bits, pfss::Shape shape) {
  return {ValueKind::kMask, bits, 0, false, 0, (Bound{1} << bits) - 1, std::move(shape)};
}

int SignedBits(Bound low, Bound high) { return std::max(WidthOf(low), WidthOf(high)); }

ValueType Reduced(const ValueType& t, int k) { return t.bits <= k ? t : WholeNumber(k, t.scale, true, t.shape); }

const char* NameOf(ValueKind kind) {
  return kind == ValueKind::kNumber ? "number" : kind == ValueKind::kBit ? "bit" : "mask";
}

std::string Name(const pfss::Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + (shape[i] == kRows ? "n" : Str(shape[i]));
  return out + "]";
}

std::string Name(const ValueType& t) {
  const std::string shape = t.shape.empty() ? "" : " " + Name(t.shape);
  if (t.kind == ValueKind::kBit) return "bit" + shape;
  if (t.kind == ValueKind::kMask) return Str("mask of ", t.bits, " bits", shape);
  return Str(t.is_signed ? "signed " : "unsigned ", t.bits, ":", t.scale, shape);
}

std::string Decimal(Bound v) {
  if (v < 0) return "-" + Decimal(-v);
  std::string out;
  do {
    out += char('0' + int(v % 10));
    v /= 10;
  } while (v);
  std::reverse(out.begin(), out.end());
  return out;
}

pfss::Shape Broadcast(const pfss::Shape& a, const pfss::Shape& b) {
  if (a.size() < b.size()) return Broadcast(b, a);
  pfss::Shape out = a;
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& x = out[out.size() - 1 - i];
    const int64_t y = b[b.size() - 1 - i];
    if (x != y && x != 1 && y != 1)
      Fail(Cause::kInput, "shapes ", Name(a), " and ", Name(b), " do not broadcast: from the last dimension on, ",
           "both must be equal or one of them 1");
    if (x == 1) x = y;
  }
  if (std::count(out.begin(), out.end(), kRows) > 1)
    Fail(Cause::kInput, "shapes ", Name(a), " and ", Name(b),
         " have their rows n on different axes; give both the n on the same one");
  return out;
}

pfss::Shape SetRows(pfss::Shape shape, int64_t rows) {
  std::replace(shape.begin(), shape.end(), kRows, rows);
  return shape;
}

}  // namespace suf::gates
