// A Split is a function of one number by two tables, which are read at parts of its bits. A sum is a bipartite table
// (Das Sarma and Matula, "Faithful Bipartite ROM Reciprocal Tables", 1995). A product can be an exponential. Function
// is a Suf or a Split.
#pragma once
#include <variant>

#include "suf/func/suf.hpp"

namespace suf::func {

// Two tables. Its only channel is the signed number y of `ring` bits.
// * kSum:     high[x >> a] + low[(x >> c) 2^a + x mod 2^a]   modulo 2^ring, a <= c <= n
// * kProduct: high[x >> a] * low[x mod 2^a]                  modulo 2^ring
struct Split {
  enum Kind : uint8_t { kSum, kProduct } kind = kSum;
  std::string name;
  int n = 0;                        // domain Z_{2^n}, 1 .. 64
  int ring = 64;                    // 1 .. 64
  int a = 0, c = 0;                 // c: only of kSum
  std::vector<uint64_t> high, low;  // 2^(n-a); 2^(n-c+a) or 2^a; at most kMostPieces values each, below 2^ring
  bool operator==(const Split&) const = default;
};

// Throws Cause::kInput, with the fault, if a Split is not well formed or exceeds a limit.
void Verify(const Split& f);
// Returns the exact value at x < 2^n.
uint64_t Evaluate(const Split& f, uint64_t x);

// A function of one number, in either form.
using Function = std::variant<Suf, Split>;
const std::string& Name(const Function& f);
int DomainBits(const Function& f);
int RingBits(const Function& f);
void Verify(const Function& f);
std::vector<OutputChannel> ChannelsOf(const Function& f);
// Returns the values of the channels at x, in order; kSigned ones in two's complement.
std::vector<int64_t> Channels(const Function& f, uint64_t x);

}  // namespace suf::func
