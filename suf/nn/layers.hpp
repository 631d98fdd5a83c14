// The layers of an encoder as emitting functions (DESIGN 9). They name a party only where one of them alone gives a
// weight or learns an opening: P0 reads every activation that feeds its matrix products.
#pragma once
#include "suf/nn/linear.hpp"
#include "suf/nn/plan.hpp"

namespace suf::nn {

// Known0: a wire that P0 alone knows and whose mask is shared: what a linear layer reads.
using Known0 = SharedWire<kP0>;

// Normalise: y = round(x rsqrt(sum x^2 + eps) / 2^shift) in Z_{2^out} by rows, x = round(z / 2^cut) never opened. z
// (rows, d) has mean 0. stages: of the rescale before; one stage costs more words and saves a flight. Flights to
// shares: bits, [carry,] sum of squares, window sums, rsqrt, product, bits.
Owing Normalise(Trace& t, const Wire<kPub>& z, const Norm& norm, compiler::Stages stages);
// NormaliseKeyBits: both bundles, of `rows` rows of d; `shared`: the result's owed word is dealt.
int64_t NormaliseKeyBits(const Norm& norm, compiler::Stages stages, int64_t rows, int64_t d, bool shared);

// Embed: private lookup of tokens (n) with position rows, as the linear layer on P1's masked one-hot rows in a 16-bit
// ring. -> (n, d)
Wire<kPub> Embed(Trace& t, const Dims& dims, int n);

// Attention: softmax(q k^T) v over heads; x (n, d) -> (n, d), at the scale that W_o reads.
Known0 Attention(Trace& t, const Dims& dims, const Layer& y, const std::string& prefix, const Known0& x);

// FeedForward: gelu(x W_1 + b_1): (n, d) -> (n, ff), in the ring of z_2.
Known0 FeedForward(Trace& t, const Dims& dims, const Layer& y, const std::string& prefix, const Known0& x);

// Residual: o W + 2^diag gamma n - 2^(diag - mean) (n . u) 1 + 2^bias b in Z_{2^ring}: inputs prefix + W, g, u, b
// followed by `suffix`.
struct Residual {
  const char* suffix;
  int64_t inner;  // rows of W
  int ring, diag, mean, bias;
  const char* label;
};
Wire<kPub> AddResidual(Trace& t, const Residual& r, const std::string& prefix, const Known0& o, const Known0& n);

// Pool: gamma times the sum over tokens, plus bias: (n, d) -> (1, d) in Z_{2^ring}.
Wire<kPub> Pool(Trace& t, const Known0& x, int ring);

}  // namespace suf::nn
