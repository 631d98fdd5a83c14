#include "suf/nn/certify.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

Reals Numbers(const Tensor& t) {
  return t.Visit([&](const auto* p) { return Reals(p, p + t.size()); });
}

Reals Magnitudes(Reals a) {
  for (double& x : a) x = std::abs(x);
  return a;
}

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

// Part: columns [from, from + count) of a (rows, cols). (rows, count)
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

MapFacts OfMap(const Reals& w, int64_t cols, const Tensor* bias) {
  MapFacts f{ColumnNorms(w, cols), Reals(size_t(cols), 0.0), Reals(size_t(cols), 0.0), 0};
  for (size_t i = 0; i < w.size(); ++i) f.column_sum[i % size_t(cols)] += std::abs(w[i]);
  if (bias) f.bias = Magnitudes(Numbers(*bias));
  return f;
}

// Singular: the largest singular value of a (rows, cols), through the smaller of its two Gram matrices.
double Singular(const Reals& a, int64_t cols, exec::Pool& pool) {
  const int64_t rows = int64_t(a.size()) / cols;
  if (rows <= cols) return std::sqrt(LargestEigenvalue(TimesTransposed(a, a, cols, pool), rows, pool));
  Reals t = Transposed(a, cols);
  return std::sqrt(LargestEigenvalue(TimesTransposed(t, t, rows, pool), cols, pool));
}

void ValuePath(const Reals& wv, const Reals& wo, const Dims& dims, LayerFacts& f, exec::Pool& pool) {
  const int64_t d = dims.d, dh = d / dims.heads;
  f.value_path.assign(size_t(d), 0.0);
  for (int64_t h = 0; h < dims.heads; ++h) {
    Reals v = Part(wv, d, h * dh, dh);                                // (d, dh)
    Reals o(wo.begin() + h * dh * d, wo.begin() + (h + 1) * dh * d);  // (dh, d)
    Reals path = ColumnNorms(TimesTransposed(v, Transposed(o, d), dh, pool), d);
    for (size_t j = 0; j < path.size(); ++j) f.value_path[j] += path[j];
    Reals vt = Transposed(v, dh), oo = TimesTransposed(o, o, d, pool), vv = TimesTransposed(vt, vt, d, pool);
    // Wv_h Wo_h has the singular values whose squares are the eigenvalues of (Wv^T Wv)(Wo Wo^T); both are symmetric.
    f.value_path_largest += std::sqrt(LargestEigenvalue(TimesTransposed(vv, oo, dh, pool), dh, pool));
    f.head_largest += std::sqrt(LargestEigenvalue(oo, dh, pool));
  }
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

LayerFacts Facts(const Quantised& q, const Dims& dims, int64_t layer, exec::Pool& pool) {
  auto at = [&](const char* name) -> const Tensor& { return q.at(Str(layer, ".", name)); };
  LayerFacts f;
  Reals wv = Numbers(at("Wv")), wo = Numbers(at("Wo")), w1 = Numbers(at("W1")), w2 = Numbers(at("W2"));
  f.qk = OfMap(Numbers(at("Wqk")), 2 * dims.d, &at("bqk"));
  f.v = OfMap(wv, dims.d, nullptr);
  f.o = OfMap(wo, dims.d, &at("bo")), f.o.largest = Singular(wo, dims.d, pool);
  f.w1 = OfMap(w1, dims.ff, &at("b1")), f.w1.largest = Singular(w1, dims.ff, pool);
  f.w2 = OfMap(w2, dims.d, &at("b2")), f.w2.largest = Singular(w2, dims.d, pool);
  ValuePath(wv, wo, dims, f, pool);
  f.w2_magnitude = Magnitudes(std::move(w2));
  f.gamma_o = Numbers(at("go")), f.mean_o = Numbers(at("uo")), f.gamma_2 = Numbers(at("g2")),
  f.mean_2 = Numbers(at("u2"));
  return f;
}

EmbeddingFacts Embedding(const Quantised& q, int64_t n) {
  const Tensor &word = q.at("E"), &pos = q.at("pos");
  const int64_t d = word.cols();
  struct Spread {
    Reals low, high;
    double longest = 0;
  };
  auto spread = [&](const Tensor& t, int64_t rows) {
    Spread s{Reals(size_t(d), 1e300), Reals(size_t(d), -1e300), 0};
    t.Visit([&](const auto* p) {
      for (int64_t i = 0; i < rows; ++i) {
        double square = 0;
        for (int64_t j = 0; j < d; ++j) {
          double x = double(p[i * d + j]);
          s.low[size_t(j)] = std::min(s.low[size_t(j)], x), s.high[size_t(j)] = std::max(s.high[size_t(j)], x),
          square += x * x;
        }
        s.longest = std::max(s.longest, std::sqrt(square));
      }
    });
    return s;
  };
  Spread a = spread(word, word.rows()), b = spread(pos, n);
  EmbeddingFacts f;
  double box = 0;
  for (size_t j = 0; j < size_t(d); ++j) {
    double most = std::max(a.high[j] + b.high[j], -(a.low[j] + b.low[j]));
    f.coordinate = std::max(f.coordinate, most), box += most * most;
  }
  f.row = std::min(a.longest + b.longest, std::sqrt(box));
  return f;
}

ResidualGain Gain(const Reals& gamma, const Reals& u, int diag, int mean) {
  ResidualGain g;
  double square = 0, most = 0;
  for (double x : u) square += std::ldexp(x, diag - mean) * std::ldexp(x, diag - mean);
  for (size_t j = 0; j < u.size(); ++j) {
    double c = std::ldexp(gamma[j], diag), m = std::ldexp(u[j], diag - mean);
    g.column.push_back(std::sqrt(std::max(square - 2 * m * c + c * c, 0.0)));
    most = std::max(most, std::abs(c));
  }
  g.largest = most + std::sqrt(double(u.size()) * square);
  return g;
}

}  // namespace suf::nn
