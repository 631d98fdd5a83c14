// Fits of bipartite tables. All pairs of cuts are tried, those with the smallest tables first.
#include <algorithm>
#include <array>
#include <cmath>

#include "suf/func/internal/target.hpp"

namespace suf::func::internal {

namespace {

// Returns a fit whose values exceed a word; its error is infinite.
FitResult<Function> Over(FitResult<Function> fit) {
  fit.error = INFINITY;
  return fit;
}

// Fits high[i] + low[j, t] for x = i 2^a + t and j = i 2^a >> c. `low` is the centred difference from the middles of
// the blocks, and `high` centres the rest.
FitResult<Function> Bipartite(const FitRequest& q, const TargetFunction& f, int a, int c) {
  const int n = q.in.bits, scale = q.result.scale;
  const int64_t across = int64_t{1} << a, blocks = int64_t{1} << (c - a);
  auto at = [&](uint64_t u) {
    const int64_t x = q.in.is_signed ? ring::Signed(u, n) : int64_t(u);
    return std::ldexp(f.At(x), scale);
  };
  Split g{Split::kSum, q.name, n, q.result.bits, a, c, {}, {}};
  FitResult<Function> out;
  std::vector<double> high(size_t{1} << (n - a));
  for (size_t j = 0; j < size_t{1} << (n - c); ++j) {
    const size_t first = j << (c - a);
    auto middle = [&](size_t i) { return (at(i << a) + at((i << a) + uint64_t(across) - 1)) / 2; };
    std::vector<double> low(static_cast<size_t>(across));
    for (int64_t t = 0; t < across; ++t) {
      Extremes e;
      for (size_t i = first; i < first + size_t(blocks); ++i) e.Include(at((i << a) + uint64_t(t)) - middle(i));
      if (!(std::abs(e.centre()) < 0x1p62)) return Over(std::move(out));
      low[size_t(t)] = double(Round(e.centre()));
      g.low.push_back(uint64_t(Round(e.centre())) & ring::Mask(g.ring));
    }
    for (size_t i = first; i < first + size_t(blocks); ++i) {
      Extremes e;
      for (int64_t t = 0; t < across; ++t) e.Include(at((i << a) + uint64_t(t)) - low[size_t(t)]);
      if (!(std::abs(e.centre()) < 0x1p62)) return Over(std::move(out));
      high[i] = double(Round(e.centre()));
      const double error = std::max(e.most - high[i], high[i] - e.least);
      out.error = std::max(out.error, std::ldexp(error, -scale));
      for (double l : low)
        if (!(std::abs(high[i] + l) < std::ldexp(1, g.ring - 1))) out.error = INFINITY;
    }
  }
  for (double h : high) g.high.push_back(uint64_t(int64_t(h)) & ring::Mask(g.ring));
  out.f = std::move(g);
  out.scale = scale;
  return out;
}

}  // namespace

[[noreturn]] void RefuseBound(const FitRequest& q, size_t most, const char* what, std::optional<double> reached) {
  const std::string best =
      reached ? Str("the best reached is ", *reached) : Str("no fit stays in its ring of ", q.result.bits, " bits");
  // the scale of the result limits the error to half of its last place
  const bool coarse = *q.error < std::ldexp(1, -q.result.scale - 1);
  Fail(Cause::kRefused, "an error of ", *q.error, " is out of reach for ", q.name, " with ", most, " ", what, "; ",
       best, reached ? "; allow that, or use " : "; use ", coarse ? "a finer scale" : "a smaller range of x, or tails");
}

FitResult<Function> FitBipartite(const FitRequest& q) {
  if (q.in.bits > 20 || q.below || q.above || q.degree || q.knots || q.slope.value_or(0) || !q.finer.empty() ||
      q.cost || !q.error)
    Fail(
        Cause::kInput, "a bipartite fit of ", q.name,
        " has a domain of at most 20 bits and a bound on the error, and neither tails, degree, knots, scales nor cost");
  const TargetFunction f(q);
  CheckRange(q, f.FindRange());
  const int n = q.in.bits;
  std::vector<std::array<int64_t, 3>> cuts;  // values, a, c
  for (int a = std::max(0, n - 16); a <= n; ++a)
    for (int c = std::max(a, n + a - 16); c <= n; ++c)
      cuts.push_back({(int64_t{1} << (n - a)) + (int64_t{1} << (n - c + a)), a, c});
  std::sort(cuts.begin(), cuts.end());
  const size_t most = q.pieces ? size_t(*q.pieces) : 2 * kMostPieces;
  std::optional<double> reached;
  for (auto [values, a, c] : cuts) {
    if (size_t(values) > most) break;
    auto fit = Bipartite(q, f, int(a), int(c));
    if (fit.error <= *q.error) {
      if (std::string why = q.why_not ? q.why_not(fit.f) : ""; !why.empty()) RefuseAllFits(q, why);
      return fit;
    }
    if (std::isfinite(fit.error)) reached = std::min(reached.value_or(INFINITY), fit.error);
  }
  RefuseBound(q, most, "values", reached);
}

}  // namespace suf::func::internal
