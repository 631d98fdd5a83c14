// Operations as one call per element, and the functions of bulk.hpp that use them. Included after
//  template <class F> void Each(uint64_t n, const F& f, Stream s)
// which calls f(0) .. f(n - 1) in any order. In bulk.cu that is a kernel, in the tests' double of a device a loop.
#include "suf/gpu/cuda/groups/interpreter_core.hpp"

namespace suf::gpu::cuda {

SUF_ROW void PutTarget(const WordTarget& r, uint64_t i, Word x) { PutWord(r.data, r.bytes, i, 0, x); }

struct WordsOf {
  MemoryArray x;
  Word mask;
  Word* out;
  SUF_ROW void operator()(uint64_t i) const { out[i] = WordAt(x, i) & mask; }
};
void Words(const MemoryArray& x, uint64_t count, Word mask, Word* out, StreamHandle s) {
  Each(count, WordsOf{x, mask, out}, s);
}

struct PutOf {
  const Word* x;
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const { PutTarget(out, i, x[i]); }
};
void Put(const Word* x, uint64_t count, WordTarget out, StreamHandle s) { Each(count, PutOf{x, out}, s); }

struct SumOf {
  MemoryArray x;
  uint64_t len, inner;
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const {
    const uint8_t* const data = DataOf(x);
    const uint64_t first = i / inner * len * inner + i % inner;
    Word sum = 0;
    for (uint64_t j = 0; j < len; ++j) sum += WordAt(x, data, first + j * inner, 0);
    PutTarget(out, i, sum);
  }
};
void Sum(const MemoryArray& x, uint64_t count, uint64_t len, uint64_t inner, WordTarget out, StreamHandle s) {
  if (inner == 1 && len >= kLongRow) return SumRows(x, count, len, out, s);
  Each(count, SumOf{x, len, inner, out}, s);
}

struct SuffixOf {
  MemoryArray x;
  uint64_t len;
  WordTarget out;
  SUF_ROW void operator()(uint64_t r) const {
    const uint8_t* const data = DataOf(x);
    Word sum = 0;
    for (uint64_t j = len; j-- > 0;) PutTarget(out, r * len + j, sum += WordAt(x, data, r * len + j, 0));
  }
};
void Suffix(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s) {
  if (len >= kLongRow) return SuffixRows(x, rows, len, out, s);
  Each(rows, SuffixOf{x, len, out}, s);
}

// Returns table_j if bit first + j of row i is set, otherwise 0.
SUF_ROW Word DotTerm(const MemoryArray& x, const uint8_t* data, uint64_t i, uint64_t first, const Word* table,
                     uint64_t j) {
  return row::Mask(WordAt(x, data, i, int((first + j) / 64)) >> ((first + j) % 64)) & table[j];
}
struct DotOf {
  MemoryArray x;
  uint64_t first, m;
  const Word* table;
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const {
    Word sum = 0;
    for (uint64_t j = 0; j < m; ++j) sum += DotTerm(x, DataOf(x), i, first, table, j);
    PutTarget(out, i, sum);
  }
};
void Dot(const MemoryArray& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, WordTarget out,
         StreamHandle s) {
  if (m >= kLongRow) return DotRows(x, rows, first, table, m, out, s);
  Each(rows, DotOf{x, first, m, table, out}, s);
}

// Returns the place in x of factor d of entry i of a thin product.
SUF_ROW uint64_t LeftOf(const ThinShape& t, uint64_t i, uint64_t d) { return i / t.columns * t.depth + d; }
// Returns the place in y of factor d of entry i of a thin product.
SUF_ROW uint64_t RightOf(const ThinShape& t, uint64_t i, uint64_t d) {
  const uint64_t b = t.one ? 0 : i / (t.rows * t.columns), c = i % t.columns;
  return b * t.columns * t.depth + (t.transposed ? c * t.depth + d : d * t.columns + c);
}
struct ThinOf {
  MemoryArray x, y;
  ThinShape shape;
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const {
    const uint8_t *const a = DataOf(x), *const b = DataOf(y);
    Word sum = 0;
    for (uint64_t d = 0; d < shape.depth; ++d)
      sum += WordAt(x, a, LeftOf(shape, i, d), 0) * WordAt(y, b, RightOf(shape, i, d), 0);
    PutTarget(out, i, sum);
  }
};
void Thin(const MemoryArray& x, const MemoryArray& y, uint64_t count, const ThinShape& shape, WordTarget out,
          StreamHandle s) {
  if (shape.depth >= kLongRow) return ThinRows(x, y, count, shape, out, s);
  Each(count, ThinOf{x, y, shape, out}, s);
}

struct TakeOf {
  MemoryArray x, at;
  Word mask;
  uint64_t m;
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const {
    const uint64_t a = (WordAt(at, i) & mask) % m;
    PutTarget(out, i, WordAt(x, i * m + a));
  }
};
void Take(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t count, uint64_t m, WordTarget out,
          StreamHandle s) {
  Each(count, TakeOf{x, at, mask, m, out}, s);
}

struct RotSumOf {
  MemoryArray x, at;
  Word mask;
  uint64_t m, len, packed;
  WordTarget out;
  // The vectors that row r sums.
  struct RowRange {
    uint64_t begin, end;
  };
  SUF_ROW RowRange RangeOf(uint64_t r) const {
    const uint64_t row = packed ? r % packed : 0;
    const uint64_t begin = packed ? r / packed * len + row * (row + 1) / 2 : r * len;
    return {begin, begin + (packed ? row + 1 : len)};
  }
  SUF_ROW void operator()(uint64_t i) const {
    const RowRange range = RangeOf(i / m);
    const uint64_t v = i % m;
    const uint8_t *const u = DataOf(x), *const places = DataOf(at);
    Word sum = 0;
    for (uint64_t j = range.begin; j < range.end; ++j) {
      const uint64_t first = (WordAt(at, places, j, 0) & mask) % m;
      sum += WordAt(x, u, j * m + (first >= v ? first - v : first + m - v), 0);
    }
    PutTarget(out, i, sum);
  }
};
void RotSum(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t rows, uint64_t m, uint64_t len,
            uint64_t packed, WordTarget out, StreamHandle s) {
  if (m % 32 == 0 && m < uint64_t{1} << 31 && !x.splat) return RotSumRows(x, at, mask, rows, m, len, packed, out, s);
  Each(rows * m, RotSumOf{x, at, mask, m, len, packed, out}, s);
}

struct TurnOf {
  MemoryArray r;
  const Word* from;  // null: the table
  MemoryArray table;
  int width, stage;
  Word* to;  // null: out
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const {
    const uint64_t size = uint64_t{1} << width, u = i & (size - 1), by = uint64_t{1} << stage;
    const uint64_t moved = (u - by) & (size - 1);
    const Word bit = row::Mask(WordAt(r, i >> width) >> stage);
    const Word x = from ? from[i] : WordAt(table, u), y = from ? from[i - u + moved] : WordAt(table, moved);
    const Word z = x ^ ((x ^ y) & bit);
    if (to)
      to[i] = z;
    else
      PutTarget(out, i, z);
  }
};
size_t TurnSpare(uint64_t rows, int width) { return (rows << width) * 2 * sizeof(Word); }
void Turn(const MemoryArray& r, const MemoryArray& table, uint64_t rows, int width, Word* spare, WordTarget out,
          StreamHandle s) {
  const uint64_t count = rows << width;
  const Word* from = nullptr;
  for (int stage = 0; stage < width; ++stage) {
    Word* const to = stage + 1 < width ? spare + (stage % 2 ? count : 0) : nullptr;
    Each(count, TurnOf{r, from, table, width, stage, to, out}, s);
    from = to;
  }
}

struct UnbitsOf {
  MemoryArray x;
  uint64_t rows;
  uint8_t* out;
  SUF_ROW void operator()(uint64_t i) const {
    const uint64_t j = i / rows, at = i % rows;
    out[i] = uint8_t(WordAt(x, DataOf(x), at, int(j / 64)) >> (j % 64) & 1);
  }
};
void Unbits(const MemoryArray& x, uint64_t rows, uint64_t m, uint8_t* out, StreamHandle s) {
  Each(rows * m, UnbitsOf{x, rows, out}, s);
}

struct TriangleOf {
  MemoryArray x;
  bool pack;
  uint64_t m;
  WordTarget out;
  SUF_ROW void operator()(uint64_t i) const {
    const uint64_t pairs = m * (m + 1) / 2;
    if (!pack) {
      const uint64_t b = i / (m * m), row = i / m % m, column = i % m;
      const Word v = column <= row ? WordAt(x, b * pairs + row * (row + 1) / 2 + column) : 0;
      return PutTarget(out, i, v);
    }
    // The row is the largest one with row (row + 1) / 2 <= p.
    const uint64_t b = i / pairs, p = i % pairs;
    uint64_t row = 0;
    for (uint64_t step = uint64_t{1} << 31; step; step /= 2)
      if ((row + step) * (row + step + 1) / 2 <= p) row += step;
    PutTarget(out, i, WordAt(x, (b * m + row) * m + (p - row * (row + 1) / 2)));
  }
};
void Triangle(const MemoryArray& x, bool pack, uint64_t count, uint64_t m, WordTarget out, StreamHandle s) {
  Each(count, TriangleOf{x, pack, m, out}, s);
}

struct HalvesOf {
  const Word* x;
  uint64_t count;
  int b;
  Word* out;
  SUF_ROW void operator()(uint64_t i) const {
    const Word high = x[i], low = x[count + i];
    if (2 * b <= 64) return void(out[i] = ((high << b) + low) & row::LowBits(2 * b));
    // The sum high 2^b + low has no carry, because low is below 2^b.
    out[2 * i] = (b < 64 ? high << b : 0) | low;
    out[2 * i + 1] = (b < 64 ? high >> (64 - b) : high) & row::LowBits(2 * b - 64);
  }
};
void Halves(const Word* x, uint64_t count, int b, Word* out, StreamHandle s) {
  Each(count, HalvesOf{x, count, b, out}, s);
}

}  // namespace suf::gpu::cuda
