#include "suf/func/internal/pieces.hpp"

#include <algorithm>
#include <bit>

#include "suf/ring/modular.hpp"

namespace suf::func::internal {

namespace {

constexpr int kQuick = 256;

// Returns the extremes at Many + 1 points of [0, m).
template <int Many, class F>
Extremes Few(const F& rest, int64_t m) {
  Extremes few;
  for (int i = 0; i <= Many; ++i) few.Include(rest(int64_t(__int128{m - 1} * i / Many)));
  return few;
}

// Returns the largest width up to `most` that fits, or 0. It doubles from `guess`, then bisects.
template <class F>
int64_t Longest(int64_t guess, int64_t most, const F& fits) {
  int64_t good = 0, bad = most + 1;
  for (int64_t w = std::min(guess, most); w > good && w < bad;) {
    if (fits(w)) {
      good = w;
      w = std::min(2 * w, most);
    } else {
      bad = w;
      w = good ? 0 : w / 2;
    }
  }
  while (bad - good > 1) {
    const int64_t w = good + (bad - good) / 2;
    (fits(w) ? good : bad) = w;
  }
  return good;
}

// Returns the divided difference at d + 1 of Chebyshev's points of [0, m).
template <class F>
double Leading(const F& rest, int d, int64_t m) {
  double t[kMostFitted + 1], y[kMostFitted + 1];
  for (int i = 0; i <= d; ++i) {
    const double at =
        m <= 4 * (d + 1) ? double(m - 1) * i / d : double(m - 1) / 2 * (1 - std::cos((2 * i + 1) * M_PI / (2 * d + 2)));
    t[i] = std::floor(at);
    y[i] = rest(int64_t(t[i]));
  }
  for (int k = 1; k <= d; ++k)
    for (int i = 0; i + k <= d; ++i) y[i] = (y[i + 1] - y[i]) / (t[i + k] - t[i]);
  return y[0];
}

}  // namespace

FitShape WithSlope(FitShape s, int slope) {
  s.finer.fill(slope);
  s.slope = slope;
  return s;
}

Local Pieces::Fit(int64_t a, int64_t b, double bound, bool quick) const {
  Local out{a, b, std::vector<uint64_t>(size_t(s_.degree) + 1), INFINITY, true};
  const int64_t m = b - a;
  std::array<double, kMostFitted + 1> c{};
  auto rest = [&](int64_t t) {
    const double x = double(t);
    return f_.At(a + t) * unit_ - ((c[3] * x + c[2]) * x + c[1]) * x;
  };
  for (int d = int(std::min<int64_t>(s_.degree, m - 1)); d > 0; --d) {
    const double q = Leading(rest, d, m), step = std::ldexp(1, s_.slope - s_.finer[size_t(d)]);
    c[size_t(d)] = std::floor(q / step + 0.5) * step;
    if (!(std::abs(c[size_t(d)]) < 0x1p62)) return out;
    out.c[size_t(d)] = uint64_t(int64_t(c[size_t(d)])) & ring::Mask(s_.ring);
  }
  const double step = std::ldexp(1, s_.slope - s_.finer[0]), most = 2 * (bound * unit_ + step);
  if (Extremes few = Few<16>(rest, m); few.most - few.least > most) return out;
  const Extremes all =
      quick && f_.every() && m > kQuick ? Few<kQuick>(rest, m) : ExtremesOf(rest, 0, m - 1, f_.every());
  const double constant = std::floor(all.centre() / step + 0.5) * step;
  if (!(std::abs(constant) < 0x1p62)) return out;
  const double error = std::max(all.most - constant, constant - all.least) / unit_;
  const Extremes value = ExtremesOf([&](int64_t t) { return f_.At(a + t) * unit_; }, 0, m - 1, false);
  if (!(value.most + error * unit_ < room_ && value.least - error * unit_ >= -room_) || !(error <= bound)) return out;
  out.c[0] = uint64_t(int64_t(constant)) & ring::Mask(s_.ring);
  out.error = error;
  out.exact = all.exact;
  return out;
}

template <class F>
Pieces::FoundPieces Pieces::FitAlong(double bound, size_t most, const F& next) const {
  std::vector<Local> out;
  double done = 0;
  auto part = [&](int64_t from, int64_t to) {
    from = std::max(from, f_.first());
    to = std::min(to, f_.last());
    for (int64_t x = from; x < to; x = out.back().end) {
      if (out.size() == most) return false;
      if (progress_) progress_(done / double(f_.last() - f_.first()));
      out.push_back(Fit(x, std::min(next(x, to), to), bound));
      if (!std::isfinite(out.back().error)) return false;
      done += double(out.back().end - x);
    }
    return true;
  };
  if (!part(0, f_.hi()) || !part(f_.lo(), 0)) return std::nullopt;
  return out;
}

template <class F>
Pieces::FoundPieces Pieces::FitFixed(double bound, size_t most, const F& next) const {
  size_t many = 0;
  for (auto [from, to] : {std::pair{int64_t{0}, f_.hi()}, std::pair{f_.lo(), int64_t{0}}})
    for (int64_t x = std::max(from, f_.first()); x < std::min(to, f_.last()); x = next(x, to))
      if (++many > most) return std::nullopt;
  return FitAlong(bound, most, next);
}

Pieces::FoundPieces Pieces::FitUniform(int w, double bound, size_t most) const {
  return FitFixed(bound, most, [&](int64_t x, int64_t) { return ((x >> w) + 1) << w; });
}

Pieces::FoundPieces Pieces::FitOctaves(int p, double bound, size_t most) const {
  return FitFixed(bound, most, [&](int64_t x, int64_t) {
    const uint64_t size = x < 0 ? uint64_t(-x) - 1 : uint64_t(x);  // a negative x has the octaves of -x - 1
    const int w = std::max(0, int(std::bit_width(size)) - 1 - p);
    return ((x >> w) + 1) << w;
  });
}

Pieces::FoundPieces Pieces::FitCuts(double bound, size_t most) const {
  std::vector<int64_t> cuts;
  for (double v : q_.cuts) cuts.push_back(f_.Cut(v));
  return FitFixed(bound, most, [&](int64_t x, int64_t last) {
    const auto next = std::upper_bound(cuts.begin(), cuts.end(), x);
    return next == cuts.end() ? last : *next;
  });
}

int64_t Pieces::WidestFrom(int64_t x, int64_t last, int64_t guess, double bound) const {
  auto fits = [&](int64_t width) { return std::isfinite(Fit(x, x + width, bound).error); };
  auto looks = [&](int64_t width) { return std::isfinite(Fit(x, x + width, bound * (1 - 1.0 / 2048), true).error); };
  int64_t width = Longest(guess, last - x, looks);
  if (f_.every() && width > 0 && !fits(width)) width = Longest(guess, width, fits);
  return std::max<int64_t>(1, width);
}

bool Pieces::IsHopeless(double bound, size_t most) const {
  constexpr int kPlaces = 32, kChain = 8;
  const int64_t points = f_.last() - f_.first();
  if (most < 4 * kPlaces * kChain || points < int64_t(most)) return false;  // counting them is fast
  std::array<double, kPlaces> density;
  for (int i = 0; i < kPlaces; ++i) {
    const int64_t from = f_.first() + int64_t(__int128{points} * i / kPlaces), end = from + points / kPlaces;
    int64_t x = from, guess = 1;
    int whole = 0;  // the last piece may be cut off at the end of the place
    for (; whole < kChain && x < end; ++whole) x += guess = WidestFrom(x, end, guess, bound);
    density[size_t(i)] = double(x == end ? whole - 1 : whole) / double(x - from);
  }
  std::nth_element(density.begin(), density.begin() + kPlaces / 2, density.end());
  return density[kPlaces / 2] * double(points) / 2 > 2 * double(most);
}

Pieces::FoundPieces Pieces::FitFree(double bound, size_t most) const {
  if (IsHopeless(bound, most)) return std::nullopt;
  int64_t guess = 1;
  return FitAlong(bound, most,
                  [&](int64_t x, int64_t last) { return x + (guess = WidestFrom(x, last, guess, bound)); });
}

}  // namespace suf::func::internal
