// Distributed point functions with a 1-bit payload: XOR shares of 1[x = alpha], x and alpha in Z_{2^n}, 8 <= n <= 64.
// The tree is the half-tree (Guo et al., ePrint 2022/1431, figure 8) with 2 x 128 packed leaf bits. Its hash applies
// sigma (Guo, Katz, Wang, Yu 2019). A path takes n - 7 AES calls, a key DpfKeyBytes(n) bytes; the root is PRG output.
// Bit 0 of byte 0 is the low bit. Path bits come most significant first. Leaf bit j is bit j of its block. The low bit
// of a party's root is the party. The words of a tile lie level by level, so a batch is read as it was made.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Isa;

// Public parameters of a batch of keys. Keys come in tiles of kDpfTile that share an AES key,
// `AES_{k_serial}(le32 program | 0^32 | le64 tile)`. One AES key for all tiles would cost bits of security in the
// multi-target setting (docs/mathematics.md#half-tree).
struct DpfContext {
  std::array<uint8_t, 16> k_serial;
  uint32_t program;
  int n;
  uint64_t first_tile = 0;  // tile of the call's key 0; a batch is split only between tiles
};

// Generates the correction words and leaves of `count` keys, DpfKeyBytes(n) bytes each, the same for both parties. The
// low n bits of alpha count. Each root has 16 bytes; its low bit is replaced. Branch-free in alpha and the roots.
void DpfGen(const DpfContext& ctx, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1, size_t count,
            uint8_t* cw, Isa v = ring::Best());

// Computes this party's share bits of level `level` = w, 0 <= w <= n. They are the bits of `1[v = alpha >> w]` at
// `v = lo, lo + 1, .., lo + m - 1 mod 2^(n-w)`, 1 <= m <= 2^(n-w), m <= 2^20. They are packed low bit first into
// ceil(m / 64) words per key; unused high bits are zero. One key serves every w. From w = 8 on the bits are control
// bits of inner nodes, which differ between the parties on alpha's path only. Below they are parities of groups of leaf
// bits. The subtree that is walked depends on lo, which is public. Whole domains (w = 0, lo = 0, m = 2^n, n <= 16) are
// expanded level by level.
void DpfWindow(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, int level, const uint64_t* lo,
               size_t count, int m, uint64_t* out, Isa v = ring::Best());

// Computes the window of length 1, one word per key. Branch-free in x as well, which may be secret: the dealer reads
// shares at its own alpha >> w.
void DpfPoint(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, int level, const uint64_t* x,
              size_t count, uint64_t* out, Isa v = ring::Best());

// Computes this party's shares of `1[x < alpha]` at m >= 1 public points per key. Point j of key i is `x[i m + j]`. Its
// share is bit j of ceil(m / 64) words per key, low bit first. Prefix parity (Storrier et al., ePrint 2023/108; Gupta
// et al., ePrint 2023/1269) takes n - 7 AES calls per point.
void DpfParity(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
               size_t count, int m, uint64_t* out, Isa v = ring::Best());

// Computes shares of `table[x - alpha]`, one word per key. They are the XOR of `table[(x - j) mod 2^n]` over the set
// bits j of this party's full domain. 8 <= n <= 16; the table has 2^n words; x is public.
void DpfDense(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
              const uint64_t* table, size_t count, uint64_t* out, Isa v = ring::Best());

}  // namespace suf::fss
