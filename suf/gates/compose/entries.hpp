// The entries of the library's gates, by file, for All alone. And parts that several of them use.
#pragma once
#include "suf/gates/compose/registry.hpp"

namespace suf::gates {

// Adds a gate of the library; a name replaces the one before.
void RegisterLibraryGate(std::unique_ptr<const GateEntry> entry);
void RegisterShifts();     // entries_shift.cpp: trunc, lrs, ars, gapars, slackars, autotrunc, slice, extend
void RegisterChoices();    // entries_choose.cpp: relu, reluars, clamp, select, argmaxbit, maximum
void RegisterFunctions();  // entries_function.cpp: function, cubic, newton, table
void RegisterProducts();   // entries_product.cpp: multiply, rowproduct, dot, matmul
void RegisterLinear();     // entries_linear.cpp: add, sub, times, sum, column
void RegisterBits();       // entries_bits.cpp: and, or, xor, not, bit, number

// Returns the width at which a gate of signed words reads a number. An unsigned one has one bit more.
inline int SignedWidth(const ValueType& t) { return t.bits + !t.is_signed; }
// Returns the rounded shift of a bound: floor((v + 2^(s-1)) / 2^s), or v if s = 0.
inline Bound Shifted(Bound v, int s) { return s == 0 ? v : (v + (Bound{1} << (s - 1))) >> s; }
// Throws Cause::kInput "<gate>: <parts>".
template <class... T>
[[noreturn]] void FailUse(const GateFacts& gate, const T&... parts) {
  Fail(Cause::kInput, gate.name, ": ", parts...);
}
// The stages of a gate, as options of a search.
std::vector<std::string> StageNames(std::initializer_list<int> stages);
compiler::Stages StagesOf(const std::string& option);

// Returns x + y. Of strings, x xor y.
OwedWord Added(const OwedWord& x, const OwedWord& y);
// Returns an operand of shares.
inline GateOperand SharesOperand(OwedWord word) {
  GateOperand y;
  y.shares = std::move(word);
  return y;
}
// Applies a linear f to an operand, to its wire if it has one, otherwise to its shares.
template <class F>
GateOperand Mapped(const GateOperand& x, F f) {
  GateOperand y;
  if (x.wire) y.wire = pfss::Map(*x.wire, f);
  if (x.wire && x.mask) y.mask = pfss::Dealt{f(x.mask->a), f(x.mask->b)};
  if (!x.wire) y.shares = compiler::Map(*x.shares, f);
  return y;
}
// Returns x + y: a wire if both are wires, otherwise shares. Of strings, x xor y.
GateOperand Added(Trace& t, const GateOperand& x, const GateOperand& y);

}  // namespace suf::gates
