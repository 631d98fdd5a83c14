// Parts of all fitters: rounding, and the extremes of a real function at integer points.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::func::internal {

inline int64_t Round(double v) { return int64_t(std::floor(v + 0.5)); }

// Domains of up to 2^kEveryPoint points are measured at every point.
inline constexpr int kEveryPoint = 24;

// The least and the largest value at the integers of an interval. If `exact`, all values were computed.
struct Extremes {
  double least = INFINITY, most = -INFINITY;
  bool exact = true;
  // Includes a value.
  void Include(double y) {
    least = std::min(least, y);
    most = std::max(most, y);
  }
  double centre() const { return (most + least) / 2; }
};

// Returns the extremes of f(x) for x in [a, b], b - a < 2^62. If `every`, and in narrow intervals, they are exact.
// Otherwise they are bounds from kSamples + 1 points, which include both ends. Both values of an interval are moved
// apart by half the largest second difference of its neighbours. This is a bound for a kink between two samples. It is
// one for a curvature between samples of at most four times that of the samples.
template <class F>
Extremes ExtremesOf(const F& f, int64_t a, int64_t b, bool every) {
  constexpr int64_t kSamples = 256, kNarrow = 1024;
  Extremes out;
  if (every || b - a <= kNarrow) {
    for (int64_t x = a; x <= b; ++x) out.Include(f(x));
    return out;
  }
  out.exact = false;
  double y[kSamples + 1];
  for (int64_t i = 0; i <= kSamples; ++i) y[i] = f(a + int64_t(__int128{b - a} * i / kSamples));
  double bend[kSamples + 1];
  for (int64_t i = 1; i < kSamples; ++i) bend[i] = std::abs(y[i - 1] - 2 * y[i] + y[i + 1]) / 2;
  bend[0] = bend[1];
  bend[kSamples] = bend[kSamples - 1];
  for (int64_t i = 0; i < kSamples; ++i) {
    const double apart = std::max(bend[i], bend[i + 1]);
    out.Include(std::max(y[i], y[i + 1]) + apart);
    out.Include(std::min(y[i], y[i + 1]) - apart);
  }
  return out;
}

}  // namespace suf::func::internal
