#include "suf/nn/ops/residual.hpp"

#include <algorithm>
#include <cmath>

#include "suf/gates/product.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

RealArray WireProduct::Float(const RealCall&, std::span<const RealArray* const> x) const {
  RealArray y = *x[0];
  for (size_t i = 0; i < y.at.size(); ++i) y.at[i] *= x[1]->at[i];
  return y;
}

RowBound WireProduct::Bound(const Facts&, const Edges& in, std::vector<Width>*) {
  const RowBound &a = in[0].reach, &b = in[1].reach;
  RowBound r{a.dim, 0, a.Box(), {}, {}};
  const Reals other = b.Box();
  for (size_t j = 0; j < r.each.size(); ++j) r.each[j] *= other[j];
  r.length = std::min({a.most() * b.length, a.length * b.most(), Length(r.each)});
  return r;
}

namespace {
const char* const kGates[] = {"opened", "summands"};
}  // namespace

void WireProduct::Fields(Visitor& v) { v.Choice("gate", &gate, kGates, "has a product with the gate "); }

std::vector<Knob> WireProduct::Knobs() {
  return {{"gate", {std::begin(kGates), std::end(kGates)}, size_t(gate), [this](size_t i) { gate = Gate(i); }}};
}

void WireProduct::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[0].dim == in[1].dim && in[0].one_row == in[1].one_row, where, "its inputs have two shapes");
  Wanted(!in[0].summands || in[0].ring >= ring, where, "its summands' ring is narrower than its own");
  for (const Edge& x : in) Wanted(x.summands || (x.ring >= 3 && x.ring < 64), where, "an input's ring has no gap");
  Wanted(scale == in[0].scale + in[1].scale, where, "its scale does not follow from its inputs'");
}

IntArray WireProduct::Spec(const IntCall&, std::span<const IntArray* const> x) const {
  IntArray y = *x[0];
  for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = WrapMul(y.at[i], x[1]->at[i]);
  return y;
}

AnyWire WireProduct::Build(const Emission& e, std::span<const AnyWire> x) const {
  if (const auto* gated = std::get_if<Summands>(&x[0])) {
    compiler::WordSum y(e.t, ring);
    y.Add(gated->sum, compiler::Opened(AsOpen(x[1]), ring));
    return e.Open(y.Done(gated->shape));
  }
  return e.Open(gates::Multiply{ring}.Build(e.t, AsOpen(x[0]), AsOpen(x[1])));
}

RealArray Add::Float(const RealCall&, std::span<const RealArray* const> x) const {
  RealArray y = *x[0];
  const size_t d = size_t(y.cols());
  for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = 0;
  for (int k : {0, 1})
    for (size_t r = 0; r < y.at.size(); r += d) {
      double sum = 0;
      for (size_t j = 0; j < d && centred[k]; ++j) sum += x[size_t(k)]->at[r + j];
      for (size_t j = 0; j < d; ++j) y.at[r + j] += x[size_t(k)]->at[r + j] - sum / double(d);
    }
  return y;
}

void Add::Choose(const Facts&, const Edges& in) {
  scale = std::max(in[0].scale, in[1].scale);
  for (int k : {0, 1}) up[k] = scale - in[size_t(k)].scale;
}

RowBound Add::Bound(const Facts&, const Edges& in, std::vector<Width>*) {
  const RowBound a = in[0].reach.Scaled(std::ldexp(1.0, up[0])), b = in[1].reach.Scaled(std::ldexp(1.0, up[1]));
  RowBound r{a.dim, a.length + b.length, a.Box(), {}, {}};
  const Reals other = b.Box();
  for (size_t j = 0; j < r.each.size(); ++j) r.each[j] += other[j];
  return r;
}

void Add::Fields(Visitor& v) {
  v.Int("up", up[0], 0, kRing);
  v.Int("up_other", up[1], 0, kRing);
}

void Add::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[0].dim == in[1].dim && in[0].one_row == in[1].one_row, where, "its inputs have two shapes");
  for (size_t k : {0, 1}) {
    Wanted(in[k].scale + up[k] == scale, where, "its scale does not follow from its inputs'");
    Wanted(up[k] < ring && in[k].ring >= ring - up[k], where, "an input's ring is narrower than its own");
  }
}

IntArray Add::Spec(const IntCall&, std::span<const IntArray* const> x) const {
  IntArray y = *x[0];
  for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = WrapAdd(WrapShl(y.at[i], up[0]), WrapShl(x[1]->at[i], up[1]));
  return y;
}

AnyWire Add::Build(const Emission&, std::span<const AnyWire> x) const {
  auto in = [&](auto w, size_t k) {
    return Map(w, [&](auto v) {
      auto u = v << up[k];
      return Low(u, ring);
    });
  };
  auto sum = [&](auto a, auto b) {
    auto hat = a.hat + b.hat;
    auto r = a.r + b.r;
    if constexpr (requires { a.s; }) {
      auto left = a.s.a + b.s.a;
      auto right = a.s.b + b.s.b;
      return decltype(a){{hat, r}, {left, right}};
    } else {
      return decltype(a){hat, r};
    }
  };
  auto both = [&](auto as) -> AnyWire {
    auto a = in(as(x[0]), 0), b = in(as(x[1]), 1);
    return sum(a, b);
  };
  return form == OperandForm::kOpen ? both(AsOpen) : form == OperandForm::kMap ? both(AsMap) : both(AsProduct);
}

namespace {

const char* const kPools[] = {"sum", "first", "last"};

template <class T, class Sum>
Array<T> Pooled(const Array<T>& x, PoolRows::Kind kind, Sum sum) {
  const size_t d = size_t(x.cols());
  if (kind != PoolRows::kSum) {
    auto from = kind == PoolRows::kFirst ? x.at.begin() : x.at.end() - int64_t(d);
    return {{1, int64_t(d)}, {from, from + int64_t(d)}};
  }
  Array<T> y{{1, int64_t(d)}, std::vector<T>(d, 0)};
  for (size_t i = 0; i < x.at.size(); ++i) y.at[i % d] = sum(y.at[i % d], x.at[i]);
  return y;
}

}  // namespace

RealArray PoolRows::Float(const RealCall&, std::span<const RealArray* const> x) const {
  return Pooled(*x[0], kind, [](double a, double b) { return a + b; });
}

void PoolRows::Attributes(Visitor& v) { v.Choice("kind", &kind, kPools, "pools by "); }

RowBound PoolRows::Bound(const Facts& c, const Edges& in, std::vector<Width>*) {
  return in[0].reach.Scaled(kind == kSum ? c.n : 1);
}

void PoolRows::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[0].ring >= ring && scale == in[0].scale, where, "its input's ring or scale is not its own");
  Wanted(!in[0].one_row, where, "its input has one row");
}

IntArray PoolRows::Spec(const IntCall&, std::span<const IntArray* const> x) const {
  return Pooled(*x[0], kind, WrapAdd);
}

AnyWire PoolRows::Build(const Emission& e, std::span<const AnyWire> x) const {
  const int64_t texts = e.texts_here, each = e.rows;
  SUF_CHECK(kind == kSum || (kind == kFirst ? e.from == 0 : e.from + each == e.n));
  return On(x[0], [&](auto v) {
    const int64_t d = v.shape()[1], at = kind == kFirst ? 0 : each - 1;
    const int axis = texts > 1 ? 1 : 0;
    if (texts > 1) v = Reshape(v, {texts, each, d});
    auto rows = kind == kSum ? Sum(v, axis) : Between(v, axis, at, at + 1);
    auto row = rows.bits() > ring ? Low(rows, ring) : rows;
    return Reshape(row, {texts, d});
  });
}

void RevealResult::Choose(const Facts& c, const Edges& in) {
  const int target = c.options.Result(key);
  shift = in[0].scale - target;
  scale = target;
  if (shift < 1)
    Fail(Cause::kRefused, "the scale 2^", in[0].scale, " of the result is not above 2^", target, "; lower `result.",
         key, "`");
  ring = RoundedRingOf(in[0].reach.most(), shift) - shift + 1;
}

RowBound RevealResult::Bound(const Facts&, const Edges& in, std::vector<Width>*) {
  return in[0].reach.Scaled(std::ldexp(1.0, -shift), 0.5);
}

void RevealResult::Check(const Edges& in, int, const std::string& where) const {
  Wanted(shift < in[0].ring - 2 && scale == in[0].scale - shift, where, "its shift leaves no bits of its ring");
}

IntArray RevealResult::Spec(const IntCall&, std::span<const IntArray* const> x) const {
  IntArray y = *x[0];
  for (int64_t& v : y.at) v = ring::RoundShift(v, shift);
  return y;
}

AnyWire RevealResult::Build(const Emission& e, std::span<const AnyWire> x) const {
  return e.Open(gates::Trunc{shift, ring, stages}.Build(e.t, AsOpen(x[0])));
}

}  // namespace suf::nn
