// Packed bits in a kernel: what a thread reads of them and what a warp writes. Compiled into the interpreter and, as
// text, into printed kernels.
#pragma once
#include <cstdint>

namespace suf::ring::cuda {

__device__ inline uint64_t LowBits(int k) { return k >= 64 ? ~uint64_t{0} : (uint64_t{1} << k) - 1; }

// ReadWord: k <= 64 bits from bit `at` on, by aligned loads: up to 15 bytes beside them are read, too.
__device__ inline uint64_t ReadWord(const uint8_t* in, uint64_t at, int k) {
  const uint64_t byte = reinterpret_cast<uint64_t>(in) + at / 8;
  const int shift = int(byte % 8 * 8 + at % 8);
  const uint64_t* const w = reinterpret_cast<const uint64_t*>(byte & ~uint64_t{7});
  uint64_t x = w[0] >> shift;
  if (shift + k > 64) x |= w[1] << (64 - shift);
  return x & LowBits(k);
}

// ReadShort: ReadWord of k <= 32 bits, by loads of 4 bytes.
__device__ inline uint32_t ReadShort(const uint8_t* in, uint64_t at, int k) {
  const uint64_t byte = reinterpret_cast<uint64_t>(in) + at / 8;
  const int shift = int(byte % 4 * 8 + at % 8);
  const uint32_t* const w = reinterpret_cast<const uint32_t*>(byte & ~uint64_t{3});
  const uint64_t above = shift + k > 32 ? w[1] : 0;
  return uint32_t((above << 32 | w[0]) >> shift) & uint32_t(LowBits(k));
}

// StoreWord: word j of a string of so many bytes, at any address.
__device__ inline void StoreWord(uint32_t word, int j, uint8_t* to, int bytes) {
  if (4 * j + 4 <= bytes && reinterpret_cast<uint64_t>(to) % 4 == 0) {
    reinterpret_cast<uint32_t*>(to)[j] = word;
    return;
  }
  for (int b = 4 * j; b < 4 * j + 4 && b < bytes; ++b, word >>= 8) to[b] = uint8_t(word);
}

// WarpPack: elements of k bits, with zeros above them, of the first `rows` lanes, lane after lane, from byte `to` on:
// whole bytes, so that no two warps of 32 rows share one; the last byte of fewer rows is filled with zeros. All lanes
// call it together. PackShort: of up to 64 bits; lane j makes words j and j + 32.
__device__ inline void PackShort(uint64_t x, int k, int rows, uint8_t* to) {
  constexpr unsigned kAll = ~0u;
  const int lane = int(threadIdx.x % 32), bytes = (rows * k + 7) / 8;
  if (lane >= rows) x = 0;
  for (int j = lane; j - lane < k; j += 32) {
    uint32_t word = 0;
    if (k == 1) {
      word = __ballot_sync(kAll, x & 1);
    } else {
      const int first = 32 * j / k;
#pragma unroll 1
      for (int t = 0; t < 31 / k + 2; ++t) {
        const int from = first + t, shift = from * k - 32 * j;
        const uint64_t v = __shfl_sync(kAll, x, from & 31);
        if (from < 32 && shift < 32) word |= uint32_t(shift >= 0 ? v << shift : v >> -shift);
      }
    }
    StoreWord(word, j, to, bytes);
  }
}
// PackLong: of `words` = (k + 63) / 64 words, more than one. Each lane writes the bytes that begin in its element; the
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
__device__ inline void WarpPack(const uint64_t* x, int k, int rows, uint8_t* to) {
  if (k <= 64)
    PackShort(x[0], k, rows, to);
  else
    PackLong(x, (k + 63) / 64, k, rows, to);
}

}  // namespace suf::ring::cuda
