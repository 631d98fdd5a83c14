#include "suf/nn/forward.hpp"

#include <algorithm>
#include <cmath>

#include "suf/base/error.hpp"

namespace suf::nn {

namespace {

using Reals = std::vector<double>;
using Floats = std::vector<float>;
constexpr int kLanes = 8, kRows = 4;

// Dot4: four rows of x against one row of w; lane sums are added in a fixed order, so results do not depend on the
// machine.
void Dot4(const double* const x[kRows], const float* w, int64_t n, double out[kRows]) {
  double acc[kRows][kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    double b[kLanes];
    for (int i = 0; i < kLanes; ++i) b[i] = double(w[k + i]);
    for (int r = 0; r < kRows; ++r)
      for (int i = 0; i < kLanes; ++i) acc[r][i] += x[r][k + i] * b[i];
  }
  for (int r = 0; r < kRows; ++r) {
    out[r] = 0;
    for (int i = 0; i < kLanes; ++i) out[r] += acc[r][i];
    for (int64_t j = k; j < n; ++j) out[r] += x[r][j] * double(w[j]);
  }
}

// Map: x W^T + b, W (out, in). (n, out)
Reals Map(exec::Pool& pool, const Reals& x, const Floats& w, const Reals& b) {
  const int64_t out = int64_t(b.size()), in = int64_t(w.size()) / out, n = int64_t(x.size()) / in;
  Reals y(size_t(n * out));
  pool.For(size_t(out), 16, [&](size_t begin, size_t end) {
    for (int64_t i = 0; i < n; i += kRows) {
      const double* rows[kRows];
      for (int r = 0; r < kRows; ++r) rows[r] = &x[size_t(std::min(i + r, n - 1) * in)];
      for (int64_t o = int64_t(begin); o < int64_t(end); ++o) {
        double z[kRows];
        Dot4(rows, &w[size_t(o * in)], in, z);
        for (int r = 0; r < kRows && i + r < n; ++r) y[size_t((i + r) * out + o)] = z[r] + b[size_t(o)];
      }
    }
  });
  return y;
}

Reals Wide(const Floats& v) { return Reals(v.begin(), v.end()); }

// Normalise: LayerNorm of every row in place; sees the standard deviations.
void Normalise(Reals& x, const Floats& g, const Floats& b, double eps, Range* seen) {
  const size_t d = g.size();
  for (size_t r = 0; r < x.size(); r += d) {
    double sum = 0, square = 0;
    for (size_t j = 0; j < d; ++j) sum += x[r + j];
    for (size_t j = 0; j < d; ++j) x[r + j] -= sum / double(d), square += x[r + j] * x[r + j];
    if (seen) seen->See(std::sqrt(square / double(d)));
    double by = std::sqrt(square / double(d) + eps);
    for (size_t j = 0; j < d; ++j) x[r + j] = x[r + j] / by * double(g[j]) + double(b[j]);
  }
}

// Attend: one head's softmax(q k^T / sqrt(dh)) v into columns [at, at + dh) of o.
void Attend(const Reals& q, const Reals& k, const Reals& v, int64_t d, int64_t dh, int64_t at, Reals& o, Range* score,
            Range* row_max) {
  const int64_t n = int64_t(q.size()) / d;
  Reals s(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double most = -1e300, sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      s[size_t(j)] = 0;
      for (int64_t c = at; c < at + dh; ++c) s[size_t(j)] += q[size_t(i * d + c)] * k[size_t(j * d + c)];
      most = std::max(most, s[size_t(j)]);
      if (score) score->See(s[size_t(j)]);
    }
    if (row_max) row_max->See(most);
    for (double& e : s) sum += e = std::exp((e - most) / std::sqrt(double(dh)));
    for (int64_t j = 0; j < n; ++j)
      for (int64_t c = at; c < at + dh; ++c) o[size_t(i * d + c)] += s[size_t(j)] / sum * v[size_t(j * d + c)];
  }
}

void Add(Reals& a, const Reals& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
}

// KeyBias: minus beta W_k. Softmax does not see a key bias; this one leaves the scores of the folded weights, k = (x -
// beta) W_k.
Reals KeyBias(const Floats& wk, const Floats& beta) {
  const size_t d = beta.size();
  Reals b(d, 0.0);
  for (size_t o = 0; o < d; ++o)
    for (size_t i = 0; i < d; ++i) b[o] -= double(beta[i]) * double(wk[o * d + i]);
  return b;
}

}  // namespace

std::vector<double> FloatForward(const Weights& w, std::span<const int32_t> ids, exec::Pool& pool, Ranges* ranges) {
  const int64_t d = w.dims.d, heads = w.dims.heads, dh = d / heads, n = int64_t(ids.size());
  SUF_CHECK(n > 0 && n <= w.dims.positions);
  if (ranges) {
    ranges->layers.resize(w.layers.size());
    for (auto& l : ranges->layers) l.score.resize(size_t(heads)), l.row_max.resize(size_t(heads));
  }
  Reals x(size_t(n * d));
  for (int64_t i = 0; i < n; ++i) {
    SUF_CHECK(ids[size_t(i)] >= 0 && ids[size_t(i)] < w.dims.vocab);
    for (int64_t j = 0; j < d; ++j)
      x[size_t(i * d + j)] = double(w.word[size_t(ids[size_t(i)] * d + j)]) + double(w.position[size_t(i * d + j)]) +
                             double(w.type[size_t(j)]);
  }
  Normalise(x, w.gamma, w.beta, w.dims.eps, ranges ? &ranges->embedding : nullptr);
  const Floats* beta = &w.beta;
  for (size_t l = 0; l < w.layers.size(); ++l) {
    const Weights::Layer& y = w.layers[l];
    Ranges::Layer* r = ranges ? &ranges->layers[l] : nullptr;
    Reals q = Map(pool, x, y.wq, Wide(y.bq)), k = Map(pool, x, y.wk, KeyBias(y.wk, *beta)),
          v = Map(pool, x, y.wv, Wide(y.bv));
    Reals o(x.size(), 0.0);
    pool.For(size_t(heads), 1, [&](size_t begin, size_t end) {
      for (size_t h = begin; h < end; ++h)
        Attend(q, k, v, d, dh, int64_t(h) * dh, o, r ? &r->score[h] : nullptr, r ? &r->row_max[h] : nullptr);
    });
    Add(x, Map(pool, o, y.wo, Wide(y.bo)));
    Normalise(x, y.g1, y.b1, w.dims.eps, r ? &r->attention : nullptr);
    Reals h = Map(pool, x, y.w_in, Wide(y.b_in));
    for (double& t : h) {
      if (r) r->ffn1.See(t);
      t = 0.5 * t * (1 + std::erf(t / std::sqrt(2.0)));
    }
    Add(x, Map(pool, h, y.w_out, Wide(y.b_out)));
    Normalise(x, y.g2, y.b2, w.dims.eps, r ? &r->output : nullptr);
    beta = &y.b2;
  }
  std::vector<double> mean(size_t(d), 0.0);
  double square = 0;
  for (size_t i = 0; i < x.size(); ++i) mean[i % size_t(d)] += x[i] / double(n);
  for (double t : mean) square += t * t;
  if (ranges) ranges->result.See(std::sqrt(square));
  for (double& t : mean) t /= std::sqrt(square);
  return mean;
}

double Cosine(std::span<const double> a, std::span<const double> b) {
  SUF_CHECK(a.size() == b.size());
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

}  // namespace suf::nn
