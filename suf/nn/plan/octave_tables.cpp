#include "suf/nn/plan/octave_tables.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace suf::nn {

namespace {

std::map<std::string, func::Real, std::less<>>& NamedFunctions() {
  static std::map<std::string, func::Real, std::less<>> all{
      {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      // the approximation by tanh of Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016
      {"gelu_new",
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"relu", [](double x) { return std::max(x, 0.0); }}};
  return all;
}

}  // namespace

const func::Real& RealFunction(const std::string& name) {
  auto it = NamedFunctions().find(name);
  if (it == NamedFunctions().end())
    Fail(Cause::kRefused, "there is no function ", name.substr(0, 40), "; this program knows other ones, update it");
  return it->second;
}

void RegisterFunction(std::string_view name, func::Real f) {
  SUF_CHECK(NamedFunctions().emplace(name, std::move(f)).second);
}

int64_t MostOf(const std::vector<int64_t>& t) {
  int64_t most = 0;
  for (int64_t x : t) most = std::max({most, x, -x});
  return most;
}

std::vector<func::Octave> Octaves(const func::Real& f, int floor, int top, int hard, int pieces, int span) {
  constexpr int kCoarsePieces = 1, kCoarseSpan = 8;
  std::vector<func::Octave> t = func::FitOctaves(f, floor, top, pieces, span, func::Measure::kNone).f;
  if (top == hard) return t;
  std::vector<func::Octave> coarse =
      func::FitOctavesBelow(f, top, hard, kCoarsePieces, kCoarseSpan, func::Measure::kNone).f;
  func::Octave& first = coarse.front();  // starts at 0; the fine part has everything below 2^top
  first.lo = int64_t{1} << (top - first.w);
  first.values.erase(first.values.begin(), first.values.begin() + first.lo);
  t.insert(t.end(), coarse.begin(), coarse.end());
  return t;
}

// Each piece adds the square of its relative width, weighted by its part of the seen values. The piece that adds most
// is halved. A part of the weight is spread over all octaves, for texts unlike those that were seen.
std::vector<func::Octave> Steps(const func::Real& f, int floor, int top, int hard, int most, Reals seen) {
  constexpr int kLeast = 3;
  constexpr double kSpread = 0.25;
  SUF_CHECK(0 < floor && floor < top && top <= hard && hard <= 62);
  std::sort(seen.begin(), seen.end());
  struct Piece {
    double adds;
    int64_t begin;
    int w;
    bool operator<(const Piece& o) const { return adds != o.adds ? adds < o.adds : begin > o.begin; }
  };
  auto piece = [&](int64_t begin, int w) {
    const double a = double(begin), b = a + std::ldexp(1.0, w), wide = f(a) / f(b) - 1;
    const auto within = std::lower_bound(seen.begin(), seen.end(), b) - std::lower_bound(seen.begin(), seen.end(), a);
    const double part = seen.empty() ? 0 : double(within) / double(seen.size());
    return Piece{(part + kSpread * std::log2(b / a) / (top - floor)) * wide * wide, begin, w};
  };
  std::vector<Piece> heap, ready;  // ready: of width 1, so they cannot be halved
  auto push = [&](const Piece& p) {
    if (p.w == 0) return ready.push_back(p);
    heap.push_back(p);
    std::push_heap(heap.begin(), heap.end());
  };
  for (int j = floor; j < top; ++j) {
    const int w = std::max(0, j - kLeast);
    for (int64_t v = int64_t{1} << (j - w); v < int64_t{2} << (j - w); ++v) push(piece(v << w, w));
  }
  while (!heap.empty() && int(heap.size() + ready.size()) < most) {
    std::pop_heap(heap.begin(), heap.end());
    const Piece p = heap.back();
    heap.pop_back();
    push(piece(p.begin, p.w - 1));
    push(piece(p.begin + (int64_t{1} << (p.w - 1)), p.w - 1));
  }
  ready.insert(ready.end(), heap.begin(), heap.end());
  std::sort(ready.begin(), ready.end(), [](const Piece& x, const Piece& y) { return x.begin < y.begin; });
  std::vector<func::Octave> out;
  auto add = [&](int64_t begin, int w, int64_t value) {
    if (out.empty() || out.back().w != w) out.push_back({w, begin >> w, begin >> w, {}});
    ++out.back().hi;
    out.back().values.push_back(value);
  };
  auto at = [&](int64_t v) { return f(double(v)); };
  for (const Piece& p : ready) {  // as in FitOctaves, the value balances the error
    const double a = at(p.begin), b = at(p.begin + (int64_t{1} << p.w));
    const int64_t value = std::llround(2 * a * b / (a + b));
    if (out.empty()) add(0, floor, value);
    add(p.begin, p.w, value);
  }
  for (int j = top; j < hard; ++j)  // never above the function
    for (int64_t v : {2, 3}) add(v << (j - 1), j - 1, int64_t(std::floor(at((v + 1) << (j - 1)))));
  return out;
}

double Excess(const std::vector<func::Octave>& table, const func::Real& f) {
  double most = 0;
  for (const func::Octave& g : table)
    for (int64_t v = g.lo; v < g.hi; ++v) {
      double last = std::ldexp(double(v + 1), g.w) - 1;  // f falls, so the excess is largest at a piece's end
      most = std::max(most, double(g.values[size_t(v - g.lo)]) / f(last) - 1);
    }
  return most;
}

double Excess(const func::Lines& lines) {
  double most = 0;
  const int64_t n = int64_t{1} << lines.a, half = int64_t(lines.offset.size()) * n / 2;
  if (lines.bits > 0) {
    const double all = std::ldexp(1.0, lines.bits - 1), count = all - double(half);
    for (const double t : {0.0, count - 1}) {
      const double below = double(lines.below.offset) + double(lines.below.rise) * t,
                   above = double(lines.above.offset) + double(lines.above.rise) * t;
      most = std::max({most, std::abs(below) - std::ldexp(all - t, lines.slope),
                       std::abs(above) - std::ldexp(double(half) + t, lines.slope)});
    }
  }
  // a piece lies on one side of 0, where |line| - |x| is convex: it is largest at an end
  for (size_t i = 0; i < lines.offset.size(); ++i)
    for (int64_t t : {int64_t{0}, n - 1}) {
      const int64_t u = int64_t(i) * n + t, line = lines.offset[i] + lines.rise[i] * t;
      most = std::max(most, double(std::abs(line)) - std::ldexp(double(std::abs(u - half)), lines.slope));
    }
  return most;
}

}  // namespace suf::nn
