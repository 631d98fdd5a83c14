#include "suf/nn/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "suf/nn/tables.hpp"

namespace suf::nn {

namespace {

double Max(const Reals& a) { return *std::max_element(a.begin(), a.end()); }

double Most(const std::vector<int64_t>& t) {
  double m = 0;
  for (int64_t x : t) m = std::max(m, std::abs(double(x)));
  return m;
}

// One: 2^bits.
double One(int bits) { return std::ldexp(1.0, bits); }

}  // namespace

int RingOf(double bound, int shift) { return BitLength(bound + (shift ? One(shift - 1) : 0)) + 2; }

Bounds::Bounds(const Dims& dims, const Scales& scales, const Quantised& q, exec::Pool& pool,
               const std::function<void(double)>& progress)
    : dims_(dims), s_(scales), q_(q) {
  for (int64_t l = 0; l < dims.layers; ++l) {
    facts_.push_back(Facts(q, dims, l, pool));
    if (progress) progress(double(l + 1) / double(dims.layers));
  }
}

Reach Bounds::Embedding(int n) const {
  const EmbeddingFacts e = nn::Embedding(q_, n);
  return {e.coordinate, e.row};
}

NormReach Bounds::Norm(const nn::Norm& y, double longest, bool last) const {
  const double d = double(dims_.d), of = last ? 1 : d;  // y has norm sqrt(of)
  const int out = last ? s_.result : s_.f, scale = y.shift + out;
  const double above = 1 + Excess(y.rsqrt, [&](double v) { return One(scale) * std::sqrt(of / v); });
  return {longest * longest + double(y.eps), One(scale) * std::sqrt(of) * above,
          One(out) * std::sqrt(of) * above + std::sqrt(d) / 2};
}

double Bounds::Longest(const Reach& z, int cut) const { return z.length / One(cut) + std::sqrt(double(dims_.d)) / 2; }

double Bounds::QueryKey(int64_t l, double rows) const {
  const MapFacts& f = facts_[size_t(l)].qk;
  double most = 0;
  for (size_t j = 0; j < f.column.size(); ++j) most = std::max(most, rows * f.column[j] + f.bias[j]);
  return most;
}

double Bounds::Value(int64_t l, double rows) const { return rows * Max(facts_[size_t(l)].v.column); }

double Bounds::Weighted(int64_t l, const Layer& y, double rows) const { return Value(l, rows) / One(y.shift_v) + 0.5; }

double Bounds::RowSum(const Layer& y, int n) const { return double(n) * Most(y.ehi) * Most(y.elo); }

double Bounds::Mixed(int64_t l, const Layer& y, int n, double rows) const {
  return RowSum(y, n) * Weighted(l, y, rows);
}

// Reciprocal: recip is at the scale that, with v's, leaves the output's after shift_o.
double Bounds::Reciprocal(const Layer& y) const {
  const double scale = One(y.shift_o + s_.o + y.bias_o - s_.v);
  return 1 + Excess(y.recip, [&](double v) { return scale / v; });
}

double Bounds::Attended(int64_t l, const Layer& y, double rows) const {
  return One(y.shift_o + s_.o + y.bias_o - s_.v) * Reciprocal(y) * Weighted(l, y, rows);
}

Reach Bounds::Output(int64_t l, const Layer& y, double rows) const {
  const LayerFacts& f = facts_[size_t(l)];
  const double d = double(dims_.d), dh = d / double(dims_.heads), one = One(y.shift_v);
  const double scale = One(s_.o + y.bias_o - s_.v) * Reciprocal(y), rounding = y.shift_o ? 0.5 : 0;
  const ResidualGain gain = Gain(f.gamma_o, f.mean_o, y.diag_o, y.mean_o);
  Reals bias = f.o.bias, each(bias.size());
  for (double& b : bias) b = std::ldexp(b, y.bias_o);
  for (size_t j = 0; j < bias.size(); ++j)
    each[j] = scale * (rows / one * f.value_path[j] + 0.5 * f.o.column_sum[j]) + rounding * f.o.column_sum[j] +
              rows * gain.column[j] + bias[j];
  const double spectral = scale * (rows / one * f.value_path_largest + 0.5 * std::sqrt(dh) * f.head_largest) +
                          rounding * std::sqrt(d) * f.o.largest + rows * gain.largest + Length(bias);
  return {Max(each), std::min(Length(each), spectral)};
}

Reach Bounds::FeedForward(int64_t l, const Layer& y, double rows) const {
  const LayerFacts& f = facts_[size_t(l)];
  const double ff = double(dims_.ff), one = One(y.shift_ffn1), slope = One(s_.gelu);
  const double excess = Excess({y.piece_width, s_.x, s_.gelu, y.gelu_a, y.gelu_b});
  const double window = One(y.piece_width + y.piece - 1);  // z_1 wraps, GELU covers its whole ring
  Reals h(f.w1.column.size()), each(f.w2.bias.size(), 0.0);
  for (size_t j = 0; j < h.size(); ++j)
    h[j] = std::min((rows * f.w1.column[j] + f.w1.bias[j]) / one + 0.5, window) * slope + excess;
  const double length =
      std::min(Length(h), slope * ((rows * f.w1.largest + Length(f.w1.bias)) / one + 0.5 * std::sqrt(ff)) +
                              excess * std::sqrt(ff));
  const ResidualGain gain = Gain(f.gamma_2, f.mean_2, y.diag_2, y.mean_2);
  for (size_t i = 0; i < h.size(); ++i)
    for (size_t j = 0; j < each.size(); ++j) each[j] += h[i] * f.w2_magnitude[i * each.size() + j];
  for (size_t j = 0; j < each.size(); ++j)
    each[j] = std::min(each[j], length * f.w2.column[j]) + rows * gain.column[j] + f.w2.bias[j];
  const double spectral = length * f.w2.largest + rows * gain.largest + Length(f.w2.bias);
  return {Max(each), std::min(Length(each), spectral)};
}

Reach Bounds::Pool(int n, double rows) const {
  const Tensor &g = q_.at("gp"), &b = q_.at("bp");
  Reals each, bias;
  double most = 0;
  for (int64_t j = 0; j < g.size(); ++j) {
    most = std::max(most, std::abs(double(g[j]))), bias.push_back(std::abs(double(b[j])) * n);
    each.push_back(n * rows * std::abs(double(g[j])) + bias.back());
  }
  return {Max(each), std::min(Length(each), n * rows * most + Length(bias))};
}

namespace {

// Checker: one class of a finished plan, in the order in which Compile makes it.
class Checker {
 public:
  Checker(const Plan& plan, const Bounds& bounds) : plan_(plan), b_(bounds) {}
  void Run(const Class& c);

 private:
  // Fits: refuses unless |value| <= bound is within the certificate and, where `most` bits are all that the ring has
  // room for, within these after the rounding by `shift` bits.
  void Fits(const std::string& wire, double bound, int shift, int most) const;
  void Gap(const std::string& wire, double bound, int shift, int ring) const { Fits(wire, bound, shift, ring - 2); }
  double Rows(const std::string& wire, const Norm& y, double longest, bool last = false) const;

  const Plan& plan_;
  const Bounds& b_;
  std::string prefix_;
};

void Checker::Fits(const std::string& wire, double bound, int shift, int most) const {
  const std::string name = prefix_ + wire;
  const auto certificate = plan_.certificates.find(name);
  if (certificate == plan_.certificates.end() || !certificate->second.hard)
    Fail(Cause::kRefused, "the plan has no hard certificate of wire ", name, "; compile a plan from this model");
  const int rounded = RingOf(bound, shift) - 2;
  const bool certified = BitLength(bound) <= certificate->second.bits;
  if (certified && rounded <= most) return;
  Fail(Cause::kRefused, "wire ", name, " can reach 2^", certified ? rounded : BitLength(bound),
       " with these weights; the plan allows 2^", certified ? most : std::min(most, certificate->second.bits),
       "; compile a plan from this model");
}

double Checker::Rows(const std::string& wire, const Norm& y, double longest, bool last) const {
  const NormReach r = b_.Norm(y, longest, last);
  Fits(wire + ".square", r.square, 0, y.square);
  Gap(wire + ".product", r.product, y.shift, y.product);
  return r.rows;
}

void Checker::Run(const Class& c) {
  prefix_ = Str(c.max_n, "/");
  const int n = c.max_n;
  Reach z = b_.Embedding(n);
  Gap("embedding", z.most, 0, c.embedding.kz);
  double rows = Rows("embedding", c.embedding, z.length);
  for (int64_t l = 0; l < int64_t(c.layers.size()); ++l) {
    const Layer& y = c.layers[size_t(l)];
    const std::string at = Str(l, "/");
    Gap(at + "z_qk", b_.QueryKey(l, rows), y.shift_qk, y.qk);
    Gap(at + "z_v", b_.Value(l, rows), y.shift_v, y.v);
    Fits(at + "row_sum", b_.RowSum(y, n), 0, y.row_sum);
    Gap(at + "eV", b_.Mixed(l, y, n, rows), 0, y.ev);
    z = b_.Output(l, y, rows);
    Gap(at + "z_o", z.most, y.attention.cut, y.proj);
    if (y.shift_o) Gap(at + "o", b_.Attended(l, y, rows), y.shift_o, y.o);
    rows = Rows(at + "attention", y.attention, b_.Longest(z, y.attention.cut));
    z = b_.FeedForward(l, y, rows);
    Gap(at + "z_2", z.most, y.output.cut, y.ffn2);
    rows = Rows(at + "output", y.output, b_.Longest(z, y.output.cut));
  }
  z = b_.Pool(n, rows);
  Gap("pool", z.most, c.result.cut, c.pool);
  Rows("result", c.result, b_.Longest(z, c.result.cut), true);
}

}  // namespace

void CheckWeights(const Plan& plan, const Quantised& weights, exec::Pool& pool,
                  const std::function<void(double)>& progress) {
  const Bounds bounds(plan.dims, plan.scales, weights, pool, progress);
  for (const Class& c : plan.classes) Checker(plan, bounds).Run(c);
}

}  // namespace suf::nn
