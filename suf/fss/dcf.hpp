// Distributed comparison functions with a vector payload: shares over Z_{2^bits} of beta 1[x < alpha], alpha secret
// and x public in Z_{2^n}, 1 <= n <= 128 (Boyle et al., ePrint 2020/1392, figure 1: two child seeds, two control bits
// and a value correction word a level). Not here: a payload in the last word alone, which would be a point function.
// Each child and value is a hash of the seed with a tweak (docs/mathematics.md#dcf); no seed is ever output.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Variant;

// Public. Keys come in tiles of kDcfTile that share an AES key, as those of DPFs do. The payload has
// `words` >= 1 words of `bits` bits, 1 to 64.
struct DcfContext {
  std::array<uint8_t, 16> k_serial;
  uint32_t program;
  int n, words, bits;
  uint64_t first_tile = 0;  // of key 0 of the call: whoever splits a batch splits it between tiles
};

// Of a number below 2^n, alpha or x: one, or two above 64 bits, the low one first; one number after another.
constexpr size_t DcfWords(int n) { return n > 64 ? 2 : 1; }

// `count` keys of ElementBytes(DcfKeyBits) bytes, the same for both parties, from the secrets alpha (the n low
// bits count), beta (word k of key i at beta[k count + i], the `bits` low bits count) and the parties' 16-byte roots. A
// key is a string of bits: n seeds of 128, then the control bits, left and right of each level, then n + 1 values,
// zeros at the end. Branch-free in alpha, beta and the roots.
void DcfGen(const DcfContext& ctx, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0,
            const uint8_t* root1, size_t count, uint8_t* key, Variant v = ring::Best());

// This party's shares at m >= 1 public points a key, number i m + j of x: word k at out[(k m + j) count + i],
// mod 2^bits. 2 n + 1 AES calls a point while 2 words fill no more than a block (docs/mathematics.md#dcf).
void DcfEval(const DcfContext& ctx, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, size_t count,
             int m, uint64_t* out, Variant v = ring::Best());

}  // namespace suf::fss
