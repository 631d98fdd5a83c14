#include "suf/nn/tables.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

enum class Value { kBalanced, kFarEnd };

// MakeGroup: pieces of width 2^w on [2^first, 2^end), or from 0 with the value of 2^first below it.
Group MakeGroup(const Function& f, int first, int end, int w, bool from_zero, Value kind) {
  const int64_t start = int64_t{1} << std::max(0, first - w);
  Group g{w, from_zero ? 0 : start, int64_t{1} << (end - w), {}};
  for (int64_t v = g.lo; v < g.hi; ++v) {
    double a = std::ldexp(double(std::max(v, start)), w), b = a + std::ldexp(1.0, w), fa = f(a), fb = f(b);
    g.values.push_back(int64_t(kind == Value::kFarEnd ? std::floor(fb) : std::floor(2 * fa * fb / (fa + fb) + 0.5)));
  }
  return g;
}

}  // namespace

std::vector<Group> Octaves(const Function& f, int floor, int top, int hard, int pieces, int span) {
  SUF_CHECK(0 < floor && floor < top && top <= hard && hard < 62);
  constexpr int kCoarseSpan = 8;
  std::vector<Group> t;
  for (int j = floor; j < top; j += span)
    t.push_back(MakeGroup(f, j, std::min(j + span, top), std::max(0, j - pieces), j == floor, Value::kBalanced));
  for (int j = top; j < hard; j += kCoarseSpan)
    t.push_back(MakeGroup(f, j, std::min(j + kCoarseSpan, hard), std::max(0, j - 1), false, Value::kFarEnd));
  return t;
}

double Excess(const std::vector<Group>& table, const Function& f) {
  double most = 0;
  for (const Group& g : table)
    for (int64_t v = g.lo; v < g.hi; ++v) {
      double last = std::ldexp(double(v + 1), g.w) - 1;  // f falls: the table is highest above it at a piece's end
      most = std::max(most, double(g.values[size_t(v - g.lo)]) / f(last) - 1);
    }
  return most;
}

std::vector<int64_t> Exponentials(double step, int64_t count, int scale) {
  std::vector<int64_t> t;
  for (int64_t i = 0; i < count; ++i)
    t.push_back(int64_t(std::floor(std::ldexp(std::exp(step * double(i)), scale) + 0.5)));
  return t;
}

Lines Gelu(int x, int a, int p, int b) {
  Lines t;
  const int64_t n = int64_t{1} << a, half = int64_t{1} << (a + p - 1);
  std::vector<double> y(static_cast<size_t>(n));
  for (int64_t i = 0; i < int64_t{1} << p; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double r = std::ldexp(double(i * n - half + j), -x);
      y[size_t(j)] = std::ldexp(0.5 * r * (1 + std::erf(r / std::sqrt(2.0))), x + b);
    }
    double slope = n > 1 ? std::floor((y.back() - y.front()) / double(n - 1) + 0.5) : 0, low = 1e300, high = -1e300;
    for (int64_t j = 0; j < n; ++j) {
      double rest = y[size_t(j)] - slope * double(j);
      low = std::min(low, rest), high = std::max(high, rest);
    }
    double offset = std::floor((high + low) / 2 + 0.5);
    for (int64_t j = 0; j < n; ++j)
      t.excess =
          std::max(t.excess, std::abs(offset + slope * double(j)) - std::ldexp(double(std::abs(i * n - half + j)), b));
    t.offset.push_back(int64_t(offset)), t.slope.push_back(int64_t(slope));
  }
  return t;
}

}  // namespace suf::nn
