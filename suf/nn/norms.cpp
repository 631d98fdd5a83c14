#include "suf/nn/norms.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

// Times: A B^T over rows; a (m, k), b (n, k). (m, n)
Reals TimesTransposed(const Reals& a, const Reals& b, int64_t k, exec::Pool& pool) {
  const int64_t m = int64_t(a.size()) / k, n = int64_t(b.size()) / k;
  constexpr int kLanes = 8;
  Reals c(size_t(m * n));
  pool.For(size_t(m), 4, [&](size_t begin, size_t end) {
    for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double *x = &a[size_t(i * k)], *y = &b[size_t(j * k)];
        double lane[kLanes] = {}, sum = 0;
        int64_t at = 0;
        for (; at + kLanes <= k; at += kLanes)
          for (int t = 0; t < kLanes; ++t) lane[t] += x[at + t] * y[at + t];
        for (double part : lane) sum += part;
        for (; at < k; ++at) sum += x[at] * y[at];
        c[size_t(i * n + j)] = sum;
      }
  });
  return c;
}

// Transposed: of a (rows, cols). (cols, rows)
Reals Transposed(const Reals& a, int64_t cols) {
  const int64_t rows = int64_t(a.size()) / cols;
  Reals t(a.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) t[size_t(j * rows + i)] = a[size_t(i * cols + j)];
  return t;
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

Reals Part(const Reals& a, int64_t cols, int64_t from, int64_t count) {
  Reals p;
  for (size_t row = 0; row < a.size(); row += size_t(cols))
    p.insert(p.end(), a.begin() + int64_t(row) + from, a.begin() + int64_t(row) + from + count);
  return p;
}

Reals ColumnNorms(const Reals& a, int64_t cols) {
  Reals n(size_t(cols), 0.0);
  for (size_t i = 0; i < a.size(); ++i) n[i % size_t(cols)] += a[i] * a[i];
  for (double& x : n) x = std::sqrt(x);
  return n;
}

double Singular(const Reals& a, int64_t cols, exec::Pool& pool) {
  // through the smaller of the two Gram matrices
  const int64_t rows = int64_t(a.size()) / cols;
  if (rows <= cols) return std::sqrt(LargestEigenvalue(TimesTransposed(a, a, cols, pool), rows, pool));
  Reals t = Transposed(a, cols);
  return std::sqrt(LargestEigenvalue(TimesTransposed(t, t, rows, pool), cols, pool));
}

Path PathOf(const Reals& a, const Reals& b, int64_t m, exec::Pool& pool) {
  const int64_t in = int64_t(a.size()) / m, out = int64_t(b.size()) / m;
  Reals at = Transposed(a, m), left = TimesTransposed(at, at, in, pool), right = TimesTransposed(b, b, out, pool);
  // A B has the singular values whose squares are the eigenvalues of (A^T A)(B B^T); both are symmetric
  return {ColumnNorms(TimesTransposed(a, Transposed(b, out), m, pool), out),
          std::sqrt(LargestEigenvalue(TimesTransposed(left, right, m, pool), m, pool))};
}

double LargestEigenvalue(Reals a, int64_t n, exec::Pool& pool) {
  constexpr int kSquarings = 5;
  double log = 0, trace = 0;
  for (int i = 0; i < kSquarings; ++i) {
    double top = 0;
    for (double x : a) top = std::max(top, std::abs(x));
    if (top == 0) return 0;
    for (double& x : a) x /= top;
    log += std::log(top) / double(1 << i);
    a = TimesTransposed(a, Transposed(a, n), n, pool);
  }
  for (int64_t i = 0; i < n; ++i) trace += a[size_t(i * n + i)];
  return std::exp(log + std::log(trace) / double(1 << kSquarings)) * (1 + 1e-9);
}

}  // namespace suf::nn
