// Packed bits on a device, as pack.hpp has them: element i is bits [i k, (i + 1) k) of a string of bytes, low bit
// first. Calls may be captured into graphs.
#pragma once
#include "suf/exec/cuda/device.hpp"

namespace suf::ring::cuda {

using exec::cuda::Stream;

// n elements of k bits, k = 1 .. 64 or longer, from bit 8 * in on (any byte), each into `bytes` bytes: 1, 2, 4
// or 8, or whole words of 8 for k above 64; what an element has above its k bits becomes zero. Up to 16 bytes before
// and behind the string are read and ignored.
void Unpack(const uint8_t* in, size_t n, int k, void* words, int bytes, Stream s);
// Back; bits above k are ignored. Writes (n k + 7) / 8 bytes and none beyond; the last one is filled with zeros.
void Pack(const void* words, int bytes, size_t n, int k, uint8_t* out, Stream s);

}  // namespace suf::ring::cuda
