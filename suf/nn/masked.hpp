// Which weights are private and masked by B, and in which ring: W_hat = W - B, once per weights id. (DESIGN 9: linear
// layer.)
#pragma once
#include "suf/nn/plan.hpp"

namespace suf::nn {

// MaskedWeight: a weight tensor that P0 gives P1 as W - B modulo 2^bits, bits the widest ring in which any length class
// reads it.
struct MaskedWeight {
  std::string name;  // as in Quantised
  std::vector<int64_t> shape;
  int bits = 0;
  int64_t size() const;
  // bytes: packed, as it travels.
  int64_t bytes() const { return (size() * bits + 7) / 8; }
};

// MaskedWeights: in a fixed order; all others (biases, positions) never leave P0.
std::vector<MaskedWeight> MaskedWeights(const Plan& plan);

}  // namespace suf::nn
