// Fitting: real functions to SUFs of a given shape, each with the largest error over its whole domain, measured at
// every point of up to 2^24 and bounded from samples beyond (search.hpp finds the shape). libm rounds its last bit
// differently from machine to machine: what is fitted travels in the plan, and nobody fits it twice.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "suf/func/suf.hpp"

namespace suf::func {

using Real = std::function<double(double)>;

// Fitted: the function and its largest error against the real one at the domain's points: measured at every point when
// `exact`, else a bound from samples and the curvature that they show (internal/measure.hpp says for which functions).
template <class F>
struct Fitted {
  F f;
  double error = 0;     // absolute, in real units
  double relative = 0;  // |got / real - 1|; of FitOctaves and FitOctavesBelow
  bool exact = true;
  int scale = 0;  // of the result; of Fit
};

// Linear pieces over a whole signed ring. x = (u - 2^(a+p-1)) / 2^scale for u in Z_{2^(a+p)}; piece i = u >> a;
// y = (A_i + B_i (u mod 2^a)) / 2^(scale + slope). A slope goes through the piece's ends, its offset is centred
// (Chebyshev). Domains of over 2^24 points are fitted from samples of each piece.
struct Lines {
  int a = 0, scale = 0, slope = 0;
  std::vector<int64_t> offset, rise;  // A, B: 2^p entries
};
Fitted<Lines> FitLines(const Real& f, int a, int p, int scale, int slope);
inline Suf ToSuf(const Lines& l, std::string name, int ring) {
  return Uniform(std::move(name), l.a, l.offset, l.rise, ring);
}

// Whether FitOctaves looks for its errors; without, they are not a number, and no time goes by.
enum class Measure { kNone, kError };

// Constant pieces of a positive function on [0, 2^hi): groups of `span` octaves share one width, at least
// 2^p pieces an octave; below 2^lo the value at 2^lo. Values balance the relative error for a monotone function. Errors
// are the largest on [2^lo, 2^hi), inside the pieces too.
Fitted<std::vector<Group>> FitOctaves(const Real& f, int lo, int hi, int p, int span, Measure m = Measure::kError);
// The same for coarse pieces that must not exceed a falling function: each has the value at its right
// end, rounded down.
Fitted<std::vector<Group>> FitOctavesBelow(const Real& f, int lo, int hi, int p, int span, Measure m = Measure::kError);

// round(f(i) 2^scale) for i in [0, 2^n).
Fitted<std::vector<int64_t>> FitTable(const Real& f, int n, int scale);

}  // namespace suf::func
