// One-hot tables (docs/mathematics.md#one-hot). A table of width w, 1 <= w <= 10, is a string of 2^w bits in
// ElementBytes(2^w) bytes, bit 0 of byte 0 first; of a byte with more bits only the low ones count. Party shares are
// XOR shares of 1[v = b]; every read below is linear over XOR in the table. Tables are secret shares: no branch or
// index depends on them. Indices a, lo, idx are public.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "suf/fss/sizes.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Variant;

inline constexpr int kMaxTableWidth = 10;

// Storage of one table.
constexpr size_t TableBytes(int w) { return ElementBytes(1 << w); }

// out[i] = the table with the one bit pos[i] mod 2^w. The positions are secret: branch- and index-free.
void Hot(int w, const uint16_t* pos, size_t n, void* out, Variant v = ring::Best());

// out[i] = bit 0: parity of the bits at positions > a[i] (a share of 1[a < b], "lt"); bit 1: the bit at a[i]
// ("eq").
void Cmp(int w, const void* t, const uint16_t* a, size_t n, uint8_t* out, Variant v = ring::Best());

// out[i] = the bit at a[i]. Branch- and index-free in a too, which may be a secret: the dealer reads shares at
// its own position.
void Point(int w, const void* t, const uint16_t* a, size_t n, uint8_t* out, Variant v = ring::Best());

// m >= 1 bits from position lo[i] cyclically, low bit first, into ceil(m / 64) words; unused high bits are
// zero.
void Rotate(int w, const void* t, const uint16_t* lo, int m, size_t n, uint64_t* out, Variant v = ring::Best());

// Select: out[c][i] = sum_j t_i[j] tables[c][(idx[i] - j) mod 2^w], for 1 or 2 columns c of 2^w words. T is uint32_t or
// uint64_t.
template <class T>
void Select(int w, const void* t, const uint16_t* idx, std::span<const T* const> tables, size_t n, T* const* out,
            Variant v = ring::Best());

// SelectX: out[c][i] = sum_j t_i[j] tables[c][idx[i] xor j], otherwise as Select.
template <class T>
void SelectX(int w, const void* t, const uint16_t* idx, std::span<const T* const> tables, size_t n, T* const* out,
             Variant v = ring::Best());

// Bit j of out[i] = parity of the bits at positions > (x[i] - b[j]) mod 2^w, as Cmp's bit 0; ceil(m / 64) words
// an element for m thresholds b, unused high bits zero.
void Above(int w, const void* t, const uint16_t* x, std::span<const uint16_t> b, size_t n, uint64_t* out,
           Variant v = ring::Best());

// out[i] = exclusive or over the set bits j of t_i of the low `bits` bits of table[(x[i] - j) mod 2^w].
void Dense(int w, const void* t, const uint16_t* x, const uint64_t* table, int bits, size_t n, uint64_t* out,
           Variant v = ring::Best());

// Dot: out[i] = sum_{j < m} bit[first + j] table[j], the bits of element i in the words from bits + i stride_words.
template <class T>
void Dot(const uint64_t* bits, size_t stride_words, int first, int m, const T* table, size_t n, T* out,
         Variant v = ring::Best());

}  // namespace suf::fss
