// Matrix products modulo 2^k on a device, k = 1 .. 64, by 8-bit limbs on the tensor cores' integers: a word is the sum
// of its bytes times powers of 256, so a product of words is a sum of products of byte matrices, those of one power
// together in one accumulator. Tensor cores take unsigned bytes and signed ones in any mixture, so a limb is a byte as
// it lies; only the last limb of a weight, which is narrower than the product, has a sign. Exact. Calls may be captured
// into graphs: none allocates, none waits.
#pragma once
#include "suf/exec/cuda/device.hpp"

namespace suf::ring::cuda {

using exec::cuda::Stream;

// A matrix of `rows` rows of `depth` words, the axis that the product sums over, as planes of bytes, rows padded
// with zeros to a pitch: what a product reads. `batch` matrices one after another.
struct Limbs {
  int limbs = 0;
  bool is_signed = false;  // the last plane
  int rows = 0, depth = 0;
  size_t batch = 1;
  constexpr size_t pitch() const { return (size_t(depth) + 63) / 64 * 64; }
  size_t bytes() const { return batch * size_t(limbs) * size_t(rows) * pitch(); }  // of all planes; 16-byte aligned
};
// How words of `bytes` bytes (1, 2, 4 or 8) are split for a product modulo 2^bits. `right`: the right operand,
// of which signed words of 8 or 16 bits, weights, stay narrow.
Limbs LimbsOf(int bytes, bool is_signed, bool right, int rows, int depth, size_t batch, int bits);
// Word (r, d) of a matrix at words[r depth + d], or transposed at words[d rows + r]. splat: one word for
// all.
struct Splitting {
  Limbs to;
  const void* words = nullptr;
  int bytes = 8;
  bool is_signed = false, splat = false, transposed = false;
  uint8_t* planes = nullptr;
};
// Memory that becomes zero; 16-byte aligned.
struct Cleared {
  uint8_t* at = nullptr;
  uint64_t bytes = 0;
};
// One operand or both, in one launch, which also clears.
void Split(const Splitting& a, const Splitting& b, const Cleared& cleared, Stream s);
// Multiply: c (batch, a.rows, b.rows) = a b^T modulo 2^bits, and whatever above, in words of c_bytes = 1, 2, 4 or 8
// bytes with at least `bits` bits. b has a's batch, or one matrix for all. `spare`: MultiplySpare bytes. What Sums
// names must be zero: parts of the depth add to it.
Cleared Sums(const Limbs& a, const Limbs& b, void* c, int c_bytes, uint8_t* spare);
size_t MultiplySpare(const Limbs& a, const Limbs& b, int bits, int c_bytes);
void Multiply(const Limbs& a, const uint8_t* a_planes, const Limbs& b, const uint8_t* b_planes, int bits, void* c,
              int c_bytes, uint8_t* spare, Stream s);

}  // namespace suf::ring::cuda
