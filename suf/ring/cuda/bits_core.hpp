// Packed bits in a kernel: what a thread reads of them and what a warp writes. Compiled into the interpreter and, as
// text, into printed kernels.
#pragma once
#include <cstdint>

namespace suf::ring::cuda {

__device__ inline uint64_t LowBits(int k) { return k >= 64 ? ~uint64_t{0} : (uint64_t{1} << k) - 1; }

// k <= 64 bits from bit `at` on, by aligned loads: up to 15 bytes beside them are read, too.
__device__ inline uint64_t ReadWord(const uint8_t* in, uint64_t at, int k) {
  const uint64_t byte = reinterpret_cast<uint64_t>(in) + at / 8;
  const int shift = int(byte % 8 * 8 + at % 8);
  const uint64_t* const w = reinterpret_cast<const uint64_t*>(byte & ~uint64_t{7});
  uint64_t x = w[0] >> shift;
  if (shift + k > 64) x |= w[1] << (64 - shift);
  return x & LowBits(k);
}

// ReadWord, ReadShort: up to 64 and 32 bits, those of `mask`, from bit `at` of a string of words on; the word behind
// them is read, too.
template <class Place>
__device__ inline uint64_t ReadWord(const uint64_t* words, Place at, uint64_t mask) {
  const uint64_t* const w = words + at / 64;
  const int shift = int(at % 64);
  return (w[0] >> shift | w[1] << 1 << (63 - shift)) & mask;
}
template <class Place>
__device__ inline uint32_t ReadShort(const uint32_t* words, Place at, uint32_t mask) {
  const uint32_t* const w = words + at / 32;
  return uint32_t((uint64_t{w[1]} << 32 | w[0]) >> (at % 32)) & mask;
}

// Word j of a string of so many bytes, at any address.
__device__ inline void StoreWord(uint32_t word, int j, uint8_t* to, int bytes) {
  if (4 * j + 4 <= bytes && reinterpret_cast<uint64_t>(to) % 4 == 0) {
    reinterpret_cast<uint32_t*>(to)[j] = word;
    return;
  }
  for (int b = 4 * j; b < 4 * j + 4 && b < bytes; ++b, word >>= 8) to[b] = uint8_t(word);
}

// n * Inverse(d) >> 20 = n / d for n < 2^11 and 32 < d <= 64: floor(2^20 / d) + 1, which is too large by one
// at most, so the product by less than the 2^14 or more to the next quotient. A float is exact to 1/128 here; 2^20 / d
// is whole, or 1/64 away from that or further.
__device__ inline uint32_t Inverse(int d) { return uint32_t(__fdividef(0x1p20f, float(d)) + 1.0078125f); }

// Elements of k <= 64 bits, with zeros above them, of the first `rows` lanes, lane after lane, from `to` on:
// whole bytes, so that no two warps of 32 rows share one; the last byte of fewer rows is filled with zeros. All
// lanes call it together. Neighbours are joined, twice as many each time, as long as they fit in 64 bits: a word of 32
// then meets two lanes at most. Lane j makes words j and j + 32. It is called and not repeated, as a long kernel waits
// for its own text.
__device__ __noinline__ inline void PackShort(uint64_t x, int k, int rows, uint8_t* to) {
  constexpr unsigned kAll = ~0u;
  const int lane = int(threadIdx.x % 32), bytes = (rows * k + 7) / 8;
  if (lane >= rows) x = 0;
  if (k == 1) return StoreWord(__ballot_sync(kAll, x & 1), lane, to, bytes);
  int joined = 1, bits = k;
#pragma unroll 1
  for (; bits <= 16; bits *= 2, joined *= 2) x |= __shfl_down_sync(kAll, uint32_t(x), joined) << bits;
  if (bits <= 32) x |= __shfl_down_sync(kAll, x, joined) << bits, bits *= 2, joined *= 2;
  const uint32_t inverse = Inverse(bits);
#pragma unroll 1
  for (int j = lane; j - lane < k; j += 32) {
    const int first = int(32 * uint32_t(j) * inverse >> 20), skip = 32 * j - first * bits, next = (first + 1) * joined;
    uint32_t word = uint32_t(__shfl_sync(kAll, x, first * joined & 31) >> skip);
    const uint32_t above = __shfl_sync(kAll, uint32_t(x), next & 31);
    if (next < 32 && bits - skip < 32) word |= above << (bits - skip);
    StoreWord(word, j, to, bytes);
  }
}
// Of `words` = (k + 63) / 64 words, more than one. Each lane writes the bytes that begin in its element; the
// last one's high bits are the next lane's. Word by word, so that each is a register where `words` is known.
__device__ inline void PackLong(const uint64_t* x, int words, int k, int rows, uint8_t* to) {
  const int lane = int(threadIdx.x % 32);
  uint64_t next = __shfl_down_sync(~0u, x[0], 1);
  if (lane >= rows) return;
  if (lane + 1 == rows) next = 0;
  const int64_t begin = int64_t(lane) * k, first = (begin + 7) / 8;
  const int bytes = int((begin + k + 7) / 8 - first), skip = int(8 * first - begin), last = (k - 1) % 64 + 1;
#pragma unroll
  for (int w = 0; w < words; ++w) {
    uint64_t here = x[w], above = w + 1 < words ? x[w + 1] : next;
    if (w + 1 == words && last < 64) here |= next << last, above = next >> (64 - last);
    if (w + 2 == words && last < 64) above |= next << last;
    const uint64_t v = skip ? here >> skip | above << (64 - skip) : here;
    StoreWord(uint32_t(v), 2 * w, to + first, bytes);
    StoreWord(uint32_t(v >> 32), 2 * w + 1, to + first, bytes);
  }
}
// The same of any k.
__device__ inline void WarpPack(const uint64_t* x, int k, int rows, uint8_t* to) {
  if (k <= 64)
    PackShort(x[0], k, rows, to);
  else
    PackLong(x, (k + 63) / 64, k, rows, to);
}

}  // namespace suf::ring::cuda
