// Norms of quantised weights, from which hard bounds are made. Sums of squares of whole numbers are exact in double, so
// hidden units may be permuted. Inexact results are rounded up by 1e-9.
#pragma once
#include "suf/exec/pool.hpp"
#include "suf/nn/graph/tensor.hpp"

namespace suf::nn {

// Returns the Euclidean norm.
double Length(const Reals& a);
// Returns the least b >= 1 for which every whole number up to v is below 2^b.
int BitLength(double v);
// Returns the bits of a ring for |value| <= bound, rounded by `shift` bits, with the gap of one bit.
int RingOf(double bound, int shift = 0);
// Returns RingOf(bound, shift), or the least ring that a rounding by `shift` bits takes if that is wider.
int RoundedRingOf(double bound, int shift);

// Adds A B^T to c, for a (m, k), b (n, k) and c (m, n). Gives the same words on every machine.
void AddTimesTransposed(const Reals& a, const Reals& b, int64_t k, Reals& c, exec::Pool& pool);
// Returns the Euclidean norms of the columns of a (rows, cols): (cols).
Reals ColumnNorms(const Reals& a, int64_t cols);
// Returns an upper bound of the largest eigenvalue of a (n, n), which has no negative one: (tr A^32)^(1/32).
double LargestEigenvalue(Reals a, int64_t n, exec::Pool& pool);
// Returns an upper bound of the largest singular value of a (rows, cols).
double Singular(const Reals& a, int64_t cols, exec::Pool& pool);
// Returns the transpose of a (rows, cols): (cols, rows).
Reals Transposed(const Reals& a, int64_t cols);
// Returns columns [from, from + count) of a (rows, cols): (rows, count).
Reals Part(const Reals& a, int64_t cols, int64_t from, int64_t count);

// The norms of A B, A (in, m) and B (m, out): of its columns, and its largest singular value.
struct Path {
  Reals column;
  double largest = 0;
};
Path PathOf(const Reals& a, const Reals& b, int64_t m, exec::Pool& pool);

}  // namespace suf::nn
