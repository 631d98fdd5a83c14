#include "suf/nn/ops/norm.hpp"

#include <algorithm>
#include <cmath>

#include "suf/gates/function.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/tables.hpp"
#include "suf/ring/words.hpp"

namespace suf::nn {

using compiler::Borrow;
using compiler::Factors;
using compiler::OpenedDigits;
using compiler::Owing;
using compiler::Words;
using pfss::Pub;
using pfss::Sec;
using pfss::Trace;

namespace {

constexpr int kVarianceBelow = 2;       // bits under the smallest sum of squares seen
constexpr double kVarianceAbove = 0.6;  // bits over the largest
constexpr int kLargestSquare = 60;

double One(int bits) { return std::ldexp(1.0, bits); }

}  // namespace

RealArray Norm::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  RealArray y = *x[0];
  const size_t d = size_t(dim);
  for (size_t r = 0; r < y.at.size(); r += d) {
    double sum = 0, squares = 0;
    if (centre)
      for (size_t j = 0; j < d; ++j) sum += y.at[r + j];
    for (size_t j = 0; j < d; ++j) y.at[r + j] -= sum / double(d), squares += y.at[r + j] * y.at[r + j];
    const double by = std::sqrt((unit ? squares : squares / double(d)) + eps);
    for (size_t j = 0; j < d; ++j) y.at[r + j] /= by;
  }
  if (gamma) {
    const Reals& g = c.value(gamma);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] *= g[i % d];
  }
  if (beta) {
    const Reals& b = c.value(beta);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] += b[i % d];
  }
  return y;
}

// See: the standard deviation of rows; the length of the mean row, or of the row, for x / |x|.
void Norm::See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const {
  std::vector<Range>& size = (*seen)["size"];
  size.resize(1);
  const size_t d = size_t(dim);
  for (size_t r = 0; r < x[0]->at.size(); r += d) {
    double sum = 0;
    for (size_t j = 0; j < d; ++j) sum += x[0]->at[r + j] * x[0]->at[r + j];
    size[0].See(unit ? std::sqrt(sum) / (by_length ? c.n : 1) : std::sqrt(sum / double(d)));
  }
}

void Norm::Attributes(Visitor& v) {
  v.Int("dim", dim, 1, 1 << 20), v.Real("eps", &eps, 0, 1), v.Flag("unit", &unit), v.Flag("by_length", &by_length);
  v.Text("key", &key, 40);
}

void Norm::Choose(const Facts& c, const Edges& in) {
  const Options& o = c.options;
  const Edge& z = in[0];
  const double d = double(dim), of = unit ? 1 : d;  // y has norm sqrt(of)
  const int out = unit ? o.Result("unit") : o.activation;
  int at = std::min(z.scale, o.Norm(key));
  for (;; --at) {  // a long residual stream: fewer fractional bits in the sum of squares
    cut = z.scale - at, epsilon = unit ? 0 : std::llround(eps * d * One(2 * at));
    const double longest = z.reach.Scaled(One(-cut), cut > 0 ? 0.5 : 0).length;
    square = BitLength(longest * longest + double(epsilon));
    if (square <= kLargestSquare) break;
  }
  if (!c.seen) return;
  const Range& seen = c.seen->at("size").at(0);
  const double low = seen.low * (by_length ? c.least : 1), high = seen.high * (by_length ? c.n : 1);
  const double extra = unit ? 0 : std::log2(d);
  top = std::min(square, int(std::ceil(2 * (at + std::log2(high)) + extra + kVarianceAbove)));
  floor = std::max(1, int(std::floor(2 * (at + std::log2(low)) + extra)) - kVarianceBelow);
  if (floor >= top)
    Fail(Cause::kRefused, "the calibrated sum of squares is below 2^", top, " and leaves no precision; raise `norm.",
         key, "`");
  const int bits = (unit ? o.unit_bits : o.rsqrt_bits) + int(std::ceil((top - std::log2(of)) / 2));
  const int fine = std::max(out + 2, bits);
  rsqrt = Octaves([&](double v) { return std::ldexp(1.0, fine) * std::sqrt(of / v); }, floor, top, square,
                  unit ? o.unit_pieces : o.rsqrt_pieces, o.span);
  shift = fine - out, scale = out;
  ring = unit ? out + 4 : 0;
  // one row: a flight is worth more than the words of the one-stage rescale
  stages = z.one_row ? compiler::kOnPath : compiler::kBeside;
}

Reach Norm::Bound(const Facts&, const Edges& in, std::vector<Width>* widths) {
  const Edge& z = in[0];
  const double of = unit ? 1 : double(dim);
  const double above = 1 + Excess(rsqrt, [&](double v) { return One(shift + scale) * std::sqrt(of / v); });
  const double most = One(shift + scale) * std::sqrt(of) * above;
  const Reach x = z.reach.Scaled(One(-cut), cut > 0 ? 0.5 : 0);
  widths->push_back({"square", BitLength(x.length * x.length + double(epsilon)), &square, kLargestSquare});
  widths->push_back(
      {"product", std::max(RingOf(most, shift), RingOf(z.reach.most(), cut) - cut + 1), &product, 64, false, 2});
  widths->push_back({"input", RingOf(z.reach.most(), cut), &kz, 64, false, 2});
  Reach r{dim, most, {}, {}, {}};
  return r.Scaled(One(-shift), 0.5);
}

void Norm::Fields(Visitor& v) {
  v.Int("kz", kz, 3, kRing), v.Int("cut", cut, 0, kRing), v.Int("square", square, 1, 61),
      v.Int("epsilon", epsilon, 0, kBig);
  v.Int("floor", floor, 0, kRing), v.Int("top", top, 0, kRing), v.Octaves("rsqrt", &rsqrt, square);
  v.Int("product", product, 3, kRing), v.Int("shift", shift, 1, kRing), v.Stages("stages", &stages);
  v.Stages("last", &last, compiler::Stages::kNone), v.Lowering("rows", &rows);
}

std::vector<Knob> Norm::Knobs() {
  // by cut: norms behind other operators are chosen apart
  std::vector<Knob> out{StagesKnob(Str(shift, " bits after ", cut), &last, compiler::Stages::kNone)};
  out.push_back(RowsKnob(&rows, rsqrt, square));
  if (cut > 0) out.push_back(StagesKnob(Str(cut, " bits before"), &stages));
  return out;
}

void Norm::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[0].dim == dim, where, "its input has another width");
  Wanted(in[0].ring >= kz, where, "it reads more bits than its input has");
  Wanted(cut < kz - 2, where, "its cut leaves no bits");
  Wanted(floor < top && top <= square, where, "floor < top <= square does not hold");
  Wanted(shift < product - 2, where, "its shift leaves no bits");
  Wanted(product >= kz - cut, where, "the product's ring is narrower than x");
  WantCover(rsqrt, square, product, where);
  WantRows(rows, rsqrt, square, where);
}

IntArray Norm::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  IntArray y = *x[0];
  const size_t d = size_t(dim);
  for (int64_t& v : y.at) v = ring::RoundShift(v, cut);
  Ints squares;
  for (size_t r = 0; r < y.at.size(); r += d) {
    int64_t v = epsilon;
    for (size_t j = r; j < r + d; ++j) v = WrapAdd(v, WrapMul(y.at[j], y.at[j]));
    squares.push_back(v);
  }
  const Ints roots = RowOf(rsqrt, square, 64).Spec(squares, square);
  for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = WrapMul(y.at[i], roots[i / d]);
  c.watch.See("square", squares), c.watch.See("product", y.at);
  auto [low, high] = std::minmax_element(squares.begin(), squares.end());
  if (*low < WrapShl(1, floor)) c.watch.Leave("square", *low, WrapShl(1, floor));
  if (top < 63 && *high >= WrapShl(1, top)) c.watch.Leave("square", *high, WrapShl(1, top));
  for (int64_t& v : y.at) v = ring::RoundShift(v, shift);
  return y;
}

namespace {

std::vector<compiler::Cut> CutsOf(const Norm& n) { return {{n.cut, std::max(n.square, n.product)}}; }

// Square: x^2 in Z_{2^square}, x = T - R + 2^k g b - c: every summand of the expansion, c^2 = c and b^2 = b.
Owing Square(Trace& t, const Factors& x, const Borrow* c, int k, int square) {
  Pub top = *x[0].p, g = *x[2].p;
  Sec r = *x[1].u, b = *x[2].u;
  Words v(t, square);
  v.Add({1, 0, top * top, {}, {}});
  v.Add({-1, 1, top, r, {}});
  v.Add({1, 0, {}, r * r, {}});
  v.Add({1, k + 1, g * top, b, {}});
  v.Add({-1, k + 1, g, r * b, {}});
  v.Add({1, 2 * k, g, b, {}});
  if (!c) return v.Done();
  Pub slope = top * 2;
  slope = 1 - slope;
  v.Add(c->Share(square), slope);
  v.Add(c->Times(r, square - 1), std::nullopt, 1, 1);
  if (square > k + 1) v.Add(c->Times(b, square - k - 1), g, -1, k + 1);
  return v.Done();
}

}  // namespace

AnyWire Norm::Build(const Emission& e, std::span<const AnyWire> in) const {
  Trace& t = e.t;
  Wire<kPub> z = AsOpen(in[0]);
  if (z.k() > kz) z = Map(z, [&](auto v) { return Low(v, kz); });
  const int k = kz - cut;
  int64_t bias = int64_t{1} << (kz - 2);
  std::optional<OpenedDigits> digits;
  std::optional<Borrow> c;
  Pub h;
  if (cut > 0) {
    bias += int64_t{1} << (cut - 1);
    digits.emplace(t, z, t.constant(bias), compiler::PlanDigits(CutsOf(*this), stages));
    c.emplace(*digits, cut, stages);
    h = digits->hat();
  } else {
    h = z.hat + bias;
  }
  Factors x = compiler::Lifted(h, z.r, bias, cut);  // x + c
  Owing sum = Square(t, x, c ? &*c : nullptr, k, square);
  sum = Map(sum, [](auto v) { return Sum(v); });
  sum.y = sum.y + epsilon;
  Wire<kPub> v = compiler::OpenDefined(t, sum, "sum of squares");  // (rows)
  gates::Function root_of = RowOf(rsqrt, square, product, rows);
  SharedWire<kPub> root = compiler::OpenShared(t, root_of.Build(t, v), "rsqrt");
  root = Map(root, [](auto w) { return Column(w); });
  Words y(t, product);
  y.Add(x, compiler::Masked(root));
  if (c) {
    y.Add(c->Share(product), root.hat, -1);
    y.Add(c->Times(root.r, product, pfss::Sh(root.s)));
  }
  Wire<kPub> scaled = compiler::OpenDefined(t, y.Done(), "x*rsqrt");
  return e.Open(gates::Trunc{shift, ring, last}.Build(t, scaled));
}

int64_t Norm::KeyBits(int64_t rows, bool shared) const {
  int k = kz - cut;
  auto word = [](int bits) { return int64_t(std::max(0, bits)); };
  int64_t high = word(square - k - 1);
  int64_t bits = word(std::max(square - 1, product))  // R
                 + std::max(high, word(product - k))  // b
                 + high + word(product - k);          // R b; b r'
  if (cut > 0) {
    compiler::DigitPlan widths = compiler::PlanDigits(CutsOf(*this), stages);
    int words = compiler::BorrowWords(int(widths.widths.size()), stages);
    bits += compiler::DigitsKeyBits(widths, {{cut, 0}}, stages);
    // borrow alone, times R, b and r'
    bits += words * (std::max(square, product) + word(square - 1) + high + product);
  }
  int64_t row = RowOf(rsqrt, square, product, this->rows).KeyBits(true);
  return rows * (dim * (bits + gates::Trunc{shift, ring, last}.KeyBits(product, shared)) + row);
}

}  // namespace suf::nn
