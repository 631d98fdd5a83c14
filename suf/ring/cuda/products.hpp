// Exact matrix products modulo 2^k on a device, k = 1 .. 64, by 8-bit limbs on the tensor cores' integers. A word is
// the sum of its bytes times powers of 256. So a product of words is a sum of products of byte matrices; those of one
// power share an accumulator. Tensor cores multiply unsigned and signed bytes in any mixture, so a limb is a byte of
// the word. Only the last limb of a weight, which is narrower than the product, has a sign. Calls may be captured into
// graphs: they neither allocate nor wait.
#pragma once
#include "suf/exec/cuda/device.hpp"

namespace suf::ring::cuda {

using exec::cuda::StreamHandle;

// A matrix in the form that products read: planes of bytes, one per limb. Zeros pad each row to a pitch. The matrix
// has `rows` rows of `depth` words; products sum over the depth. `batch` matrices follow each other.
struct Limbs {
  int limbs = 0;
  bool is_signed = false;  // whether the last plane is signed
  int rows = 0, depth = 0;
  size_t batch = 1;
  constexpr size_t pitch() const { return (size_t(depth) + 63) / 64 * 64; }
  size_t bytes() const { return batch * size_t(limbs) * size_t(rows) * pitch(); }  // of all planes; 16-byte aligned
};
// Returns how words of `bytes` bytes (1, 2, 4 or 8) are split for a product modulo 2^bits. If `right`, this is the
// right operand: signed words of 8 or 16 bits, which are weights, stay narrow.
Limbs LimbsOf(int bytes, bool is_signed, bool right, int rows, int depth, size_t batch, int bits);
// An operand to be split. Word (r, d) of a matrix is at words[r depth + d], or if transposed at words[d rows + r]. With
// `splat`, one word is used for all.
struct LimbSplit {
  Limbs to;
  const void* words = nullptr;
  int bytes = 8;
  bool is_signed = false, splat = false, transposed = false;
  uint8_t* planes = nullptr;
};
// Memory to be set to zero; 16-byte aligned.
struct ZeroRange {
  uint8_t* at = nullptr;
  uint64_t bytes = 0;
};
// Splits one operand or both and clears memory, in one launch.
void Split(const LimbSplit& a, const LimbSplit& b, const ZeroRange& cleared, StreamHandle s);
// Returns the memory that must be zero before Multiply, because parts of the depth add to it.
ZeroRange Sums(const Limbs& a, const Limbs& b, void* c, int c_bytes, uint8_t* spare);
// Returns the bytes of Multiply's `spare`.
size_t MultiplySpare(const Limbs& a, const Limbs& b, int c_bytes);
// Computes c (batch, a.rows, b.rows) = a b^T modulo 2^bits; higher bits are arbitrary. Words of c have c_bytes = 1, 2,
// 4 or 8 bytes and at least `bits` bits. The batch of b is that of a, or 1 for one matrix for all.
void Multiply(const Limbs& a, const uint8_t* a_planes, const Limbs& b, const uint8_t* b_planes, int bits, void* c,
              int c_bytes, uint8_t* spare, StreamHandle s);

}  // namespace suf::ring::cuda
