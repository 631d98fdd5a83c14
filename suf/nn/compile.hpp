// From a model and calibration texts to a plan: scales are given, every ring follows from hard bounds (certify.hpp),
// windows, floors and the fine part of the tables from the float model's ranges on the texts. (DESIGN 9, 10.)
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

// CompileOptions: binary scales and sizes of tables; the defaults reach 1 - cosine 1.3e-5 in the mean, 4e-5 at worst,
// on MiniLM.
struct CompileOptions {
  Scales scales{.f = 10,
                .embedding = 12,
                .gamma = 10,
                .w_qk = 12,
                .w_v = 14,
                .w_o = 12,
                .w_1 = 14,
                .w_2 = 14,
                .qk = 8,
                .v = 10,
                .o = 14,
                .x = 9,
                .gelu = 6,
                .mean = 9,
                .result = 16};
  int norm = 10, pool = 8;               // scale of x in the layers' LayerNorms and in the final norm
  int exp_high = 12, exp_low = 6;        // scales of the exponential's two tables
  int slice = 4;                         // fractional bits of a score that the exponential sees
  int recip_pieces = 6, recip_bits = 5;  // 2^pieces constant pieces an octave; bits of the least reciprocal
  int rsqrt_pieces = 7, rsqrt_bits = 8;  // likewise, at the largest calibrated sum of squares
  int pool_pieces = 8, pool_bits = 9;
  int span = 4;        // octaves that share one piece width
  int gelu_piece = 6;  // log2 of a GELU piece in units of x
  int merge =
      32;  // classes up to so many tokens skip the rescale before W_o, where 64 bits allow it: two flights fewer
  int max_tokens = 256;                                                 // classes 8, 16, 32, .. up to it
  Hash tokenizer{};                                                     // copied into the plan
  std::string calibration;                                              // likewise
  std::function<void(const std::string& stage, double done)> progress;  // done in [0, 1]
};

// Compile: texts are token ids with [CLS] and [SEP]; longer ones than max_tokens are cut. Ends with a simulation of the
// texts. Throws Cause::kInput without texts, Cause::kRefused when a wire needs more bits than its ring may have, naming
// the wire, bits, limit and remedy.
Plan Compile(const Weights& weights, std::span<const std::vector<int32_t>> texts, const CompileOptions& options,
             exec::Pool& pool = exec::Default());

}  // namespace suf::nn
