// Operations that are no groups, on a device. Each is a thread an element (bulk_core.hpp); products are ring's, trees
// are fss's. In the order of a stream; may be captured.
#pragma once
#include "suf/gpu/cuda/code.hpp"
#include "suf/exec/cuda/device.hpp"

namespace suf::gpu::cuda {

using exec::cuda::Stream;

// Where words go: elements of 1, 2, 4 or 8 bytes, their low bytes.
struct Target {
  uint8_t* data;
  int bytes;
};

// Interpret: a group. code: in the device's memory; frame: words of registers, of which those beyond kLocalFrame lie in
// `scratch`, InterpretScratch bytes.
inline constexpr int kLocalFrame = 192;
size_t InterpretScratch(int frame);
void Interpret(const GroupCode* code, uint64_t rows, int frame, Word* scratch, Stream s);

// Count elements as words reduced by `mask`. Put: back.
void Words(const Array& x, uint64_t count, Word mask, Word* out, Stream s);
void Put(const Word* x, uint64_t count, Target out, Stream s);
// Thin: a product of few columns: out (b, r, c) = sum over d of x (b, r, d) y (b, c, d), or y (b, d, c), or one y for
// all.
struct ThinShape {
  uint64_t rows, columns, depth;
  bool one, transposed;  // transposed: y as (c, d)
};
void Thin(const Array& x, const Array& y, uint64_t count, const ThinShape& shape, Target out, Stream s);
// Out (o, i) = sum over j of x (o, j, i); count = o i elements, j below len, i below inner.
void Sum(const Array& x, uint64_t count, uint64_t len, uint64_t inner, Target out, Stream s);
// Sums of a row from each place on; rows of `len`.
void Suffix(const Array& x, uint64_t rows, uint64_t len, Target out, Stream s);
// Of row i of strings the sum of table_j over the set bits first + j, j below m.
void Dot(const Array& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, Target out, Stream s);
// Element at[i] mod m of row i of m. `mask`: of the index's ring.
void Take(const Array& x, const Array& at, Word mask, uint64_t count, uint64_t m, Target out, Stream s);
// pfss::Op::kRotSum: rows of m; of `len` vectors each, or packed triangles of `packed` rows.
void RotSum(const Array& x, const Array& at, Word mask, uint64_t rows, uint64_t m, uint64_t len, uint64_t packed,
            Target out, Stream s);
// Turn: table[(u - r) mod 2^width] at u of each of `rows` secrets r, in `width` stages of which each moves all words by
// a power of two or not; spare: TurnSpare bytes.
size_t TurnSpare(uint64_t rows, int width);
void Turn(const Array& r, const Array& table, uint64_t rows, int width, Word* spare, Target out, Stream s);
// Bit j of row i to byte j rows + i.
void Unbits(const Array& x, uint64_t rows, uint64_t m, uint8_t* out, Stream s);
// pfss::Op::kPack or kUnpack of squares of m, `count` elements of the result.
void Triangle(const Array& x, bool pack, uint64_t count, uint64_t m, Target out, Stream s);
// Numbers high 2^b + low of words (2, count), two words each above 64 bits, else one.
void Halves(const Word* x, uint64_t count, int b, Word* out, Stream s);

// Of rows of a multiple of 32, by RotSum.
void RotSumRows(const Array& x, const Array& at, Word mask, uint64_t rows, uint64_t m, uint64_t len, uint64_t packed,
                Target out, Stream s);
// Of rows that are long enough for a warp each; by Sum, Suffix, Thin and Dot where they are.
inline constexpr uint64_t kLongRow = 24;
void SumRows(const Array& x, uint64_t rows, uint64_t len, Target out, Stream s);
void SuffixRows(const Array& x, uint64_t rows, uint64_t len, Target out, Stream s);
void DotRows(const Array& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, Target out, Stream s);
void ThinRows(const Array& x, const Array& y, uint64_t count, const ThinShape& shape, Target out, Stream s);

}  // namespace suf::gpu::cuda
