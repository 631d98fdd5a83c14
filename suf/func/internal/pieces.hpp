// Pieces: the pieces of one shape for a function to fit, by where the knots may be. search.cpp tries the shapes.
#pragma once
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "suf/func/internal/target.hpp"

namespace suf::func::internal {

inline constexpr int kMostFitted = 3;

// What is tried: degree, ring, and how many bits each coefficient is finer than the result asked for.
struct Shape {
  Knots knots = Knots::kFree;
  int degree = 1;
  int ring = 32;
  std::array<int, kMostFitted + 1> finer{};
  int slope = 0;  // the largest
};
Shape WithSlope(Shape s, int slope);

// A piece [begin, end), its coefficients at begin and its error.
struct Local {
  int64_t begin = 0, end = 0;
  std::vector<uint64_t> c;
  double error = INFINITY;
  bool exact = true;
};

// Fits one shape. Each kind of knots gives at most `most` pieces within `bound`, or none where that is not
// possible.
class Pieces {
 public:
  using Found = std::optional<std::vector<Local>>;
  // `progress` receives the part of the domain that has pieces.
  Pieces(const FitRequest& q, const Target& f, const Shape& s, std::function<void(double)> progress = {})
      : q_(q),
        f_(f),
        s_(s),
        unit_(std::ldexp(1, q.result.scale + s.slope)),
        room_(std::ldexp(1, s.ring - 1)),
        progress_(std::move(progress)) {}
  // Pieces of 2^w.
  Found Uniform(int w, double bound, size_t most) const;
  // Of 2^p pieces each on both sides of 0, single points below 2^p.
  Found Octaves(int p, double bound, size_t most) const;
  // At the request's.
  Found Cuts(double bound, size_t most) const;
  // Each piece as long as its bound lets it be: first by samples, then, where those missed something, by every
  // point.
  Found Free(double bound, size_t most) const;

 private:
  // The piece [a, b); its error is infinite where it is over `bound` or the ring.
  // `quick`: by samples alone where that is not all points.
  Local Fit(int64_t a, int64_t b, double bound, bool quick = false) const;
  // Along: pieces in the domain's order; next(x, last) is where the one that begins at x ends, at most.
  template <class F>
  Found Along(double bound, size_t most, const F& next) const;
  // Of the widest piece from x on, up to `last`; at least 1. `guess`: where the search begins.
  int64_t Width(int64_t x, int64_t last, int64_t guess, double bound) const;
  // Whether half of the domain alone takes far more than `most` free pieces, as eight pieces at each of 32
  // places show.
  bool Hopeless(double bound, size_t most) const;
  // Given: Along for knots that do not depend on the function: too many of them are found out by counting.
  template <class F>
  Found Given(double bound, size_t most, const F& next) const;

  const FitRequest& q_;
  const Target& f_;
  Shape s_;
  double unit_, room_;
  std::function<void(double)> progress_;
};

}  // namespace suf::func::internal
