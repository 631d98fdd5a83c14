// Hard bounds of every wire of a class, from what the plan has fixed (scales, shifts, tables) and the quantised
// weights' facts (certify.hpp). Compile chooses rings by them; CheckWeights holds the rings of a finished plan against
// other weights. (DESIGN 9, GapCert.)
#pragma once
#include <functional>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/certify.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/quantise.hpp"

namespace suf::nn {

// Reach: what a row of a wire can reach, in integers at the wire's scale.
struct Reach {
  double most = 0;    // one coordinate
  double length = 0;  // the row as a vector
};

// NormReach: sum of squares with eps; x rsqrt before the rescale; a row of the result.
struct NormReach {
  double square = 0, product = 0, rows = 0;
};

// Bounds: of one model. rows: a row of the layer's (or the block's) input. A member reads only the fields it names, so
// that Compile may call it before the others are set.
class Bounds {
 public:
  // progress: with the part of the layers whose weights have been measured.
  Bounds(const Dims& dims, const Scales& scales, const Quantised& q, exec::Pool& pool,
         const std::function<void(double)>& progress = {});

  Reach Embedding(int n) const;
  // Norm: `last` is the one of the result. Reads shift, eps, rsqrt. longest: Longest of its input.
  NormReach Norm(const nn::Norm& y, double longest, bool last) const;
  // Longest: of a row of z after the rescale by `cut` bits.
  double Longest(const Reach& z, int cut) const;
  double QueryKey(int64_t l, double rows) const;
  double Value(int64_t l, double rows) const;
  // RowSum, Mixed (e V): read ehi, elo, shift_v.
  double RowSum(const Layer& y, int n) const;
  double Mixed(int64_t l, const Layer& y, int n, double rows) const;
  // Attended: e V recip. Output: z_o. Read recip, shift_v, shift_o, bias_o, diag_o, mean_o.
  double Attended(int64_t l, const Layer& y, double rows) const;
  Reach Output(int64_t l, const Layer& y, double rows) const;
  // FeedForward: z_2. Reads shift_ffn1, piece_width, piece, gelu_a, gelu_b, diag_2, mean_2.
  Reach FeedForward(int64_t l, const Layer& y, double rows) const;
  Reach Pool(int n, double rows) const;

 private:
  double Weighted(int64_t l, const Layer& y, double rows) const;  // one coordinate of v
  double Reciprocal(const Layer& y) const;                        // the largest of recip / (1 / row sum)

  Dims dims_;
  Scales s_;
  const Quantised& q_;
  std::vector<LayerFacts> facts_;
};

// RingOf: for |value| <= bound, rounded by `shift` bits, with the gap of one bit.
int RingOf(double bound, int shift);

// CheckWeights: throws Cause::kRefused, naming the wire, when these weights can take a hard wire of any class beyond
// its ring or its certificate. A plan that Compile made from the same weights always passes. Seconds for a real model.
void CheckWeights(const Plan& plan, const Quantised& weights, exec::Pool& pool = exec::Default(),
                  const std::function<void(double)>& progress = {});

}  // namespace suf::nn
