// The float model, in double: the yardstick for an integer result, and the ranges that calibrate a plan's windows.
#pragma once
#include <span>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

// Range: least and greatest of what was seen.
struct Range {
  double low = 1e300, high = -1e300;
  void See(double x) { low = x < low ? x : low, high = x > high ? x : high; }
};

// Ranges: real values on the calibration texts.
struct Ranges {
  struct Layer {
    std::vector<Range> score, row_max;  // per head: q k^T without key bias and 1/sqrt(d_h); its row maxima
    Range attention, ffn1, output;      // standard deviation at the LayerNorms; GELU input
  };
  Range embedding, result;  // standard deviation; norm of the mean row
  std::vector<Layer> layers;
};

// FloatForward: mean of the last layer's rows, divided by its norm. (d) Adds to `ranges` when given. ids as for the
// simulator, at most dims.positions of them, each below dims.vocab.
std::vector<double> FloatForward(const Weights& weights, std::span<const int32_t> ids,
                                 exec::Pool& pool = exec::Default(), Ranges* ranges = nullptr);

// Cosine of two vectors of one length.
double Cosine(std::span<const double> a, std::span<const double> b);

}  // namespace suf::nn
