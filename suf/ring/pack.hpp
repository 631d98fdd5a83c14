// Exact bit packing. Element i occupies bits [i k, i k + k) of a string of bytes, low bit first. So 8 elements are k
// bytes. This is the host's only fast packing. The tests compare it with loops over bits.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/ring/cpu.hpp"

namespace suf::ring {

// Returns the bytes of n packed elements of k bits.
constexpr size_t PackedBytes(size_t n, int k) { return n / 8 * size_t(k) + (n % 8 * size_t(k) + 7) / 8; }

// Packs the k low bits of each of n elements into PackedBytes(n, k) bytes, and writes no byte beyond. Unused high bits
// of the last byte are zero. T is uint8_t, uint16_t, uint32_t or uint64_t; 0 <= k <= 8 sizeof(T).
template <class T>
void Pack(const T* x, size_t n, int k, uint8_t* out, Isa v = Best());

// Unpacks n elements. Reads PackedBytes(n, k) bytes.
template <class T>
void Unpack(const uint8_t* in, size_t n, int k, T* x, Isa v = Best());

// Packs n bit strings of k > 64 bits. Each takes (k + 63) / 64 words, whose bits from k on are zero.
void PackLong(const uint64_t* x, size_t n, int k, uint8_t* out);

// Unpacks n bit strings of k > 64 bits. Reads PackedBytes(n, k) bytes.
void UnpackLong(const uint8_t* in, size_t n, int k, uint64_t* x);

}  // namespace suf::ring
