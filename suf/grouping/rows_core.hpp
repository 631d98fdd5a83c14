// Row functions: one function per kind computes a member of a group on one row. They are plain C++ that a device's
// compiler accepts: pointers and counts, no container, exception, virtual call or intrinsic. Registers are 64-bit
// words, one element after another. Numbers are reduced to their ring; bits of strings beyond their length are zero. No
// branch and no address depends on a secret; comments name the public operands. pfss/op.hpp defines the kinds.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"
#include "suf/pfss/poly.hpp"

#ifdef __CUDACC__
#define SUF_ROW __host__ __device__ inline
#else
#define SUF_ROW inline
#endif

#ifdef SUF_PRINTED
// Unrolls a loop whose bounds a printed kernel knows, so that the words it indexes are registers.
#define SUF_UNROLL _Pragma("unroll")
// Keeps a long loop rolled, so that the text stays short.
#define SUF_ROLLED _Pragma("unroll 1")
#else
#define SUF_UNROLL
#define SUF_ROLLED
#endif

namespace suf::grouping::row {

using Word = uint64_t;

// ---- words

SUF_ROW constexpr Word LowBits(int k) { return k >= 64 ? ~Word{0} : (Word{1} << k) - 1; }
SUF_ROW constexpr int WordsOf(int bits) { return (bits + 63) / 64; }
// Returns the bits of an element's last word.
SUF_ROW constexpr int TopBits(int bits) { return (bits - 1) % 64 + 1; }

// Returns all ones if `bit` is 1, otherwise zero. `bit` may be secret.
SUF_ROW Word Mask(Word bit) {
#ifdef __CUDA_ARCH__
  return Word(int64_t(bit << 63) >> 63);  // two instructions for any position of the bit
#else
  Word mask = Word{0} - (bit & 1);
  asm("" : "+r"(mask));  // a host's compiler that knows the two possible values may branch
  return mask;
#endif
}
SUF_ROW Word Equal(Word a, Word b) {
  const Word x = a ^ b;
  return ((x | (Word{0} - x)) >> 63) ^ 1;
}
SUF_ROW Word Parity(Word x) {
  x ^= x >> 32;
#ifdef __CUDA_ARCH__
  return __popc(uint32_t(x)) & 1;
#else
  x ^= x >> 16;
  x ^= x >> 8;
  x ^= x >> 4;
  x ^= x >> 2;
  x ^= x >> 1;
  return x & 1;
#endif
}
SUF_ROW Word Bit(const Word* string, size_t i) { return string[i / 64] >> (i % 64) & 1; }
SUF_ROW void Zero(Word* out, size_t words) {
  SUF_UNROLL
  for (size_t w = 0; w < words; ++w) out[w] = 0;
}

// ---- PRG words

// Computes an element of `bits` bits that lies `at` bytes into its section. `block(i, to)` writes the 16 bytes of block
// i of the section. The caller provides the AES and may cache blocks. An element of up to 8 bytes is in one block.
template <class Block>
SUF_ROW void Random(const Block& block, uint64_t at, int bits, Word* out) {
  const size_t bytes = fss::ElementBytes(bits), words = size_t(WordsOf(bits));
  uint8_t now[16];
  for (size_t w = 0; w < words; ++w) {
    const uint64_t from = at + 8 * w;
    if (w == 0 || from % 16 == 0) block(from / 16, now);
    out[w] = 0;
    for (size_t b = 0; b < 8 && b < bytes; ++b) out[w] |= Word{now[from % 16 + b]} << (8 * b);
  }
  out[words - 1] &= LowBits(TopBits(bits));
  volatile uint8_t* const spent = now;
  for (size_t b = 0; b < 16; ++b) spent[b] = 0;
}

// ---- messages: element i of k bits is bits [i k, (i + 1) k) of a string of bytes, low bit first. A row of any device
// reads and writes its own bits. `RowsCore.MessagesAtEveryBit` compares it with ring::Pack and with loops over bits.

// Reads the k bits from bit `at` on, and only the bytes that hold them.
SUF_ROW void Receive(const uint8_t* in, uint64_t at, int k, Word* out) {
  for (int w = 0; w < WordsOf(k); ++w) {
    const int many = w + 1 < WordsOf(k) ? 64 : TopBits(k);
    out[w] = 0;
    for (int have = 0; have < many;) {
      const int skip = int(at % 8), take = many - have < 8 - skip ? many - have : 8 - skip;
      out[w] |= (Word{in[at / 8]} >> skip & LowBits(take)) << have;
      have += take;
      at += uint64_t(take);
    }
  }
}

// Writes k bits to a message of `end` bits, from bit `at` on. The other bits of a byte stay. The last byte's bits
// beyond `end` become zero. Rows may come in any order, but one thread must emit all rows that share a byte. Rows 8 i
// to 8 i + 7 of a plane that begins at a whole byte share no byte with other rows. 64 of them are whole words. So a
// device's thread emits its rows into words of its own and then writes these. There `at` and `end` count from its first
// word.
SUF_ROW void Emit(const Word* x, uint64_t at, int k, uint64_t end, uint8_t* out) {
  if (at + uint64_t(k) == end && end % 8) out[end / 8] &= uint8_t(LowBits(int(end % 8)));
  for (int w = 0; w < WordsOf(k); ++w) {
    const int many = w + 1 < WordsOf(k) ? 64 : TopBits(k);
    for (int done = 0; done < many;) {
      const int skip = int(at % 8), take = many - done < 8 - skip ? many - done : 8 - skip;
      const Word here = LowBits(take) << skip;
      out[at / 8] = uint8_t((out[at / 8] & ~here) | ((x[w] >> done << skip) & here));
      done += take;
      at += uint64_t(take);
    }
  }
}

// ---- word by word, modulo mask + 1: n words

SUF_ROW void Plus(const Word* a, const Word* b, size_t n, Word mask, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = (a[i] + b[i]) & mask;
}
SUF_ROW void Minus(const Word* a, const Word* b, size_t n, Word mask, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = (a[i] - b[i]) & mask;
}
SUF_ROW void Times(const Word* a, const Word* b, size_t n, Word mask, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = (a[i] * b[i]) & mask;
}
SUF_ROW void ExclusiveOr(const Word* a, const Word* b, size_t n, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = a[i] ^ b[i];
}
// Shifts left by s bits, 0 <= s <= 64.
SUF_ROW void ShiftLeft(const Word* a, int s, size_t n, Word mask, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = s < 64 ? a[i] << s & mask : 0;
}
// Shifts right by s bits, 0 <= s <= 64.
SUF_ROW void ShiftRight(const Word* a, int s, size_t n, Word mask, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = s < 64 ? a[i] >> s & mask : 0;
}
// Keeps the low bits; copies if the mask has all of them.
SUF_ROW void Reduce(const Word* a, size_t n, Word mask, Word* out) {
  SUF_UNROLL
  for (size_t i = 0; i < n; ++i) out[i] = a[i] & mask;
}

// ---- one-hot tables: strings of `size` = 2^w bits, secret like the positions; indices of reads are public

// Returns element v of the unit vector of x.
SUF_ROW Word Unit(Word x, Word v) { return Equal(x, v); }

// Makes the string with bit `at` set; `at` is a secret below size.
SUF_ROW void Hot(Word at, size_t size, Word* out) {
  SUF_UNROLL
  for (Word w = 0; 64 * w < size; ++w) out[w] = Mask(Equal(at >> 6, w)) & Word{1} << (at & 63);
}

// Returns the bit at a place, which is secret at the dealer.
SUF_ROW Word Point(const Word* t, size_t size, Word at) {
  Word word = 0;
  SUF_UNROLL
  for (Word w = 0; 64 * w < size; ++w) word |= Mask(Equal(at >> 6, w)) & t[w];
  word >>= at & 63;
#ifndef __CUDA_ARCH__
  asm("" : "+r"(word));  // clang would test the bit by an instruction that may take `at` for an address
#endif
  return word & 1;
}

// Returns the parity of the bits at places greater than `at`, which is public.
SUF_ROW Word ParityAbove(const Word* t, size_t size, Word at) {
  Word sum = 0;
  SUF_UNROLL
  for (size_t w = 0; 64 * w < size; ++w) {
    const Word here = ~Word{0} << (at % 64) << 1;
    sum ^= t[w] & (w > at / 64 ? ~Word{0} : w == at / 64 ? here : 0);
  }
  return Parity(sum);
}

// Sets bit j to `ParityAbove((x - b_j) mod size)`, for m thresholds.
SUF_ROW void Above(const Word* t, size_t size, Word x, const int64_t* b, size_t m, Word* out) {
  Zero(out, (m + 63) / 64);
  for (size_t j = 0; j < m; ++j) out[j / 64] |= ParityAbove(t, size, (x - Word(b[j])) & (size - 1)) << (j % 64);
}

// Compares the lowest `width` bits of the public z, digit j of a number. Bit 2j of the result is lt_j, bit 2j - 1 eq_j.
SUF_ROW Word Digit(Word z, const Word* table, int64_t width, size_t j) {
  const size_t size = size_t{1} << width;
  const Word at = z & (size - 1), lt = ParityAbove(table, size, at) << (2 * j);
  return j ? lt | Point(table, size, at) << (2 * j - 1) : lt;
}
// Compares all digits of z, with one table per digit.
SUF_ROW Word Digits(Word z, const Word* const* tables, const int64_t* widths, size_t digits) {
  Word out = 0;
  for (size_t j = 0; j < digits; z >>= widths[j], ++j) out |= Digit(z, tables[j], widths[j], j);
  return out;
}

// log2 of the words of the widest table, which has 2^10 bits.
inline constexpr int kTableSteps = 4, kMostTableWords = 1 << kTableSteps;

// Replaces word w by word from(w, power), for each power of two of words that is in the public `at`.
template <class From>
SUF_ROW void Moved(Word* x, size_t words, Word at, const From& from) {
  Word y[kMostTableWords];
  SUF_UNROLL
  for (int step = 0; step < kTableSteps; ++step) {
    const size_t by = size_t{1} << step;
    if (by >= words) continue;
    const Word moves = Mask(at >> (6 + step));
    SUF_UNROLL
    for (size_t w = 0; w < words; ++w) y[w] = x[w] ^ ((x[w] ^ x[from(w, by)]) & moves);
    SUF_UNROLL
    for (size_t w = 0; w < words; ++w) x[w] = y[w];
  }
}

// Reads m bits from the public place `lo` on, cyclically.
SUF_ROW void Rotate(const Word* t, size_t size, Word lo, size_t m, Word* out) {
  const Word at = lo & (size - 1);
  if (size <= 64) {
    const Word x = t[0] & LowBits(int(size));
    *out = (x >> at | x << 1 << (size - 1 - at)) & LowBits(int(m));
    return;
  }
  // Rotates by whole words, then by bits.
  const size_t words = size / 64;
  Word x[kMostTableWords];
  SUF_UNROLL
  for (size_t w = 0; w < words; ++w) x[w] = t[w];
  Moved(x, words, at, [words](size_t w, size_t by) { return (w + by) & (words - 1); });
  SUF_UNROLL
  for (size_t w = 0; 64 * w < m; ++w)
    out[w] = (x[w] >> (at % 64) | x[(w + 1) & (words - 1)] << 1 << (63 - at % 64)) &
             (m - 64 * w < 64 ? LowBits(int(m - 64 * w)) : ~Word{0});
}

// Calls f(j, mask) for bits first .. first + m - 1 of a string. Here j counts from 0, and mask is all ones if the bit
// is set. It goes word by word, so that each word is a register. It takes 8 bits at a time, so that loads overlap,
// shifts are constants and the text stays short.
template <class F>
SUF_ROW void OverBits(const Word* bits, size_t first, size_t m, const F& f) {
  SUF_UNROLL
  for (size_t w = first / 64; 64 * w < first + m; ++w) {
    const size_t begin = 64 * w < first ? first : 64 * w, end = first + m < 64 * w + 64 ? first + m : 64 * w + 64;
    Word x = bits[w] >> (begin % 64);
    size_t j = begin;
    SUF_ROLLED
    for (; j + 8 <= end; j += 8, x >>= 8) SUF_UNROLL
    for (size_t b = 0; b < 8; ++b) f(j + b - first, Mask(x >> b));
    SUF_UNROLL
    for (size_t b = 0; b < 8; ++b)
      if (b < (end - begin) % 8) f(end - (end - begin) % 8 + b - first, Mask(x >> b));
  }
}

// Swaps each run of 2^b bits with its neighbour, b < 6.
SUF_ROW Word Swapped(Word x, int b) {
  constexpr Word kEach[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                            0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
  return (x >> (1 << b) & kEach[b]) | (x & kEach[b]) << (1 << b);
}
// Reverses the bits of a word.
SUF_ROW Word Mirrored(Word x) {
#ifdef __CUDA_ARCH__
  return __brevll(x);
#else
  for (int b = 0; b < 6; ++b) x = Swapped(x, b);
  return x;
#endif
}
// Sets bit i to the string's bit (x - i) mod size. With this and Exchanged, all rows read a table's words in the same
// order, independent of x.
SUF_ROW void Down(const Word* t, size_t size, Word x, Word* out) {
  const size_t words = (size + 63) / 64;
  Word mirror[kMostTableWords];
  SUF_UNROLL
  for (size_t w = 0; w < words; ++w) mirror[w] = Mirrored(t[words - 1 - w]) >> (size < 64 ? 64 - size : 0);
  Rotate(mirror, size, size - 1 - x, size, out);
}
// Sets bit i to the string's bit x xor i.
SUF_ROW void Exchanged(const Word* t, size_t size, Word x, Word* out) {
  const size_t words = (size + 63) / 64;
  SUF_UNROLL
  for (size_t w = 0; w < words; ++w) {
    out[w] = t[w];
    SUF_UNROLL
    for (int b = 0; b < 6; ++b) out[w] ^= (out[w] ^ Swapped(out[w], b)) & Mask(x >> b);
  }
  Moved(out, words, x, [](size_t w, size_t by) { return w ^ by; });
}

// Returns the XOR of the table's words at (x - j) mod size over the set bits j.
SUF_ROW Word Dense(const Word* t, size_t size, Word x, const Word* table) {
  Word down[kMostTableWords], sum = 0;
  Down(t, size, x, down);
  OverBits(down, 0, size, [&](size_t j, Word mask) { sum ^= mask & table[j]; });
  return sum;
}

// Sums word j of each column over the set bits j. Columns of `size` words lie one after another.
template <class T>
SUF_ROW void Summed(const Word* bits, size_t size, const T* table, size_t columns, Word mask, T* out) {
  SUF_UNROLL
  for (size_t c = 0; c < columns; ++c) out[c] = 0;
  OverBits(bits, 0, size, [&](size_t j, Word set) {
    SUF_UNROLL
    for (size_t c = 0; c < columns; ++c) out[c] += T(set) & table[c * size + j];
  });
  SUF_UNROLL
  for (size_t c = 0; c < columns; ++c) out[c] &= T(mask);
}
// Sums the words at (x - j) mod size of each column over the set bits j.
template <class T>
SUF_ROW void Select(const Word* t, size_t size, Word x, const T* table, size_t columns, Word mask, T* out) {
  Word down[kMostTableWords];
  Down(t, size, x, down);
  Summed(down, size, table, columns, mask, out);
}
// Sums the words at x xor j of each column over the set bits j.
template <class T>
SUF_ROW void SelectX(const Word* t, size_t size, Word x, const T* table, size_t columns, Word mask, T* out) {
  Word exchanged[kMostTableWords];
  Exchanged(t, size, x, exchanged);
  Summed(exchanged, size, table, columns, mask, out);
}

// ---- strings of bits

// Returns the sum of table_j over the set bits first + j; m words.
template <class T>
SUF_ROW T Dot(const Word* bits, size_t first, const T* table, size_t m) {
  T sum = 0;
  OverBits(bits, first, m, [&](size_t j, Word mask) { sum += T(mask) & table[j]; });
  return sum;
}

// Sets bit j to 1[x < b_j], for m thresholds. It takes the borrow of x - b_j without a comparison, because x may be
// secret.
SUF_ROW void Less(Word x, const int64_t* b, size_t m, Word* out) {
  Zero(out, (m + 63) / 64);
  for (size_t j = 0; j < m; ++j) {
    const Word at = Word(b[j]);
    out[j / 64] |= ((~x & at) | ((~x | at) & (x - at))) >> 63 << (j % 64);
  }
}

// Writes bit j to word j of m.
SUF_ROW void Unbits(const Word* x, size_t m, Word* out) {
  for (size_t j = 0; j < m; ++j) out[j] = Bit(x, j);
}

// Sets bit i to the parity of x AND mask i, each of `words` words; m masks.
SUF_ROW void Mix(const Word* x, size_t words, const Word* masks, size_t m, Word* out) {
  SUF_UNROLL
  for (size_t at = 0; at < m; at += 64) {
    Word bits = 0;
    for (size_t i = at; i < m && i < at + 64; ++i) {
      Word sum = 0;
      SUF_UNROLL
      for (size_t w = 0; w < words; ++w) sum ^= x[w] & masks[i * words + w];
      bits |= Parity(sum) << (i - at);
    }
    out[at / 64] = bits;
  }
}

// ---- the borrow polynomial (poly.hpp): the opened bits h are public; rho and the monomials are secret

// Returns the polynomial's constant, the borrow of the first `digits` digits that h itself shows. It is an integer; the
// XOR world reads its low bit.
SUF_ROW Word BorrowAt0(Word h, int digits) {
  Word borrow = h & 1;
  SUF_UNROLL
  for (int j = 1; j < digits; ++j) borrow = (h >> (2 * j) & 1) + (h >> (2 * j - 1) & 1) * borrow;
  return borrow;
}

// Returns x if the bit is 1, otherwise 0.
template <class T>
SUF_ROW T Kept(T x, Word bit) {
  return T(x & T(Mask(bit)));
}
// Returns -x if the bit is 1, otherwise x.
template <class T>
SUF_ROW T Turned(T x, Word bit) {
  const T turn = T(Mask(bit));
  return T((x ^ turn) - turn);
}

// Returns the sum of shares of V_j, the constant included, with the coefficients that h gives them.
// V_j is `(V_{j-1} | re_j V_{j-1} | rl_j)`. The sum of the first part counts times he_j.
// The factors of the others are 1 - 2 he_j and 1 - 2 hl_j. The constant gets hl_j.
template <int kDigit, class T>
SUF_ROW T Weighed(Word h, const T* v) {
  if constexpr (kDigit == 0) {
    return T(Kept(v[0], h) + Turned(v[1], h));
  } else {
    constexpr int kPart = pfss::PolySize(kDigit - 1);
    const Word e = h >> (2 * kDigit - 1), l = h >> (2 * kDigit);
    return T(Kept(Weighed<kDigit - 1>(h, v), e) + Turned(Weighed<kDigit - 1>(h, v + kPart), e) +
             Turned(v[2 * kPart], l) + Kept(v[0], l));
  }
}
// Returns the sum for V_j without its constant. It takes `sum`, the sum for V_{j-1}, and shares of group j.
template <int kDigit, class T>
SUF_ROW T BorrowGrow(Word h, T sum, const T* group) {
  if constexpr (kDigit == 0) {
    return Turned(group[0], h);
  } else {
    const Word e = h >> (2 * kDigit - 1);
    return T(Kept(sum, e) + Turned(Weighed<kDigit - 1>(h, group), e) +
             Turned(group[pfss::PolySize(kDigit - 1)], h >> (2 * kDigit)));
  }
}
// Returns the sum of shares of the monomials with the coefficients that h gives them. Group j is at groups[j].
template <int kDigit = 0, class T>
SUF_ROW T BorrowA(Word h, const T* const* groups, int digits, T sum = 0) {
  sum = BorrowGrow<kDigit>(h, sum, groups[kDigit]);
  if constexpr (kDigit + 1 < pfss::kMostDigitsA)
    if (kDigit + 1 < digits) return BorrowA<kDigit + 1>(h, groups, digits, sum);
  return sum;
}

// Replaces V_{d-1} by V_d, d >= 1; V_0 is (1, rl_0).
template <class T>
SUF_ROW void MonoGrow(Word rho, int d, T* out) {
  const int size = pfss::PolySize(d - 1);
  SUF_UNROLL
  for (int p = 0; p < size; ++p) out[size + p] = T(out[p] & (rho >> (2 * d - 1) & 1));
  out[2 * size] = T(rho >> (2 * d) & 1);
}
// Replaces V_{j-1} by group j >= 1.
template <class T>
SUF_ROW void MonoLast(Word rho, int j, T* out) {
  const int size = pfss::PolySize(j - 1);
  SUF_UNROLL
  for (int p = 0; p < size; ++p) out[p] = T(out[p] & (rho >> (2 * j - 1) & 1));
  out[size] = T(rho >> (2 * j) & 1);
}
// Computes group j of the monomials of rho, GroupSize(j) words of 0 or 1.
template <class T>
SUF_ROW void Mono(Word rho, int j, T* out) {
  if (j == 0) return void(out[0] = T(rho & 1));
  out[0] = 1;
  out[1] = T(rho & 1);
  for (int d = 1; d < j; ++d) MonoGrow(rho, d, out);
  MonoLast(rho, j, out);
}

// Turns a string s of `size` bits, zero beyond, into `(s and keep | middle | s and with | last)`. Returns the new size.
SUF_ROW int Grow(Word* s, int size, Word keep, Word middle, Word with, Word last) {
  const int to = size + 1, words = WordsOf(size), all = 2 * size + 2;
  SUF_UNROLL
  for (int w = 0; w < words; ++w) {
    const Word own = LowBits(w + 1 < words ? 64 : TopBits(size)), x = s[w] & own;
    const int first = to / 64 + w, shift = to % 64;
    s[w] &= keep | ~own;
    s[first] |= (x & with) << shift;
    if (shift && first + 1 < WordsOf(all)) s[first + 1] |= (x & with) >> (64 - shift);
  }
  s[size / 64] |= (middle & 1) << (size % 64);
  s[(all - 1) / 64] |= (last & 1) << ((all - 1) % 64);
  return all;
}

// Computes the nonlinear part of group j >= 1, `re_j M_{j-1}`, as a string of GroupBits(j) bits. M_0 is (rl_0), M_j is
// `(M_{j-1} | re_j, re_j M_{j-1} | rl_j)`.
SUF_ROW void MonoX(Word rho, int j, Word* out) {
  const int words = WordsOf(pfss::GroupBits(j));
  Zero(out, size_t(words));
  out[0] = rho & 1;
  SUF_UNROLL
  for (int d = 1, size = 1; d < j; ++d) {
    const Word e = rho >> (2 * d - 1);
    size = Grow(out, size, ~Word{0}, e, Mask(e), rho >> (2 * d));
  }
  SUF_UNROLL
  for (int w = 0; w < words; ++w) out[w] &= Mask(rho >> (2 * j - 1));
}

// Returns the share of the borrow bit, linear in the shares of rho and of groups 1 .. digits - 1. Group j is at
// groups[j - 1]. C_j are the coefficients that h gives the monomials without the constant, c_j is the constant's. C_j
// is `(he_j C_{j-1} | c_{j-1}, C_{j-1} | 1)`.
SUF_ROW Word BorrowX(Word h, Word rho, const Word* const* groups, int digits) {
  Word c[(pfss::GroupBits(pfss::kMostDigitsX - 1) + 63) / 64] = {1};
  Word sum = rho & 1;
  SUF_UNROLL
  for (int j = 1, size = 1; j < digits; ++j) {
    const Word e = h >> (2 * j - 1), constant = BorrowAt0(h, j);
    Word group = 0;
    SUF_UNROLL
    for (int w = 0; w < WordsOf(size); ++w) group ^= groups[j - 1][w] & c[w];
    sum = ((sum & e) ^ Parity(group) ^ (constant & rho >> (2 * j - 1)) ^ rho >> (2 * j)) & 1;
    if (j + 1 < digits) size = Grow(c, size, Mask(e), constant, ~Word{0}, 1);
  }
  return sum;
}

}  // namespace suf::grouping::row
