// A plan's fields, each listed once with its range, for whatever visits them: the writer and the reader of the JSON
// text, and the fuzz targets. Private to nn and its tests.
#pragma once
#include "suf/nn/plan.hpp"

namespace suf::nn {

inline constexpr int64_t kBig = int64_t{1} << 62;
inline constexpr int kRing = 64, kTokens = 1 << 16;

// kTableWords: the most table entries of a plan, each table counted as often as it is used: a short text could name a
// long table in every layer of every class.
inline constexpr size_t kTableWords = size_t{1} << 24;

template <class V>
void Fields(V& v, Dims& x) {
  v.Int("d", x.d, 1, 1 << 14), v.Int("heads", x.heads, 1, 1 << 10), v.Int("ff", x.ff, 1, 1 << 17);
  v.Int("vocab", x.vocab, 1, 1 << 24), v.Int("layers", x.layers, 1, 1 << 8),
      v.Int("positions", x.positions, 1, kTokens);
  v.Real("eps", x.eps, 0, 1);
}

template <class V>
void Fields(V& v, Scales& x) {
  v.Int("f", x.f, 1, 30), v.Int("embedding", x.embedding, 1, 30), v.Int("gamma", x.gamma, 1, 30);
  v.Int("w_qk", x.w_qk, 1, 30), v.Int("w_v", x.w_v, 1, 30), v.Int("w_o", x.w_o, 1, 30);
  v.Int("w_1", x.w_1, 1, 30), v.Int("w_2", x.w_2, 1, 30);
  v.Int("qk", x.qk, 1, 30), v.Int("v", x.v, 1, 30), v.Int("o", x.o, 1, 30), v.Int("x", x.x, 1, 30);
  v.Int("gelu", x.gelu, 1, 30), v.Int("mean", x.mean, 0, 30), v.Int("result", x.result, 1, 30);
}

template <class V>
void Fields(V& v, Group& x) {
  v.Int("w", x.w, 0, kRing), v.Int("lo", x.lo, 0, kBig), v.Int("hi", x.hi, 1, kBig), v.Table("values", x.values);
}

template <class V>
void Fields(V& v, Norm& x) {
  v.Int("kz", x.kz, 3, kRing), v.Int("cut", x.cut, 0, kRing), v.Int("square", x.square, 1, kRing),
      v.Int("eps", x.eps, 0, kBig);
  v.Int("floor", x.floor, 0, kRing), v.Int("top", x.top, 0, kRing), v.Many("rsqrt", x.rsqrt, 1, kRing);
  v.Int("product", x.product, 3, kRing), v.Int("shift", x.shift, 1, kRing), v.Int("out", x.out, 1, kRing);
}

template <class V>
void Fields(V& v, Layer& x) {
  v.Int("qk", x.qk, 3, kRing), v.Int("v", x.v, 3, kRing);
  v.Int("shift_qk", x.shift_qk, 1, kRing), v.Int("shift_v", x.shift_v, 1, kRing);
  v.Int("score", x.score, 3, kRing), v.Int("shift_score", x.shift_score, 1, kRing), v.Ints("offset", x.offset, 0, kBig);
  v.Int("low", x.low, 1, 10), v.Int("level", x.level, 1, 10), v.Int("floor", x.floor, 0, 1 << 10);
  v.Int("elo_bits", x.elo_bits, 1, kRing), v.Int("ehi_bits", x.ehi_bits, 1, kRing);
  v.Table("elo", x.elo), v.Table("ehi", x.ehi);
  v.Int("row_sum", x.row_sum, 1, kRing), v.Int("ev", x.ev, 3, kRing), v.Many("recip", x.recip, 1, kRing);
  v.Int("count_bits", x.count_bits, 1, 17), v.Int("o", x.o, 3, kRing), v.Int("shift_o", x.shift_o, 0, kRing);
  v.Int("proj", x.proj, 3, kRing), v.Int("diag_o", x.diag_o, 0, kRing), v.Int("mean_o", x.mean_o, 0, kRing);
  v.Int("bias_o", x.bias_o, 0, kRing);
  v.One("attention", x.attention);
  v.Int("ffn1", x.ffn1, 3, kRing), v.Int("shift_ffn1", x.shift_ffn1, 1, kRing);
  v.Int("piece_width", x.piece_width, 1, 16), v.Int("piece", x.piece, 1, 12);
  v.Table("gelu_a", x.gelu_a), v.Table("gelu_b", x.gelu_b);
  v.Int("gelu_u", x.gelu_u, 1, kRing), v.Int("gelu_v", x.gelu_v, 1, kRing);
  v.Int("ffn2", x.ffn2, 3, kRing), v.Int("diag_2", x.diag_2, 0, kRing), v.Int("mean_2", x.mean_2, 0, kRing);
  v.One("output", x.output);
}

template <class V>
void Fields(V& v, Class& x) {
  v.Int("max_n", x.max_n, 1, kTokens), v.One("embedding", x.embedding), v.Many("layers", x.layers, 1, 1 << 8);
  v.Int("pool", x.pool, 3, kRing), v.One("result", x.result);
}

template <class V>
void Fields(V& v, Certificate& x) {
  v.Int("bits", x.bits, 0, kRing), v.Flag("hard", x.hard);
}

template <class V>
void Fields(V& v, Plan& x) {
  v.One("dims", x.dims), v.Digest("tokenizer", x.tokenizer), v.Int("max_tokens", x.max_tokens, 1, kTokens);
  v.One("scales", x.scales), v.Many("classes", x.classes, 1, 64), v.Dict("certificates", x.certificates);
  v.Text("calibration", x.calibration, 64);
}

}  // namespace suf::nn
