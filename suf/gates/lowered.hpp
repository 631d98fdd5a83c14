// Key bits of functions that the compiler lowers, in closed form: what reads the comparisons, and the words that end
// the polynomial. Gates whose function is a text sum them (docs/mathematics.md#lowerings).
#pragma once
#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// LoweredKeyBits: of an element's numbers in Z_{2^ring}, ring <= n, by OpenSteps, Index or Horner; both bundles
// together, the owed word dealt.
int64_t LoweredKeyBits(const compiler::Compiled& c, const compiler::Lowering& l, int ring);
// OneTree: key bits of a DPF on n bits, both bundles; TableOrTree: 2^n bits of a table where these are fewer.
constexpr int64_t OneTree(int n) { return 16 * (16 * (n - 8) + 32); }
constexpr int64_t TableOrTree(int n) { return n <= 10 ? int64_t{1} << n : OneTree(n); }

// PowerText: 2^n in decimal, n <= 64.
std::string PowerText(int n);

}  // namespace suf::gates
