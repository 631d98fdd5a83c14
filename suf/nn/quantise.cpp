#include "suf/nn/quantise.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

using Reals = std::vector<double>;
using Floats = std::vector<float>;

Reals Wide(const Floats& v) { return Reals(v.begin(), v.end()); }

// In: a float (out, in) matrix read as (in, out), row i scaled by scale[i]. (in, out)
Reals In(const Floats& w, int64_t in, int64_t out, const Reals* scale = nullptr) {
  Reals r(size_t(in * out));
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i)
      r[i * out + o] = scale ? (*scale)[i] * double(w[o * in + i]) : double(w[o * in + i]);
  return r;
}

// Centre: removes the mean of every row of `cols` values.
Reals Centre(Reals a, int64_t cols) {
  for (size_t r = 0; r < a.size(); r += size_t(cols)) {
    double sum = a[r];
    for (int64_t j = 1; j < cols; ++j) sum += a[r + j];
    double mean = sum / double(cols);
    for (int64_t j = 0; j < cols; ++j) a[r + j] -= mean;
  }
  return a;
}

// Fold: v W + b for W (in, out); b added last.
Reals Fold(const Reals& v, const Floats& w, const Floats& b) {
  Reals y(b.size());
  for (size_t o = 0; o < y.size(); ++o) {
    double sum = v[0] * double(w[o * v.size()]);
    for (size_t i = 1; i < v.size(); ++i) sum += v[i] * double(w[o * v.size() + i]);
    y[o] = sum + double(b[o]);
  }
  return y;
}

Reals Plus(Reals a, const Reals& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Reals Over(Reals a, double by) {
  for (double& x : a) x /= by;
  return a;
}

Tensor Fixed(const std::string& name, std::vector<int64_t> shape, const Reals& a, int scale) {
  std::vector<int64_t> v(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    double x = std::floor(std::ldexp(a[i], scale) + 0.5);
    if (!(std::abs(x) < 0x1p50))
      Fail(Cause::kRefused, "a weight of ", name, " exceeds 2^50 at scale 2^", scale,
           "; check the model's weights or lower the scale");
    v[i] = int64_t(x);
  }
  return Tensor(std::move(shape), v);
}

int Room(int from, const Scales& s, const char* what) {
  int room = from - s.f - s.gamma;
  if (room < 0)
    Fail(Cause::kRefused, "the scale 2^", from, " of ", what, " is below 2^", s.f + s.gamma,
         ", that of gamma times an activation; raise it");
  return room;
}

template <class T>
bool Holds(const std::vector<int64_t>& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t x) { return x == int64_t(T(x)); });
}

}  // namespace

int DiagO(const Scales& s) { return Room(s.o + s.w_o, s, "the attention's output map"); }
int Diag2(const Scales& s) { return Room(s.x + s.gelu + s.w_2, s, "the second feed-forward map"); }

Tensor::Tensor(std::vector<int64_t> shape, const std::vector<int64_t>& v) : shape_(std::move(shape)) {
  SUF_CHECK(!shape_.empty() && shape_.size() <= 2 && size() == int64_t(v.size()));
  if (Holds<int16_t>(v))
    data_ = std::vector<int16_t>(v.begin(), v.end());
  else if (Holds<int32_t>(v))
    data_ = std::vector<int32_t>(v.begin(), v.end());
  else
    data_ = v;
}

int64_t Tensor::operator[](int64_t i) const {
  return Visit([&](const auto* p) { return int64_t(p[i]); });
}

std::vector<int64_t> Tensor::Row(int64_t i) const {
  return Visit([&](const auto* p) { return std::vector<int64_t>(p + i * cols(), p + (i + 1) * cols()); });
}

std::vector<uint64_t> Tensor::Words() const {
  return Visit([&](const auto* p) {
    std::vector<uint64_t> w(static_cast<size_t>(size()));
    for (size_t i = 0; i < w.size(); ++i) w[i] = uint64_t(int64_t(p[i]));
    return w;
  });
}

Quantised Quantise(const Weights& w, const Scales& s, int64_t max_tokens) {
  const int64_t d = w.dims.d, ff = w.dims.ff;
  SUF_CHECK(max_tokens <= w.dims.positions);
  Quantised q;
  auto put = [&](const std::string& name, std::vector<int64_t> shape, const Reals& a, int scale) {
    q[name] = Fixed(name, std::move(shape), a, scale);
  };
  put("E", {w.dims.vocab, d}, Centre(Wide(w.word), d), s.embedding);
  Reals pos(size_t(max_tokens * d));
  for (size_t i = 0; i < pos.size(); ++i) pos[i] = double(w.position[i]) + double(w.type[i % size_t(d)]);
  put("pos", {max_tokens, d}, Centre(std::move(pos), d), s.embedding);

  Reals g = Wide(w.gamma), b = Wide(w.beta);
  for (size_t l = 0; l < w.layers.size(); ++l) {
    const Weights::Layer& y = w.layers[l];
    const std::string at = std::to_string(l) + ".";
    Reals q_map = In(y.wq, d, d, &g), k_map = In(y.wk, d, d, &g), both(size_t(2 * d * d));
    for (int64_t i = 0; i < d; ++i) {
      std::copy_n(&q_map[i * d], d, &both[2 * i * d]);
      std::copy_n(&k_map[i * d], d, &both[2 * i * d + d]);
    }
    Reals q_bias = Fold(b, y.wq, y.bq), value_bias = Fold(b, y.wv, y.bv);
    q_bias.resize(size_t(2 * d), 0.0);
    put(at + "Wqk", {d, 2 * d}, both, s.w_qk), put(at + "bqk", {2 * d}, q_bias, s.f + s.w_qk);
    put(at + "Wv", {d, d}, In(y.wv, d, d, &g), s.w_v);
    put(at + "Wo", {d, d}, Centre(In(y.wo, d, d), d), s.w_o);
    put(at + "go", {d}, g, s.gamma), put(at + "uo", {d}, Over(g, double(d)), s.gamma + MeanO(s));
    put(at + "bo", {d}, Centre(Plus(Fold(value_bias, y.wo, y.bo), b), d), s.o + s.w_o);
    g = Wide(y.g1), b = Wide(y.b1);
    put(at + "W1", {d, ff}, In(y.w_in, d, ff, &g), s.w_1), put(at + "b1", {ff}, Fold(b, y.w_in, y.b_in), s.f + s.w_1);
    put(at + "W2", {ff, d}, Centre(In(y.w_out, ff, d), d), s.w_2);
    put(at + "g2", {d}, g, s.gamma), put(at + "u2", {d}, Over(g, double(d)), s.gamma + Mean2(s));
    put(at + "b2", {d}, Centre(Plus(Wide(y.b_out), b), d), s.x + s.gelu + s.w_2);
    g = Wide(y.g2), b = Wide(y.b2);
  }
  put("gp", {d}, g, s.gamma), put("bp", {d}, b, s.f + s.gamma);
  return q;
}

}  // namespace suf::nn
