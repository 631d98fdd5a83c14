#include "suf/func/fit.hpp"

#include <algorithm>
#include <cmath>

#include "suf/func/internal/measure.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {

namespace {

using internal::Extremes;
using internal::ExtremesOf;
using internal::Round;

// Fits octaves. `value` returns the integer of a piece from the function at its ends.
template <class F>
FitResult<std::vector<Octave>> Octaves(const Real& f, int lo, int hi, int p, int span, Measure m, F value) {
  SUF_CHECK(0 <= lo && lo < hi && hi <= 62 && p >= 0 && span >= 1);
  FitResult<std::vector<Octave>> out;
  if (m == Measure::kNone) out.error = out.relative = NAN;
  for (int j = lo; j < hi; j += span) {
    Octave g;
    g.w = std::max(0, j - p);
    g.lo = j == lo ? 0 : int64_t{1} << (j - g.w);
    g.hi = int64_t{1} << (std::min(j + span, hi) - g.w);
    int64_t low = int64_t{1} << (j - g.w);
    double width = std::ldexp(1, g.w);
    for (int64_t v = g.lo; v < g.hi; ++v) {
      double a = double(std::max(v, low)) * width;
      g.values.push_back(value(f(a), f(a + width)));
      if (v < low || m == Measure::kNone) continue;
      // the error of a constant, absolute or relative, is largest at an extreme of the function
      const Extremes y = ExtremesOf([&](int64_t x) { return f(double(x)); }, v << g.w, ((v + 1) << g.w) - 1,
                                    hi <= internal::kEveryPoint);
      out.exact = out.exact && y.exact;
      for (double real : {y.least, y.most}) {
        out.error = std::max(out.error, std::abs(double(g.values.back()) - real));
        out.relative = std::max(out.relative, std::abs(double(g.values.back()) / real - 1));
      }
    }
    out.f.push_back(std::move(g));
  }
  return out;
}

// Fits a line to y(0) .. y(count - 1). It meets y at `end` if its error there is at most `good`, in units of y. Raises
// *error and clears *exact if the fit demands it.
template <class F>
SideLine FitSide(const F& y, int64_t count, int64_t end, bool every, double good, double* error, bool* exact) {
  const double rise = std::floor((y(count - 1) - y(0)) / double(std::max<int64_t>(1, count - 1)) + 0.5);
  const auto rest = [&](int64_t t) { return y(t) - rise * double(t); };
  const Extremes all = ExtremesOf(rest, 0, count - 1, every);
  const auto error_of = [&](double offset) { return std::max(all.most - offset, offset - all.least); };
  double offset = std::floor(rest(end) + 0.5);
  if (error_of(offset) > good) offset = std::floor(all.centre() + 0.5);
  *error = std::max(*error, error_of(offset));
  *exact = *exact && all.exact;
  return {int64_t(offset), int64_t(rise)};
}

}  // namespace

FitResult<Lines> FitLines(const Real& f, int a, int p, int scale, int slope) {
  SUF_CHECK(a >= 1 && p >= 1 && a + p <= 61);
  FitResult<Lines> out{{a, scale, slope, {}, {}}};
  int64_t n = int64_t{1} << a, bias = int64_t{1} << (a + p - 1);
  double unit = std::ldexp(1, scale + slope);
  for (int64_t i = 0; i < int64_t{1} << p; ++i) {
    auto y = [&](int64_t t) { return f(std::ldexp(double(i * n + t - bias), -scale)) * unit; };
    int64_t b = Round((y(n - 1) - y(0)) / double(n - 1));
    const Extremes rest =
        ExtremesOf([&](int64_t t) { return y(t) - double(b * t); }, 0, n - 1, a + p <= internal::kEveryPoint);
    int64_t c = Round(rest.centre());
    out.exact = out.exact && rest.exact;
    out.f.offset.push_back(c);
    out.f.rise.push_back(b);
    out.error = std::max({out.error, (rest.most - double(c)) / unit, (double(c) - rest.least) / unit});
  }
  return out;
}

FitResult<Lines> WithSides(const Real& f, FitResult<Lines> pieces, int bits) {
  Lines& l = pieces.f;
  const int64_t half = int64_t{1} << (bits - 1), core = int64_t(l.offset.size()) << (l.a - 1);
  SUF_CHECK(l.bits == 0 && bits <= 61 && core < half);
  const double unit = std::ldexp(1, l.scale + l.slope), good = pieces.error * unit;
  const auto from = [&](int64_t x) {
    return [&, x](int64_t t) { return f(std::ldexp(double(x + t), -l.scale)) * unit; };
  };
  const int64_t count = half - core;
  const bool every = bits <= internal::kEveryPoint;
  double error = good;
  l.bits = bits;
  l.below = FitSide(from(-half), count, 0, every, good, &error, &pieces.exact);
  l.above = FitSide(from(core), count, count - 1, every, good, &error, &pieces.exact);
  if (error > good) pieces.error = error / unit;
  return pieces;
}

Suf ToSuf(const Lines& l, std::string name, int ring) {
  if (l.bits == 0) return Uniform(std::move(name), l.a, l.offset, l.rise, ring);
  const U128 half = U128{1} << (l.bits - 1), core = U128(l.offset.size()) << (l.a - 1);
  SUF_CHECK(l.offset.size() == l.rise.size() && core < half);
  Suf f{std::move(name), l.bits, ring, 1, 1, {}, half * 2, {}, {}};
  const auto add = [&](U128 begin, int64_t offset, int64_t rise) {
    const std::vector<uint64_t> c{uint64_t(offset) & ring::Mask(ring), uint64_t(rise) & ring::Mask(ring)};
    f.pieces.push_back({begin, {c}});
  };
  add(0, l.below.offset, l.below.rise);
  for (size_t i = 0; i < l.offset.size(); ++i) add(half - core + (U128(i) << l.a), l.offset[i], l.rise[i]);
  add(half + core, l.above.offset, l.above.rise);
  f.channels = {{OutputChannel::kSigned, ring, 0, "y"}};
  Verify(f);
  return f;
}

FitResult<std::vector<Octave>> FitOctaves(const Real& f, int lo, int hi, int p, int span, Measure m) {
  return Octaves(f, lo, hi, p, span, m, [](double a, double b) { return Round(2 * a * b / (a + b)); });
}

FitResult<std::vector<Octave>> FitOctavesBelow(const Real& f, int lo, int hi, int p, int span, Measure m) {
  return Octaves(f, lo, hi, p, span, m, [](double a, double b) { return int64_t(std::floor(std::min(a, b))); });
}

FitResult<std::vector<int64_t>> FitTable(const Real& f, int n, int scale) {
  SUF_CHECK(n >= 0 && n <= 16);
  FitResult<std::vector<int64_t>> out;
  for (int64_t i = 0; i < int64_t{1} << n; ++i) {
    out.f.push_back(Round(std::ldexp(f(double(i)), scale)));
    out.error = std::max(out.error, std::abs(std::ldexp(double(out.f.back()), -scale) - f(double(i))));
  }
  return out;
}

}  // namespace suf::func
