// One-hot tables (docs/mathematics.md#one-hot). A table of width w, 1 <= w <= 10, is a string of 2^w bits in
// ElementBytes(2^w) bytes, bit 0 of byte 0 first. If a byte has more bits than the table, only the low ones count.
// Shares are XOR shares of 1[v = b], and every read below is linear over XOR in the table. Tables are secret shares, so
// no branch or index depends on them. The indices a, lo and idx are public.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "suf/fss/sizes.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Isa;

inline constexpr int kMaxTableWidth = 10;

// Returns the bytes of one table.
constexpr size_t TableBytes(int w) { return ElementBytes(1 << w); }

// Sets out[i] to the table whose only set bit is pos[i] mod 2^w. Positions are secret and reach no branch or index.
void Hot(int w, const uint16_t* pos, size_t n, void* out, Isa v = ring::Best());

// Sets bit 0 of out[i] to the parity of the bits at positions > a[i], a share of `1[a < b]` ("lt"). Sets bit 1 to the
// bit at a[i] ("eq").
void Cmp(int w, const void* t, const uint16_t* a, size_t n, uint8_t* out, Isa v = ring::Best());

// Sets out[i] to the bit at a[i]. Free of branches and indices in a as well, which may be secret. The dealer reads
// shares at its own position.
void Point(int w, const void* t, const uint16_t* a, size_t n, uint8_t* out, Isa v = ring::Best());

// Reads m >= 1 bits from position lo[i] cyclically, low bit first, into ceil(m / 64) words; unused high bits are zero.
void Rotate(int w, const void* t, const uint16_t* lo, int m, size_t n, uint64_t* out, Isa v = ring::Best());

// Computes out[c][i] = sum_j t_i[j] tables[c][(idx[i] - j) mod 2^w] for 1 or 2 columns c of 2^w words. T is uint32_t or
// uint64_t.
template <class T>
void Select(int w, const void* t, const uint16_t* idx, std::span<const T* const> tables, size_t n, T* const* out,
            Isa v = ring::Best());

// Computes out[c][i] = sum_j t_i[j] tables[c][idx[i] xor j], otherwise like Select.
template <class T>
void SelectX(int w, const void* t, const uint16_t* idx, std::span<const T* const> tables, size_t n, T* const* out,
             Isa v = ring::Best());

// Sets bit j of out[i] to the parity of the bits at positions > `(x[i] - b[j]) mod 2^w`, like bit 0 of Cmp. An element
// takes ceil(m / 64) words for m thresholds b; unused high bits are zero.
void Above(int w, const void* t, const uint16_t* x, std::span<const uint16_t> b, size_t n, uint64_t* out,
           Isa v = ring::Best());

// Sets out[i] to the XOR of the low `bits` bits of `table[(x[i] - j) mod 2^w]` over the set bits j of t_i.
void Dense(int w, const void* t, const uint16_t* x, const uint64_t* table, int bits, size_t n, uint64_t* out,
           Isa v = ring::Best());

// Computes out[i] = sum_{j < m} bit[first + j] table[j]. The bits of element i begin at word bits + i stride_words.
template <class T>
void Dot(const uint64_t* bits, size_t stride_words, int first, int m, const T* table, size_t n, T* out,
         Isa v = ring::Best());

}  // namespace suf::fss
