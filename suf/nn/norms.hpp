// Norms of quantised weights: what hard bounds are made of. Sums of squares of whole numbers are exact in double, so
// that hidden units may be permuted; what is not exact is rounded up by 1e-9.
#pragma once
#include "suf/exec/pool.hpp"
#include "suf/nn/tensor.hpp"

namespace suf::nn {

// Euclidean norm.
double Length(const Reals& a);
// The least b >= 1 such that every whole number up to v is below 2^b.
int BitLength(double v);
// For |value| <= bound, rounded by `shift` bits, with the gap of one bit.
int RingOf(double bound, int shift = 0);

// A B^T added to c; a (m, k), b (n, k), c (m, n). The same words on every machine.
void AddTimesTransposed(const Reals& a, const Reals& b, int64_t k, Reals& c, exec::Pool& pool);
// Euclidean norms of the columns of a (rows, cols). (cols)
Reals ColumnNorms(const Reals& a, int64_t cols);
// An upper bound for a matrix with nonnegative eigenvalues, (tr A^32)^(1/32). a (n, n)
double LargestEigenvalue(Reals a, int64_t n, exec::Pool& pool);
// An upper bound of the largest singular value of a (rows, cols).
double Singular(const Reals& a, int64_t cols, exec::Pool& pool);
// Of a (rows, cols). (cols, rows)
Reals Transposed(const Reals& a, int64_t cols);
// Columns [from, from + count) of a (rows, cols). (rows, count)
Reals Part(const Reals& a, int64_t cols, int64_t from, int64_t count);

// Of x A B, A (in, m) and B (m, out): the norms of the columns of A B, and its largest singular value.
struct Path {
  Reals column;
  double largest = 0;
};
Path PathOf(const Reals& a, const Reals& b, int64_t m, exec::Pool& pool);

}  // namespace suf::nn
