// Operations on a device that are no groups. Each takes a thread per element (bulk_core.hpp); ring has products, fss
// has trees. They run in the order of a stream and may be captured.
#pragma once
#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda/groups/code.hpp"

namespace suf::gpu::cuda {

using exec::cuda::StreamHandle;

// The destination of words: elements of 1, 2, 4 or 8 bytes, which take the low bytes.
struct WordTarget {
  uint8_t* data;
  int bytes;
};

// Writes `count` elements as words reduced by `mask`.
void Words(const MemoryArray& x, uint64_t count, Word mask, Word* out, StreamHandle s);
// Writes words to elements.
void Put(const Word* x, uint64_t count, WordTarget out, StreamHandle s);
// The shape of a product with few columns.
struct ThinShape {
  uint64_t rows, columns, depth;
  bool one, transposed;  // transposed: y is (c, d)
};
// Computes out (b, r, c) = sum over d of x (b, r, d) y (b, c, d). `shape` may select y (b, d, c), or one y for all b.
void Thin(const MemoryArray& x, const MemoryArray& y, uint64_t count, const ThinShape& shape, WordTarget out,
          StreamHandle s);
// Computes out (o, i) = sum over j of x (o, j, i). `count` is the number of (o, i), j is below len and i below inner.
void Sum(const MemoryArray& x, uint64_t count, uint64_t len, uint64_t inner, WordTarget out, StreamHandle s);
// Computes the sums of a row from each place to its end. Rows have `len` elements.
void Suffix(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s);
// For row i of strings, sums table_j over the set bits first + j, j below m.
void Dot(const MemoryArray& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, WordTarget out,
         StreamHandle s);
// Takes element at[i] mod m of row i, which has m elements. `mask` is that of the index's ring.
void Take(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t count, uint64_t m, WordTarget out,
          StreamHandle s);
// Computes pfss::Op::kRotSum for rows of m elements: `len` vectors each, or packed triangles of `packed` rows.
void RotSum(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t rows, uint64_t m, uint64_t len,
            uint64_t packed, WordTarget out, StreamHandle s);
// Returns the bytes of `spare` for Turn.
size_t TurnSpare(uint64_t rows, int width);
// Writes table[(u - r) mod 2^width] at u for each of `rows` secrets r. It takes `width` stages. Each moves all words by
// a power of two or leaves them.
void Turn(const MemoryArray& r, const MemoryArray& table, uint64_t rows, int width, Word* spare, WordTarget out,
          StreamHandle s);
// Writes bit j of row i to byte j rows + i.
void Unbits(const MemoryArray& x, uint64_t rows, uint64_t m, uint8_t* out, StreamHandle s);
// Computes pfss::Op::kPack or kUnpack of squares of m. `count` is the number of elements of the result.
void Triangle(const MemoryArray& x, bool pack, uint64_t count, uint64_t m, WordTarget out, StreamHandle s);
// Joins the halves (2, count) to numbers high 2^b + low. A number above 64 bits has two words, otherwise one.
void Halves(const Word* x, uint64_t count, int b, Word* out, StreamHandle s);

// RotSum for rows whose length is a multiple of 32.
void RotSumRows(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t rows, uint64_t m, uint64_t len,
                uint64_t packed, WordTarget out, StreamHandle s);
// The length from which a row gets a warp. Sum, Suffix, Thin and Dot call the functions below for such rows.
inline constexpr uint64_t kLongRow = 24;
void SumRows(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s);
void SuffixRows(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s);
void DotRows(const MemoryArray& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, WordTarget out,
             StreamHandle s);
void ThinRows(const MemoryArray& x, const MemoryArray& y, uint64_t count, const ThinShape& shape, WordTarget out,
              StreamHandle s);

}  // namespace suf::gpu::cuda
