#include "suf/nn/plan/norms.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

constexpr int kLanes = 8, kWide = 4, kRows = 4;

#ifndef SUF_CLONES  // none under ThreadSanitizer: a clone is chosen before its memory exists (tools/sanitize.sh)
#define SUF_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

// Multiplies four rows of x with one row of w. Lane sums are added in a fixed order and nothing is contracted, so
// results do not depend on the machine. Loops are unrolled, and vectors are no wider than AVX2's. Otherwise sums lie in
// memory, which takes up to four times as long.
SUF_CLONES void Dot4(const double* const x[kRows], const double* w, int64_t n, double out[kRows]) {
  typedef double Vector __attribute__((vector_size(kWide * sizeof(double))));
  Vector acc[kRows][kLanes / kWide] = {};
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
#pragma GCC unroll 2
    for (int h = 0; h < kLanes / kWide; ++h) {
      Vector y;
      __builtin_memcpy(&y, w + k + h * kWide, sizeof y);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        Vector v;
        __builtin_memcpy(&v, x[r] + k + h * kWide, sizeof v);
        acc[r][h] += v * y;
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    double sum = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) sum += acc[r][i / kWide][i % kWide];
    for (int64_t j = k; j < n; ++j) sum += x[r][j] * w[j];
    out[r] = sum;
  }
}

}  // namespace

Reals Transposed(const Reals& a, int64_t cols) {
  const int64_t rows = int64_t(a.size()) / cols;
  Reals t(a.size());
  constexpr int64_t kLine = 8;  // numbers of a cache line
  for (int64_t i = 0; i < rows; i += kLine)
    for (int64_t j = 0; j < cols; j += kLine)
      for (int64_t y = j; y < std::min(j + kLine, cols); ++y)
        for (int64_t x = i; x < std::min(i + kLine, rows); ++x) t[size_t(y * rows + x)] = a[size_t(x * cols + y)];
  return t;
}

namespace {

// Multiplies each row i of a (m, k) with each row j >= from(i) of b (n, k). Calls put(i, j, product) with each product.
// Four rows of a share the `from` of the first one, so the others may come with smaller j.
template <class From, class Put>
void Products(const Reals& a, const Reals& b, int64_t k, exec::Pool& pool, const From& from, const Put& put) {
  const int64_t m = int64_t(a.size()) / k, n = int64_t(b.size()) / k;
  pool.For(size_t(n), 16, [&](size_t begin, size_t end) {
    for (int64_t i = 0; i < m; i += kRows) {
      const double* rows[kRows];
      for (int r = 0; r < kRows; ++r) rows[r] = &a[size_t(std::min(i + r, m - 1) * k)];
      for (int64_t j = std::max(int64_t(begin), from(i)); j < int64_t(end); ++j) {
        double z[kRows];
        Dot4(rows, &b[size_t(j * k)], k, z);
        for (int r = 0; r < kRows && i + r < m; ++r) put(i + r, j, z[r]);
      }
    }
  });
}

}  // namespace

void AddTimesTransposed(const Reals& a, const Reals& b, int64_t k, Reals& c, exec::Pool& pool) {
  const int64_t n = int64_t(b.size()) / k;
  Products(
      a, b, k, pool, [](int64_t) { return int64_t{0}; },
      [&](int64_t i, int64_t j, double z) { c[size_t(i * n + j)] += z; });
}

namespace {

// Returns A A^T (n, n) for a (n, k). Each pair of rows is multiplied once: exchanged rows give the same word.
Reals Gram(const Reals& a, int64_t k, exec::Pool& pool) {
  const int64_t n = int64_t(a.size()) / k;
  Reals c(size_t(n * n));
  Products(
      a, a, k, pool, [](int64_t i) { return i; },
      [&](int64_t i, int64_t j, double z) {
        if (i <= j) c[size_t(i * n + j)] = c[size_t(j * n + i)] = z;
      });
  return c;
}

// Returns A B^T (m, n) for a (m, k) and b (n, k).
Reals TimesTransposed(const Reals& a, const Reals& b, int64_t k, exec::Pool& pool) {
  const int64_t n = int64_t(b.size()) / k;
  Reals c(a.size() / size_t(k) * size_t(n));
  AddTimesTransposed(a, b, k, c, pool);
  return c;
}

}  // namespace

double Length(const Reals& a) {
  double s = 0;
  for (double x : a) s += x * x;
  return std::sqrt(s);
}

int BitLength(double v) {
  int b = 1;
  while (std::floor(v) >= std::ldexp(1.0, b)) ++b;
  return b;
}

int RingOf(double bound, int shift) { return BitLength(bound + (shift ? std::ldexp(1.0, shift - 1) : 0)) + 2; }

int RoundedRingOf(double bound, int shift) { return std::max(RingOf(bound, shift), shift + 3); }

Reals Part(const Reals& a, int64_t cols, int64_t from, int64_t count) {
  Reals p;
  for (size_t row = 0; row < a.size(); row += size_t(cols))
    p.insert(p.end(), a.begin() + int64_t(row) + from, a.begin() + int64_t(row) + from + count);
  return p;
}

Reals ColumnNorms(const Reals& a, int64_t cols) {
  Reals n(size_t(cols), 0.0);
  for (size_t row = 0; row < a.size(); row += n.size())
    for (size_t j = 0; j < n.size(); ++j) n[j] += a[row + j] * a[row + j];
  for (double& x : n) x = std::sqrt(x);
  return n;
}

double Singular(const Reals& a, int64_t cols, exec::Pool& pool) {
  // through the smaller of the two Gram matrices
  const int64_t rows = int64_t(a.size()) / cols;
  if (rows <= cols) return std::sqrt(LargestEigenvalue(Gram(a, cols, pool), rows, pool));
  Reals t = Transposed(a, cols);
  return std::sqrt(LargestEigenvalue(Gram(t, rows, pool), cols, pool));
}

Path PathOf(const Reals& a, const Reals& b, int64_t m, exec::Pool& pool) {
  const int64_t in = int64_t(a.size()) / m, out = int64_t(b.size()) / m;
  Reals at = Transposed(a, m), left = Gram(at, in, pool), right = Gram(b, out, pool);
  // A B has the singular values whose squares are the eigenvalues of (A^T A)(B B^T); both are symmetric
  return {ColumnNorms(TimesTransposed(a, Transposed(b, out), m, pool), out),
          std::sqrt(LargestEigenvalue(TimesTransposed(left, right, m, pool), m, pool))};
}

double LargestEigenvalue(Reals a, int64_t n, exec::Pool& pool) {
  constexpr int kSquarings = 5;
  double log = 0, trace = 0;
  const bool symmetric = Transposed(a, n) == a;  // and so are its powers
  for (int i = 0; i < kSquarings; ++i) {
    double top = 0;
    for (double x : a) top = std::max(top, std::abs(x));
    if (top == 0) return 0;
    for (double& x : a) x /= top;
    log += std::log(top) / double(1 << i);
    a = symmetric ? Gram(a, n, pool) : TimesTransposed(a, Transposed(a, n), n, pool);
  }
  for (int64_t i = 0; i < n; ++i) trace += a[size_t(i * n + i)];
  return std::exp(log + std::log(trace) / double(1 << kSquarings)) * (1 + 1e-9);
}

}  // namespace suf::nn
