// Distributed comparison functions with a vector payload: shares over Z_{2^bits} of `beta 1[x < alpha]`. The secret
// alpha and the public x are in Z_{2^n}, 1 <= n <= 128. Boyle et al., ePrint 2020/1392, figure 1, describe the tree. It
// has two child seeds, two control bits and a value correction word per level. A payload in the last word alone is not
// offered, because that is a point function. Each child and each value is a hash of the seed with a tweak
// (docs/mathematics.md#dcf). No seed is ever output.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Isa;

// Public parameters of a batch of keys. Keys come in tiles of kDcfTile that share an AES key, as DPF keys do. A payload
// has `words` >= 1 words of `bits` bits, 1 to 64.
struct DcfContext {
  std::array<uint8_t, 16> k_serial;
  uint32_t program;
  int n, words, bits;
  uint64_t first_tile = 0;  // tile of the call's key 0; a batch is split only between tiles
};

// Returns the words of a number (alpha or x) below 2^n: 1, or above 64 bits 2 with the low one first. Numbers lie one
// after another.
constexpr size_t DcfWords(int n) { return n > 64 ? 2 : 1; }

// Generates `count` keys of ElementBytes(DcfKeyBits) bytes, the same for both parties. The low n bits of alpha and the
// low `bits` bits of beta count. Word k of the payload of key i is beta[k count + i]. Each root has 16 bytes. A key is
// a string of bits: n seeds of 128 bits, left and right control bits by level, n + 1 values. Zeros fill its last word.
// Branch-free in alpha, beta and the roots.
void DcfGen(const DcfContext& ctx, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0,
            const uint8_t* root1, size_t count, uint8_t* key, Isa v = ring::Best());

// Computes this party's shares at m >= 1 public points per key. Point j of key i is number i m + j of x. Its word k
// goes to out[(k m + j) count + i], mod 2^bits. A point takes 2 n + 1 AES calls while 2 words fit into a block
// (docs/mathematics.md#dcf).
void DcfEval(const DcfContext& ctx, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, size_t count,
             int m, uint64_t* out, Isa v = ring::Best());

}  // namespace suf::fss
