// Distributed point functions with a 1-bit payload: half-tree (Guo et al., ePrint 2022/1431, figure 8) with sigma in
// the hash (Guo, Katz, Wang, Yu 2019) and 2 x 128 packed leaf bits. Shares of 1[x = alpha] over XOR, x and alpha in
// Z_{2^n}, 8 <= n <= 64. Conventions: bit 0 of byte 0 is the low bit; path bits most significant first; leaf bit j =
// bit j of its block; the low bit of a party's root is the party. n - 7 AES calls a path, DpfKeyBytes(n) key bytes; the
// root is PRG output. The words of a tile of keys stand level by level: a batch is read as it was made.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Variant;

// Public. Keys come in tiles of kDpfTile that share the AES key AES_{k_serial}(le32 program | 0^32 | le64
// tile): sharing one over everything would cost bits of security in the multi-target setting
// (docs/mathematics.md#half-tree).
struct DpfContext {
  std::array<uint8_t, 16> k_serial;
  uint32_t program;
  int n;
  uint64_t first_tile = 0;  // of key 0 of the call: whoever splits a batch splits it between tiles
};

// Correction words and leaves of `count` keys, DpfKeyBytes(n) bytes each, the same for both parties, from the
// secrets alpha (the n low bits count) and the parties' 16-byte roots (their low bit is replaced). Branch-free in alpha
// and the roots.
void DpfGen(const DpfContext& ctx, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1, size_t count,
            uint8_t* cw, Variant v = ring::Best());

// This party's share bits of level `level` = w, 0 <= w <= n: bits of 1[v = alpha >> w] at the v = lo, lo +
// 1,
// .., lo + m - 1 mod 2^(n-w), 1 <= m <= 2^(n-w), m <= 2^20: packed low bit first into ceil(m / 64) words a key, the
// unused high bits zero. One key serves every w: from w = 8 on these are the control bits of inner nodes, which differ
// between the parties on alpha's path only, below parities of groups of leaf bits. lo is public; the subtree walked
// depends on it. Whole domains (w = 0, lo = 0, m = 2^n, n <= 16) are expanded level by level.
void DpfWindow(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, int level, const uint64_t* lo,
               size_t count, int m, uint64_t* out, Variant v = ring::Best());

// The window of length 1, one word a key. Branch-free in x too, which may be a secret: the dealer reads
// shares at its own alpha >> w.
void DpfPoint(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, int level, const uint64_t* x,
              size_t count, uint64_t* out, Variant v = ring::Best());

// This party's shares of 1[x < alpha] at m >= 1 public points a key, x[i m + j]: bit j of ceil(m / 64) words
// a key, low first. Prefix parity (Storrier et al., ePrint 2023/108; Gupta et al., ePrint 2023/1269): n - 7 AES calls
// a point.
void DpfParity(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
               size_t count, int m, uint64_t* out, Variant v = ring::Best());

// The exclusive or over all j of (bit j of this party's full domain) and table[(x - j) mod 2^n], one word a
// key: shares of table[x - alpha]. 8 <= n <= 16; the table has 2^n words; x is public.
void DpfDense(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
              const uint64_t* table, size_t count, uint64_t* out, Variant v = ring::Best());

}  // namespace suf::fss
