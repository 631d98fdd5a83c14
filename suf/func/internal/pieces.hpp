// Fits of one shape, for each kind of knots. search.cpp tries the shapes.
#pragma once
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "suf/func/internal/target.hpp"

namespace suf::func::internal {

// The largest degree of a fit.
inline constexpr int kMostFitted = 3;

// The shape of a fit.
struct FitShape {
  Knots knots = Knots::kFree;
  int degree = 1;
  int ring = 32;
  std::array<int, kMostFitted + 1> finer{};  // bits by which each coefficient is finer than the requested result
  int slope = 0;                             // the largest of these
};
// Returns the shape with all coefficients finer by `slope` bits.
FitShape WithSlope(FitShape s, int slope);

// A piece [begin, end) with its error.
struct Local {
  int64_t begin = 0, end = 0;
  std::vector<uint64_t> c;  // coefficients in x - begin
  double error = INFINITY;
  bool exact = true;
};

// A fitter of one shape. For each kind of knots it returns at most `most` pieces within `bound`, or nothing if that is
// impossible.
class Pieces {
 public:
  using FoundPieces = std::optional<std::vector<Local>>;
  // `progress` receives the part of the domain that has pieces, 0 to 1.
  Pieces(const FitRequest& q, const TargetFunction& f, const FitShape& s, std::function<void(double)> progress = {})
      : q_(q),
        f_(f),
        s_(s),
        unit_(std::ldexp(1, q.result.scale + s.slope)),
        room_(std::ldexp(1, s.ring - 1)),
        progress_(std::move(progress)) {}
  // Fits pieces of width 2^w.
  FoundPieces FitUniform(int w, double bound, size_t most) const;
  // Fits octaves on both sides of 0 with 2^p pieces each, and single points below 2^p.
  FoundPieces FitOctaves(int p, double bound, size_t most) const;
  // Fits pieces at the cuts of the request.
  FoundPieces FitCuts(double bound, size_t most) const;
  // Fits pieces that are as long as the bound allows, first by samples. If samples miss a larger error, all points
  // decide.
  FoundPieces FitFree(double bound, size_t most) const;

 private:
  // Fits the piece [a, b). Its error is infinite if it exceeds `bound` or leaves the ring. If `quick`, a wide piece is
  // measured by samples alone.
  Local Fit(int64_t a, int64_t b, double bound, bool quick = false) const;
  // Fits pieces in the order of the domain. The piece at x ends at next(x, last), which is at most `last`.
  template <class F>
  FoundPieces FitAlong(double bound, size_t most, const F& next) const;
  // Returns the width of the widest piece from x on, up to `last` and at least 1. The search begins at `guess`.
  int64_t WidestFrom(int64_t x, int64_t last, int64_t guess, double bound) const;
  // Returns whether half of the domain takes far more than `most` free pieces, by eight pieces at each of 32 places.
  bool IsHopeless(double bound, size_t most) const;
  // Fits as FitAlong, for knots that do not depend on the function. It first counts whether they are too many.
  template <class F>
  FoundPieces FitFixed(double bound, size_t most, const F& next) const;

  const FitRequest& q_;
  const TargetFunction& f_;
  FitShape s_;
  double unit_, room_;
  std::function<void(double)> progress_;
};

}  // namespace suf::func::internal
