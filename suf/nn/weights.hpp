// A BERT encoder's float weights in memory, as Hugging Face stores them. Filled by the model room, quantised by nn.
#pragma once
#include <cstdint>
#include <vector>

namespace suf::nn {

// Dims: public shape of the encoder.
struct Dims {
  int64_t d = 0, heads = 0, ff = 0, vocab = 0, layers = 0, positions = 0;
  double eps = 1e-12;  // LayerNorm
  bool operator==(const Dims&) const = default;
};

// Weights: row-major; a linear map is (out, in), y = x W^T + b.
struct Weights {
  struct Layer {
    std::vector<float> wq, bq, wk, bk, wv, bv, wo, bo;  // (d, d), (d)
    std::vector<float> g1, b1;                          // LayerNorm after attention (d)
    std::vector<float> w_in, b_in, w_out, b_out;        // (ff, d), (ff), (d, ff), (d)
    std::vector<float> g2, b2;                          // LayerNorm after the feed-forward (d)
  };
  Dims dims;
  std::vector<float> word, position, type;  // (vocab, d), (positions, d), (d): token type 0
  std::vector<float> gamma, beta;           // embedding LayerNorm (d)
  std::vector<Layer> layers;
};

}  // namespace suf::nn
