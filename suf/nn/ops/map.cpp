#include "suf/nn/ops/map.hpp"

#include <algorithm>
#include <cmath>

#include "suf/nn/ops/linear.hpp"
#include "suf/nn/plan/octave_tables.hpp"

namespace suf::nn {

namespace {

// Cosines and sines of rows 0 .. n - 1, (n, half) each.
struct Angles {
  Reals cos, sin;
};
Angles AnglesOf(int64_t n, int64_t half, double base) {
  Angles a;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < half; ++j) {
      const double angle = double(i) * std::pow(base, -double(j) / double(half));
      a.cos.push_back(std::cos(angle));
      a.sin.push_back(std::sin(angle));
    }
  return a;
}

Ints Rounded(const Reals& v, int bits) {
  Ints out;
  for (double x : v) out.push_back(int64_t(std::floor(std::ldexp(x, bits) + 0.5)));
  return out;
}

// Turns rows [from, from + rows) of a text in place; `mul` and `sum` combine numbers.
template <class T, class Mul, class Sum>
void TurnRows(std::vector<T>& y, int64_t from, int64_t rows, int64_t heads, const std::vector<T>& cos,
              const std::vector<T>& sin, Mul mul, Sum sum) {
  const int64_t dim = int64_t(y.size()) / rows, half = dim / heads / 2;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t j = 0; j < half; ++j) {
        T& a = y[size_t(i * dim + 2 * h * half + j)];
        T& b = y[size_t(i * dim + (2 * h + 1) * half + j)];
        const size_t at = size_t((from + i) * half + j);
        const T c = cos[at], s = sin[at], was = a;
        a = sum(mul(a, c), mul(b, T(-s)));
        b = sum(mul(b, c), mul(was, s));
      }
}

void TurnReals(RealArray& y, int64_t from, int64_t heads, double base) {
  const Angles a = AnglesOf(from + y.rows(), y.cols() / heads / 2, base);
  TurnRows(
      y.at, from, y.rows(), heads, a.cos, a.sin, [](double p, double q) { return p * q; },
      [](double p, double q) { return p + q; });
}

// Adds each row of a matrix, times its factor, to one row.
void AddRows(const Reals& matrix, const Reals& factors, Reals& to) {
  const size_t d = to.size();
  for (size_t i = 0; i < factors.size(); ++i)
    for (size_t j = 0; j < d; ++j) to[j] += factors[i] * matrix[i * d + j];
}

const char* const kKinds[] = {"full", "diag", "mean", "one", "centred"};

}  // namespace

int64_t LinearMap::dim() const {
  for (const MapTerm& t : terms)
    if (t.weight) return t.weight.cols();
  SUF_CHECK(bias);
  return bias.cols();
}

bool LinearMap::Has(Kind k, int input) const {
  return std::any_of(terms.begin(), terms.end(), [&](const MapTerm& t) { return t.kind == k && t.input == input; });
}

RealArray LinearMap::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  const int64_t d = dim(), n = x[0]->rows();
  RealArray y{{n, d}, Reals(size_t(n * d), 0.0)};
  for (const MapTerm& t : terms) {
    const Reals& v = x[size_t(t.input)]->at;
    if (t.kind == kFull) {
      AddTimesTransposed(v, c.value(t.weight.Transposed()), t.weight.shape()[0], y.at, c.pool);
      continue;
    }
    const Reals* g = t.weight ? &c.value(t.weight) : nullptr;
    for (size_t r = 0; r < v.size(); r += size_t(d)) {
      double sum = 0;
      for (size_t j = 0; j < size_t(d); ++j) sum += t.kind == kMean ? v[r + j] * (*g)[j] : v[r + j];
      for (size_t j = 0; j < size_t(d); ++j)
        y.at[r + j] += t.kind == kDiag      ? v[r + j] * (*g)[j]
                       : t.kind == kMean    ? -sum
                       : t.kind == kCentred ? v[r + j] - sum / double(d)
                                            : v[r + j];
    }
  }
  if (bias) {
    const Reals& b = c.value(bias);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] += b[i % size_t(d)] * (by_length ? c.n : 1);
  }
  if (rotary) TurnReals(y, c.from, rotary, base);
  return y;
}

void LinearMap::Attributes(Visitor& v) {
  v.List(
      "terms", terms.size(), 8, [&](size_t n) { terms.assign(n, {}); },
      [&](Visitor& w, size_t i) {
        w.Choice("kind", &terms[i].kind, kKinds, "has a linear term of the kind ");
        w.Int("input", terms[i].input, 0, 7);
        w.Weight("weight", &terms[i].weight, false);
        if (w.fills() && terms[i].kind > kMean)
          Fail(Cause::kRefused, "the plan has a linear term of the kind ", kKinds[terms[i].kind],
               "; this program knows full, diag and mean");
      });
  v.Weight("bias", &bias, true);
  v.Flag("by_length", &by_length);
  v.Text("key", &key, 40);
  v.Int("rotary", rotary, 0, 1 << 10);
  v.Real("base", &base, 0, 1e12);
}

void LinearMap::Verify(const std::string& node) const {
  const auto where = [&](const char* what) { return node + ": a map's " + what; };
  Wanted(!terms.empty(), where("terms"), "there is none");
  for (const MapTerm& t : terms) {
    Wanted(t.kind == kFull ? t.weight.shape().size() == 2 : t.weight.shape().size() == 1, where("weight"),
           "it has the wrong shape");
    Wanted(t.weight.cols() == dim(), where("weight"), "it has another width than the others");
    Wanted(std::count_if(terms.begin(), terms.end(), [&](const MapTerm& u) { return u.kind == t.kind; }) == 1,
           where("terms"), "a kind is there twice");
    Wanted(t.kind != kMean || Has(kDiag, t.input), where("terms"), "a mean term has no diagonal one beside it");
  }
  Wanted(!bias || bias.shape() == Shape{dim()}, where("bias"), "it has the wrong shape");
  Wanted(!rotary || (dim() % (2 * rotary) == 0 && base > 1), where("rotary"), "the heads do not divide the result");
}

void LinearMap::Choose(const Facts& c, const Edges& in) {
  const Options& o = c.options;
  const MapTerm *first = nullptr, *rest = nullptr;  // the full term, and the first of the others
  for (const MapTerm& t : terms) {
    const MapTerm*& of = t.kind == kFull ? first : rest;
    if (!of) of = &t;
  }
  full = gamma = diag = mean = up = turn = 0;
  if (rest) gamma = o.gamma;
  if (first) {
    const Edge& x = in[size_t(first->input)];
    full = o.Weight(key);
    scale = x.scale + full;
    up = x.scale - x.nominal;
    if (rest) {
      const int spare = x.nominal + full - in[size_t(rest->input)].scale - gamma;
      if (spare < 0)
        Fail(Cause::kRefused, "the scale 2^", x.nominal + full, " is below 2^", x.nominal + full - spare,
             ", that of gamma times an activation; raise `weight.", key, "`");
      diag = spare + up;
      mean = std::min(o.mean, spare);
    }
  } else {
    scale = in[size_t(rest->input)].scale + gamma;
  }
  if (!rotary) return;
  turn = o.rotation;
  scale += turn;
  const Angles a = AnglesOf(c.n, dim() / rotary / 2, base);
  cosines = Rounded(a.cos, turn);
  sines = Rounded(a.sin, turn);
}

std::vector<WeightSlot> LinearMap::Slots() const {
  std::vector<WeightSlot> s;
  for (const MapTerm& t : terms)
    s.push_back({kKinds[t.kind], t.weight, t.kind == kFull ? full : t.kind == kDiag ? gamma : gamma + mean});
  if (bias) s.push_back({"bias", bias, scale - turn - up, false, by_length ? WeightSlot::kTimes : WeightSlot::kFixed});
  return s;
}

RowBound LinearMap::Turned(RowBound r) const {
  const double f = std::ldexp(1.0, turn) + 1;  // a rotation keeps the length of a pair; its constants are rounded
  const int64_t half = r.dim / rotary / 2;
  for (int64_t h = 0; h < rotary; ++h)
    for (int64_t j = 0; j < half; ++j) {
      double &a = r.each[size_t(2 * h * half + j)], &b = r.each[size_t((2 * h + 1) * half + j)];
      a = b = std::sqrt(a * a + b * b) * f;
    }
  r.length *= f;
  return r;
}

RowBound LinearMap::Bound(const Facts& c, const Edges& in, std::vector<Width>*) {
  const NodeWeights& w = *c.weights;
  const int64_t d = dim();
  RowBound r{d, 0, Reals(size_t(d), 0.0), {}, {}};
  double spectral = 0;
  for (const MapTerm& t : terms) {
    const RowBound& x = in[size_t(t.input)].reach;
    if (t.kind == kFull && !x.images.empty()) {
      // one product a head: the sum over heads of |A_h W_h|, and the rounding noise
      for (const Image& image : x.images) {
        const Path& p = w.Behind(image);
        for (int64_t j = 0; j < d; ++j) r.each[size_t(j)] += image.radius * p.column[size_t(j)];
        spectral += image.radius * p.largest;
      }
      for (const Noise& e : x.noise) {
        AddRows(w.Magnitudes(), Reals(size_t(x.dim), e.each), r.each);
        for (int64_t at = 0; at < x.dim; at += e.width)
          spectral += e.each * std::sqrt(double(e.width)) * w.Largest(at, e.width);
      }
    } else if (t.kind == kFull) {
      Reals box(size_t(d), 0.0);
      if (!x.each.empty()) AddRows(w.Magnitudes(), x.each, box);
      for (size_t j = 0; j < size_t(d); ++j) {
        const double ball = x.length * w.Columns()[j];
        r.each[j] += x.each.empty() ? ball : std::min(ball, box[j]);
      }
      if (c.rows) spectral += x.length * w.Largest(0, x.dim);
    } else if (t.kind == kDiag) {  // together with the mean term of the same row
      const bool joint = Has(kMean, t.input);
      const Reals g = w.At("diag").Numbers(), u = joint ? w.At("mean").Numbers() : Reals(size_t(d), 0.0);
      double square = 0, most = 0;
      const auto input = [&](size_t j) { return joint || x.each.empty() ? x.length : std::min(x.length, x.each[j]); };
      for (double v : u) square += std::ldexp(v, diag - mean) * std::ldexp(v, diag - mean);
      for (size_t j = 0; j < size_t(d); ++j) {
        const double a = std::ldexp(g[j], diag), b = std::ldexp(u[j], diag - mean);
        r.each[j] += input(j) * std::sqrt(std::max(square - 2 * b * a + a * a, 0.0));
        most = std::max(most, std::abs(a));
      }
      spectral += x.length * (most + std::sqrt(double(d) * square));
    }
  }
  Reals b;
  if (bias) b = w.At("bias").Numbers();
  for (double& v : b) v = std::ldexp(std::abs(v), up) * (by_length ? c.n : 1);
  for (size_t j = 0; j < b.size(); ++j) r.each[j] += b[j];
  r.length = c.rows ? std::min(Length(r.each), spectral + Length(b)) : Length(r.each);
  const bool pure = terms.size() == 1 && terms[0].kind == kFull && !bias && in[0].reach.each.empty();
  if (rotary) return Turned(std::move(r));
  if (pure) r.images = {{c.node, 0, d, 0, in[size_t(terms[0].input)].reach.length}};
  return r;
}

int LinearMap::Need(int input, const Edges&) const { return Has(kFull, input) ? ring : ring - diag + mean; }

void LinearMap::Fields(Visitor& v) {
  v.Int("full", full, 0, 30);
  v.Int("gamma", gamma, 0, 30);
  v.Int("diag", diag, 0, kRing);
  v.Int("mean", mean, 0, 30);
  v.Int("up", up, 0, kRing);
  v.Int("turn", turn, 0, 20);
  if (rotary) {
    v.Table("cosines", &cosines);
    v.Table("sines", &sines);
  }
}

void LinearMap::Check(const Edges& in, int max_n, const std::string& where) const {
  for (const Edge& x : in) Wanted(x.one_row == in[0].one_row, where, "its inputs have two shapes");
  Wanted(!rotary || !in[0].one_row, where, "it turns a row that has no position");
  for (const MapTerm& t : terms) {
    Wanted(size_t(t.input) < in.size(), where, "a term reads an input that is not there");
    const Edge& x = in[size_t(t.input)];
    Wanted(x.dim == t.weight.shape()[0], where, "a weight does not fit its input");
    Wanted(x.ring >= Need(t.input, in), where, "an input's ring is narrower than it reads");
    if (t.kind == kFull) Wanted(scale == x.scale + full + turn, where, "its scale does not follow from its input's");
    if (t.kind == kDiag)
      Wanted(scale == x.scale + gamma + diag + turn, where, "its scale does not follow from its input's");
    if (t.kind == kMean) Wanted(mean <= diag, where, "its mean term has more bits than its diagonal one");
  }
  Wanted(diag < ring && up < ring && scale - turn - up >= 0, where, "its shifts leave no bits of its ring");
  Wanted((turn > 0) == (rotary > 0), where, "it has no bits for its rotation");
  if (!rotary) return;
  const size_t angles = size_t(max_n) * size_t(dim() / rotary / 2);
  Wanted(cosines.size() == angles && sines.size() == angles, where, "it has not one angle a row and pair");
  Wanted(std::max(MostOf(cosines), MostOf(sines)) <= int64_t{1} << turn, where, "a cosine is over 1");
}

IntArray LinearMap::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  const int64_t d = dim(), n = x[0]->rows();
  IntArray y{{n, d}, Ints(size_t(n * d), 0)};
  for (const MapTerm& t : terms) {
    const Ints& v = x[size_t(t.input)]->at;
    if (t.kind == kFull) {
      const Ints product = c.times(v, "full", ring);
      for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = WrapAdd(y.at[i], product[i]);
      continue;
    }
    const Ints g = c.weight(kKinds[t.kind]).Visit([&](const auto* p) { return Ints(p, p + d); });
    for (size_t r = 0; r < v.size(); r += size_t(d)) {
      int64_t sum = 0;
      for (size_t j = 0; j < size_t(d); ++j) {
        const int64_t product = WrapMul(v[r + j], g[j]);
        if (t.kind == kDiag) y.at[r + j] = WrapAdd(y.at[r + j], WrapShl(product, diag));
        sum = WrapAdd(sum, product);
      }
      if (t.kind == kMean)
        for (size_t j = 0; j < size_t(d); ++j) y.at[r + j] = WrapAdd(y.at[r + j], -WrapShl(sum, diag - mean));
    }
  }
  if (bias) {
    const Tensor& b = c.weight("bias");
    for (size_t i = 0; i < y.at.size(); ++i)
      y.at[i] = WrapAdd(y.at[i], WrapMul(WrapShl(b[int64_t(i % size_t(d))], up), by_length ? c.n : 1));
  }
  if (rotary) TurnRows(y.at, c.from, n, rotary, cosines, sines, WrapMul, WrapAdd);
  return y;
}

namespace {

// Returns (texts heads, n, of) as rows (texts n, heads of), and other shapes as they are.
SharedWire<kP0> Joined(const SharedWire<kP0>& x, int64_t texts) {
  const Shape s = x.shape();
  if (s.size() != 3) return x;
  const int64_t heads = s[0] / texts;
  return pfss::Map(x, [&](auto v) {
    auto by_text = texts > 1 ? Reshape(v, {texts, heads, s[1], s[2]}) : v;
    auto rows = Permute(by_text, texts > 1 ? Shape{0, 2, 1, 3} : Shape{1, 0, 2});
    return Reshape(rows, {texts * s[1], heads * s[2]});
  });
}

}  // namespace

AnyWire LinearMap::Build(const Emission& e, std::span<const AnyWire> x) const {
  const int64_t d = dim();
  Linear z(ring);
  for (const WeightSlot& s : Slots()) {
    if (s.name == "bias") {
      z.Bias(e.Plain(s, {d}), up);
      continue;
    }
    const MapTerm& t =
        *std::find_if(terms.begin(), terms.end(), [&](const MapTerm& u) { return s.name == kKinds[u.kind]; });
    Private w = e.Masked(s, s.weight.shape());
    SharedWire<kP0> v = Joined(AsMap(x[size_t(t.input)]), e.texts_here);
    if (t.kind == kFull) {
      if (v.k() > ring) v = pfss::Map(v, [&](auto u) { return Low(u, ring); });
      z.Add(v, w, [](auto a, auto b) { return Matmul(a, b); });
    } else if (t.kind == kDiag) {
      z.Add(v, w, [&](auto a, auto g) { return a * g << diag; });
    } else {
      z.Add(v, w, [&](auto a, auto u) {
        auto dot = Sum(a * u);
        auto column = Column(dot << (diag - mean));
        return -column;
      });
    }
  }
  if (rotary) {
    const int64_t n = e.rows, texts = e.texts_here, half = d / rotary / 2;
    auto rows = [&](const Ints& all) {
      const auto first = all.begin() + e.from * half;
      return e.t.constant(std::vector<uint64_t>(first, first + n * half), {n, 1, half});
    };
    pfss::Const cos = rows(cosines);
    pfss::Const sin = rows(sines);
    const Shape by_place = texts > 1 ? Shape{texts, n, rotary, half} : Shape{n, rotary, half};
    z.Turn([&](auto v) {
      auto pairs = Reshape(v, {texts * n, rotary, 2, half});
      auto first = Between(pairs, 2, 0, 1), second = Between(pairs, 2, 1, 2);
      first = Reshape(first, by_place);
      second = Reshape(second, by_place);
      auto p = first * cos, q = second * sin;
      auto left = p - q;
      auto r = second * cos, s = first * sin;
      auto right = r + s;
      auto both = Stack(std::vector{left, right});  // (2, n, heads, half), or (2, texts, n, heads, half)
      auto turned = Permute(both, texts > 1 ? Shape{1, 2, 3, 0, 4} : Shape{1, 2, 0, 3});
      return Reshape(turned, {texts * n, d});
    });
  }
  return e.Open(z.Done());
}

RealArray Rotary::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  RealArray y = *x[0];
  TurnReals(y, c.from, heads, base);
  return y;
}
namespace {
[[noreturn]] void Unfolded() { throw Bug("a rotation is part of the map before it"); }
}  // namespace
RowBound Rotary::Bound(const Facts&, const Edges&, std::vector<Width>*) { Unfolded(); }
IntArray Rotary::Spec(const IntCall&, std::span<const IntArray* const>) const { Unfolded(); }
AnyWire Rotary::Build(const Emission&, std::span<const AnyWire>) const { Unfolded(); }

}  // namespace suf::nn
