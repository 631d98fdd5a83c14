// For tests: a small random encoder and texts of its vocabulary, the same from a seed on every machine.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "suf/nn/compile.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

// Draws: a fixed generator (splitmix64) and near-normal numbers, sums of twelve uniform ones.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t Word() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u, z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  int64_t Below(int64_t n) { return int64_t(Word() % uint64_t(n)); }
  float Normal(double mean, double deviation) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += double(Word() >> 11) * 0x1p-53;
    return float(mean + deviation * sum);
  }
  std::vector<float> Normals(int64_t count, double mean, double deviation) {
    std::vector<float> v;
    for (int64_t i = 0; i < count; ++i) v.push_back(Normal(mean, deviation));
    return v;
  }

 private:
  uint64_t state_;
};

inline constexpr Dims kTiny{.d = 16, .heads = 2, .ff = 32, .vocab = 8, .layers = 2, .positions = 16};

inline Weights TinyWeights(uint64_t seed, const Dims& dims = kTiny) {
  Draws r(seed);
  Weights w;
  w.dims = dims;
  const int64_t d = dims.d, ff = dims.ff;
  w.word = r.Normals(dims.vocab * d, 0, 0.05), w.position = r.Normals(dims.positions * d, 0, 0.03),
  w.type = r.Normals(d, 0, 0.02);
  w.gamma = r.Normals(d, 1, 0.2), w.beta = r.Normals(d, 0, 0.1);
  for (int64_t l = 0; l < dims.layers; ++l) {
    Weights::Layer& y = w.layers.emplace_back();
    const double spread = 1.2 / std::sqrt(double(d));
    for (auto* m : {&y.wq, &y.wk, &y.wv, &y.wo}) *m = r.Normals(d * d, 0, spread);
    for (auto* b : {&y.bq, &y.bk, &y.bv, &y.bo, &y.b1, &y.b_out, &y.b2}) *b = r.Normals(d, 0, 0.1);
    y.w_in = r.Normals(ff * d, 0, spread), y.w_out = r.Normals(d * ff, 0, 1 / std::sqrt(double(ff)));
    y.b_in = r.Normals(ff, 0, 0.1), y.g1 = r.Normals(d, 1, 0.2), y.g2 = r.Normals(d, 1, 0.2);
  }
  return w;
}

// TinyTexts: `count` texts of 3 to `longest` tokens.
inline std::vector<std::vector<int32_t>> TinyTexts(uint64_t seed, int count, int longest, const Dims& dims = kTiny) {
  Draws r(seed);
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < count; ++i) {
    std::vector<int32_t>& t = texts.emplace_back();
    for (int64_t n = 3 + r.Below(longest - 2); n > 0; --n) t.push_back(int32_t(r.Below(dims.vocab)));
  }
  return texts;
}

inline CompileOptions TinyOptions() {
  CompileOptions o;
  o.max_tokens = int(kTiny.positions);
  return o;
}

}  // namespace suf::nn
