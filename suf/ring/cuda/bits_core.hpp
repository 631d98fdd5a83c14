// Packed bits in a kernel: reads by a thread and writes by a warp. Compiled into the interpreter and, as text, into
// printed kernels. `Bits.*` (tests/double) compare its writes with row::Emit.
#pragma once
#include <cstdint>

namespace suf::ring::cuda {

__device__ inline uint64_t LowBits(int k) { return k >= 64 ? ~uint64_t{0} : (uint64_t{1} << k) - 1; }

// Reads k <= 64 bits from bit `at` on. The loads are aligned, so up to 15 bytes beside them are read as well.
__device__ inline uint64_t ReadWord(const uint8_t* in, uint64_t at, int k) {
  const uint64_t byte = reinterpret_cast<uint64_t>(in) + at / 8;
  const int shift = int(byte % 8 * 8 + at % 8);
  const uint64_t* const w = reinterpret_cast<const uint64_t*>(byte & ~uint64_t{7});
  uint64_t x = w[0] >> shift;
  if (shift + k > 64) x |= w[1] << (64 - shift);
  return x & LowBits(k);
}

// Reads up to 64 bits, those of `mask`, from bit `at` of a string of words on. Also reads the word behind them.
template <class Place>
__device__ inline uint64_t ReadWord(const uint64_t* words, Place at, uint64_t mask) {
  const uint64_t* const w = words + at / 64;
  const int shift = int(at % 64);
  return (w[0] >> shift | w[1] << 1 << (63 - shift)) & mask;
}
// Reads up to 32 bits in the same way, from words of 32 bits.
template <class Place>
__device__ inline uint32_t ReadShort(const uint32_t* words, Place at, uint32_t mask) {
  const uint32_t* const w = words + at / 32;
  return uint32_t((uint64_t{w[1]} << 32 | w[0]) >> (at % 32)) & mask;
}

// Stores word j of a string of `bytes` bytes, at any address.
__device__ inline void StoreWord(uint32_t word, int j, uint8_t* to, int bytes) {
  if (4 * j + 4 <= bytes && reinterpret_cast<uint64_t>(to) % 4 == 0) {
    reinterpret_cast<uint32_t*>(to)[j] = word;
    return;
  }
  for (int b = 4 * j; b < 4 * j + 4 && b < bytes; ++b, word >>= 8) to[b] = uint8_t(word);
}

// Returns a factor such that n * Inverse(d) >> 20 = n / d for n < 2^11 and 32 < d <= 64: floor(2^20 / d) + 1. It is at
// most one too large. So the product is too large by less than the 2^14 or more to the next quotient. A float is exact
// to 1/128 here; 2^20 / d is whole, or 1/64 or more away from that.
__device__ inline uint32_t Inverse(int d) { return uint32_t(__fdividef(0x1p20f, float(d)) + 1.0078125f); }

// Packs elements of k <= 64 bits, with zeros above them, of the first `rows` lanes, lane after lane, from `to` on. The
// result has whole bytes, so no two warps of 32 rows share one. Zeros fill the last byte of fewer rows. All lanes call
// it together. Neighbours are joined, twice the number each time, as long as they fit into 64 bits. Then a word of 32
// bits meets at most two lanes. Lane j makes words j and j + 32. It is not inlined, because a long kernel waits for its
// own instructions.
__device__ __noinline__ inline void PackShort(uint64_t x, int k, int rows, uint8_t* to) {
  constexpr unsigned kAll = ~0u;
  const int lane = int(threadIdx.x % 32), bytes = (rows * k + 7) / 8;
  if (lane >= rows) x = 0;
  if (k == 1) return StoreWord(__ballot_sync(kAll, x & 1), lane, to, bytes);
  int joined = 1, bits = k;
#pragma unroll 1
  for (; bits <= 16; bits *= 2, joined *= 2) x |= __shfl_down_sync(kAll, uint32_t(x), joined) << bits;
  if (bits <= 32) {
    x |= __shfl_down_sync(kAll, x, joined) << bits;
    bits *= 2;
    joined *= 2;
  }
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
// Packs elements of `words` = (k + 63) / 64 words, more than one. Each lane writes the bytes that begin in its element.
// The high bits of its last byte come from the next lane. It works word by word, so each is a register if `words` is a
// constant.
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
    if (w + 1 == words && last < 64) {
      here |= next << last;
      above = next >> (64 - last);
    }
    if (w + 2 == words && last < 64) above |= next << last;
    const uint64_t v = skip ? here >> skip | above << (64 - skip) : here;
    StoreWord(uint32_t(v), 2 * w, to + first, bytes);
    StoreWord(uint32_t(v >> 32), 2 * w + 1, to + first, bytes);
  }
}
// Packs elements of any k.
__device__ inline void WarpPack(const uint64_t* x, int k, int rows, uint8_t* to) {
  if (k <= 64)
    PackShort(x[0], k, rows, to);
  else
    PackLong(x, (k + 63) / 64, k, rows, to);
}

}  // namespace suf::ring::cuda
