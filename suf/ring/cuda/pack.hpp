// Packed bits on a device, as in ring/pack.hpp. Element i is bits [i k, (i + 1) k) of a string of bytes, low bit first.
// Calls may be captured into graphs. The tests compare short elements with ring::Pack and long ones with loops over
// bits.
#pragma once
#include "suf/exec/cuda/device.hpp"

namespace suf::ring::cuda {

using exec::cuda::StreamHandle;

// Unpacks n elements of k >= 1 bits from any address. An element becomes `bytes` bytes: 1, 2, 4 or 8, or whole words of
// 8 for k above 64. Its bits above k become zero. Up to 16 bytes before and behind the string are read and ignored.
void Unpack(const uint8_t* in, size_t n, int k, void* words, int bytes, StreamHandle s);
// Packs n elements, whose bits above k are ignored. Writes (n k + 7) / 8 bytes and none beyond. Zeros fill the last
// byte.
void Pack(const void* words, int bytes, size_t n, int k, uint8_t* out, StreamHandle s);

}  // namespace suf::ring::cuda
