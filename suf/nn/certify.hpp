// Hard bounds: what the quantised weights can make of any sequence of token ids (DESIGN 9, GapCert). Norms of columns,
// of the value path of each head, and largest singular values. Sums of squares of whole numbers are exact in double, so
// that hidden units may be permuted; what is not exact is rounded up by 1e-9.
#pragma once
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/quantise.hpp"

namespace suf::nn {

using Reals = std::vector<double>;

// Length: Euclidean norm.
double Length(const Reals& a);
// BitLength: the least b >= 1 such that every whole number up to v is below 2^b.
int BitLength(double v);

// MapFacts: one linear map x W + b, W (in, out).
struct MapFacts {
  Reals column, column_sum;  // (out): Euclidean norm and sum of magnitudes of a column of W
  Reals bias;                // (out): |b_j|, zeros without bias
  double largest = 0;        // singular value; 0 where nobody asks
};

// LayerFacts: what the bounds need to know of one layer's weights.
struct LayerFacts {
  MapFacts qk, v, o, w1, w2;
  Reals value_path;                        // (d): sum over heads h of the norm of column j of Wv_h Wo_h
  double value_path_largest = 0;           // sum over heads of the largest singular value of Wv_h Wo_h
  double head_largest = 0;                 // sum over heads of that of Wo_h
  Reals w2_magnitude;                      // (ff, d): |W2|
  Reals gamma_o, mean_o, gamma_2, mean_2;  // (d): integers of go, uo, g2, u2
};

LayerFacts Facts(const Quantised& q, const Dims& dims, int64_t layer, exec::Pool& pool);

// EmbeddingFacts: largest |E + pos| of one coordinate and largest norm of a row, over the first n positions and every
// token.
struct EmbeddingFacts {
  double coordinate = 0, row = 0;
};
EmbeddingFacts Embedding(const Quantised& q, int64_t n);

// ResidualGain: z_j += c_j . n with c = 2^diag (gamma_j e_j) - 2^(diag - mean) u: the norms of the c_j, and a bound of
// the map's.
struct ResidualGain {
  Reals column;
  double largest = 0;
};
ResidualGain Gain(const Reals& gamma, const Reals& u, int diag, int mean);

// LargestEigenvalue: an upper bound for a matrix with nonnegative eigenvalues, (tr A^32)^(1/32). a (n, n)
double LargestEigenvalue(Reals a, int64_t n, exec::Pool& pool);

}  // namespace suf::nn
