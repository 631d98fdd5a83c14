#include "suf/func/fit.hpp"

#include <algorithm>
#include <cmath>

namespace suf::func {

namespace {

int64_t Round(double v) { return int64_t(std::floor(v + 0.5)); }

// Extremes: f(extreme) for the least and the largest f at the integer points of [a, b], `b - a` below 2^62. Every point
// of a narrow piece; of a wider one kSamples + 1 points, and then the integers around the extreme ones, by thirds.
constexpr int kSamples = 64;
std::pair<double, double> Extremes(const Real& f, int64_t a, int64_t b) {
  auto at = [&](int64_t x) { return f(double(x)); };
  const int64_t n = b - a, many = std::min<int64_t>(n, kSamples);
  auto point = [&](int64_t i) { return a + int64_t(__int128{n} * i / std::max<int64_t>(1, many)); };
  double best[2] = {INFINITY, INFINITY};  // of f, of -f
  int64_t where[2] = {0, 0};
  for (int64_t i = 0; i <= many; ++i) {
    const double y = at(point(i));
    for (int k : {0, 1})
      if (double v = k ? -y : y; v < best[k]) best[k] = v, where[k] = i;
  }
  for (int k : {0, 1}) {
    if (many == n) break;
    int64_t lo = point(std::max<int64_t>(0, where[k] - 1)), hi = point(std::min(many, where[k] + 1));
    auto v = [&](int64_t x) { return k ? -at(x) : at(x); };
    while (hi - lo > 8) {
      const int64_t third = (hi - lo) / 3;
      (v(lo + third) <= v(hi - third) ? hi : lo) = v(lo + third) <= v(hi - third) ? hi - third : lo + third;
    }
    for (int64_t x = lo; x <= hi; ++x) best[k] = std::min(best[k], v(x));
  }
  return {best[0], -best[1]};
}

// An octave [2^j, 2^top) in pieces of 2^w, from `first`; `value` makes a piece's integer from its ends.
template <class F>
Fitted<std::vector<Group>> Octaves(const Real& f, int lo, int hi, int p, int span, F value) {
  SUF_CHECK(0 <= lo && lo < hi && hi <= 62 && p >= 0 && span >= 1);
  Fitted<std::vector<Group>> out;
  for (int j = lo; j < hi; j += span) {
    Group g;
    g.w = std::max(0, j - p);
    g.lo = j == lo ? 0 : int64_t{1} << (j - g.w);
    g.hi = int64_t{1} << (std::min(j + span, hi) - g.w);
    int64_t low = int64_t{1} << (j - g.w);
    double width = std::ldexp(1, g.w);
    for (int64_t v = g.lo; v < g.hi; ++v) {
      double a = double(std::max(v, low)) * width;
      g.values.push_back(value(f(a), f(a + width)));
      if (v < low) continue;
      // a constant's error, absolute or relative, is largest where the function is
      auto [least, most] = Extremes(f, v << g.w, ((v + 1) << g.w) - 1);
      for (double y : {least, most}) {
        out.error = std::max(out.error, std::abs(double(g.values.back()) - y));
        out.relative = std::max(out.relative, std::abs(double(g.values.back()) / y - 1));
      }
    }
    out.f.push_back(std::move(g));
  }
  return out;
}

}  // namespace

Fitted<Lines> FitLines(const Real& f, int a, int p, int scale, int slope) {
  SUF_CHECK(a >= 1 && p >= 1 && a + p <= 24);
  Fitted<Lines> out{{a, scale, slope, {}, {}}};
  int64_t n = int64_t{1} << a, bias = int64_t{1} << (a + p - 1);
  double unit = std::ldexp(1, scale + slope);
  std::vector<double> y(static_cast<size_t>(n));
  for (int64_t i = 0; i < int64_t{1} << p; ++i) {
    for (int64_t t = 0; t < n; ++t) y[size_t(t)] = f(std::ldexp(double(i * n + t - bias), -scale)) * unit;
    int64_t b = Round((y.back() - y.front()) / double(n - 1));
    double most = -INFINITY, least = INFINITY;
    for (int64_t t = 0; t < n; ++t) {
      double rest = y[size_t(t)] - double(b * t);
      most = std::max(most, rest), least = std::min(least, rest);
    }
    int64_t c = Round((most + least) / 2);
    out.f.offset.push_back(c), out.f.rise.push_back(b);
    out.error = std::max({out.error, (most - double(c)) / unit, (double(c) - least) / unit});
  }
  return out;
}

Fitted<std::vector<Group>> FitOctaves(const Real& f, int lo, int hi, int p, int span) {
  return Octaves(f, lo, hi, p, span, [](double a, double b) { return Round(2 * a * b / (a + b)); });
}

Fitted<std::vector<Group>> FitOctavesBelow(const Real& f, int lo, int hi, int p, int span) {
  return Octaves(f, lo, hi, p, span, [](double a, double b) { return int64_t(std::floor(std::min(a, b))); });
}

Fitted<std::vector<int64_t>> FitTable(const Real& f, int n, int scale) {
  SUF_CHECK(n >= 0 && n <= 16);
  Fitted<std::vector<int64_t>> out;
  for (int64_t i = 0; i < int64_t{1} << n; ++i) {
    out.f.push_back(Round(std::ldexp(f(double(i)), scale)));
    out.error = std::max(out.error, std::abs(std::ldexp(double(out.f.back()), -scale) - f(double(i))));
  }
  return out;
}

}  // namespace suf::func
