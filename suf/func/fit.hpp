// Fits of real functions by SUFs of a given shape; search.hpp finds the shape. Each fit has its largest error over the
// whole domain. The error is measured at every point of up to 2^24, and bounded by samples of larger domains. Different
// math libraries may round the last bit differently. So a fit is made once and stored in the plan.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "suf/func/suf.hpp"

namespace suf::func {

using Real = std::function<double(double)>;

// A fit and its largest error at the points of the domain. If `exact`, the error is measured at every point. Otherwise
// it is a bound from samples and their curvature (internal/measure.hpp).
template <class F>
struct FitResult {
  F f;
  double error = 0;     // absolute, in real units
  double relative = 0;  // |got / real - 1|; set by FitOctaves and FitOctavesBelow
  bool exact = true;
  int scale = 0;  // scale of the result; set by Fit
};

// One line beside pieces: y = `(offset + rise t) / 2^(scale + slope)` at place t from the least x of its side on.
struct SideLine {
  int64_t offset = 0, rise = 0;
  bool operator==(const SideLine&) const = default;
};

// Linear pieces over a whole signed ring. x = `(u - 2^(a+p-1)) / 2^scale` for u in Z_{2^(a+p)}. With piece i = u >> a,
// y = `(A_i + B_i (u mod 2^a)) / 2^(scale + slope)`. If x has more bits, one line on each side reaches to the end of
// its ring.
struct Lines {
  int a = 0, scale = 0, slope = 0;
  std::vector<int64_t> offset, rise;  // A, B: 2^p entries
  int bits = 0;                       // bits of x, above a + p, if there are lines on both sides; otherwise 0
  SideLine below = {}, above = {};
};
// Fits lines. A slope goes through the ends of its piece, and its offset is centred (Chebyshev). Domains of more than
// 2^24 points are fitted by samples of each piece.
FitResult<Lines> FitLines(const Real& f, int a, int p, int scale, int slope);
// Adds the lines on both sides of fitted pieces, for x of `bits` bits. A slope goes through the ends of its side. The
// line meets the function at the end of the ring, unless its error then exceeds that of the pieces. If so, its offset
// is centred. The result's error is the largest of pieces and sides.
FitResult<Lines> WithSides(const Real& f, FitResult<Lines> pieces, int bits);
// Returns the lines as a SUF.
Suf ToSuf(const Lines& l, std::string name, int ring);

// A request to measure errors in FitOctaves. With kNone they are NaN and cost no time.
enum class Measure { kNone, kError };

// Fits a positive function on [0, 2^hi) by constants. Groups of `span` octaves share one width, with at least 2^p
// pieces an octave. Below 2^lo the value is that at 2^lo. Values balance the relative error of a monotone function.
// Errors are the largest on [2^lo, 2^hi), including points inside the pieces.
FitResult<std::vector<Octave>> FitOctaves(const Real& f, int lo, int hi, int p, int span, Measure m = Measure::kError);
// Fits as FitOctaves, by pieces that do not exceed a falling function. Each has the value at its right end, rounded
// down.
FitResult<std::vector<Octave>> FitOctavesBelow(const Real& f, int lo, int hi, int p, int span,
                                               Measure m = Measure::kError);

// Returns round(f(i) 2^scale) for i in [0, 2^n).
FitResult<std::vector<int64_t>> FitTable(const Real& f, int n, int scale);

}  // namespace suf::func
