// Loops over strips, which are up to a few thousand elements that stay in the cache. They are compiled once per
// variant. Words have 1, 2, 4 or 8 bytes; a type code is log2 of the bytes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/ring/cpu.hpp"

namespace suf::cpu {

enum Arithmetic : int { kPlus, kMinus, kTimes, kExclusiveOr };

struct StripLoops {
  // move[from][to] copies n elements, zero-extended or cut.
  void (*move[4][4])(const void* from, size_t n, void* to);
  // extend[from][to] copies like move, but extends by the sign.
  void (*extend[4][4])(const void* from, size_t n, void* to);
  // gather[from][to] copies n elements that are `stride` apart, like move.
  void (*gather[4][4])(const void* from, size_t stride, size_t n, void* to);
  // splat[to] fills n elements with a value.
  void (*splat[4])(uint64_t value, size_t n, void* to);
  // binary[code][op] computes out = a op b; out may be a or b.
  void (*binary[4][4])(const void* a, const void* b, size_t n, void* out);
  // sum[code] adds up all elements.
  uint64_t (*sum[4])(const void* a, size_t n);
  // shift[code][right] computes out = a << s, or (a & mask) >> s; out may be a.
  void (*shift[4][2])(const void* a, int s, uint64_t mask, size_t n, void* out);
  // borrow[code] evaluates the borrow polynomial of `digits` digits. h are the opened bits. `words` are PolySize(digits
  // - 1) - 1 planes, which are overwritten.
  void (*borrow[4])(const uint32_t* h, void* const* words, int digits, size_t n, void* out);
  // Computes the borrow that h itself shows, 0 or 1.
  void (*borrow0)(const uint32_t* h, int digits, size_t n, uint32_t* out);
  // Computes the share of the borrow bit in the XOR world. `groups[j - 1]` are the element-major bit strings of group
  // j, of `stride[j - 1]` bytes each.
  void (*borrowx)(const uint32_t* h, const uint32_t* rho, const uint8_t* const* groups, const size_t* stride,
                  int digits, size_t n, uint8_t* out);
  // Computes group j of the monomials of rho as bit strings of `stride` bytes.
  void (*monox)(const uint32_t* rho, int j, size_t stride, size_t n, uint8_t* out);
  // Computes group j as planes of 0/1 words of `element` bytes, which are `plane` elements apart.
  void (*mono)(const uint32_t* rho, int j, int element, size_t plane, size_t n, uint8_t* out);
  // digit[code] computes out = (z >> shift) & (2^width - 1).
  void (*digit[4])(const void* z, int shift, int width, size_t n, uint16_t* out);
  // unit[code] sets out[i] = 1[first + i = x]. It compares every place, because x may be secret.
  void (*unit[4])(uint32_t first, uint32_t x, size_t n, void* out);
  // Sets bit j of x's string to 1[x < b[j]], ceil(m / 64) words per element.
  void (*less)(const uint64_t* x, const uint64_t* b, size_t m, size_t n, uint64_t* out);
  // Writes bit j of strings of `stride` bytes as bytes at out + j plane, j < m.
  void (*unbits)(const uint8_t* x, size_t stride, size_t m, size_t plane, size_t n, uint8_t* out);
  // Sets bit i of an element's ceil(m / 64) words to the parity of its string and mask i. Terms first[i] .. first[i +
  // 1] - 1 are the nonzero words of mask i: term t has mask[t] at word word[t] of `stride`.
  void (*mix)(const uint64_t* x, size_t stride, const uint32_t* first, const uint32_t* word, const uint64_t* mask,
              size_t m, size_t n, uint64_t* out);
  // turn[code] sets out[u] = table[(u - r) mod 2^width]. Masks choose a stage for each bit of r, which is secret.
  // `spare` is as long as out.
  void (*turn[4])(const void* table, uint64_t r, int width, void* spare, void* out);
  // file[code] computes h |= lt << 2j | eq << 2j-1 from Cmp's bytes (bit 0 lt, bit 1 eq), at most 32 bits.
  void (*file[3])(const uint8_t* cmp, int j, size_t n, void* h);
};

const StripLoops& LoopsFor(ring::Isa v);

}  // namespace suf::cpu
