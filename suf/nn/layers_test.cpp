// Each layer against the meaning of its gates.
#include "suf/nn/layers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/gates/maximum.hpp"
#include "suf/gates/product.hpp"
#include "suf/gates/rig_test.hpp"
#include "suf/gates/tables.hpp"
#include "suf/gates/trunc.hpp"

namespace suf::nn {
namespace {

using compiler::Stages;
using gates::Ints;
using gates::Some;

constexpr int64_t kD = 8, kHeads = 2, kFf = 6, kN = 5;
const Dims kDims{.d = kD, .heads = kHeads, .ff = kFf, .vocab = 11, .layers = 1, .positions = 9};

struct LayerRig : gates::Rig {
  std::mt19937_64 rng{7};
  // Weights: small numbers under a fresh B.
  Ints Weight(const std::string& name, int64_t size, int64_t most) {
    Ints w = Some(-most, most, size_t(size), rng());
    std::vector<uint64_t> b, masked;
    for (int64_t v : w) b.push_back(rng()), masked.push_back(uint64_t(v) - b.back());
    inputs[0].Set("W." + name, w), inputs[1].Set("Wh." + name, masked), inputs[2].Set("B." + name, b);
    return w;
  }
  Ints Bias(const std::string& name, int64_t size, int64_t most) {
    Ints b = Some(-most, most, size_t(size), rng());
    inputs[0].Set("W." + name, b);
    return b;
  }
  // Read: the number behind a wire that P0 knows: its mask is shared.
  Ints Read(const Known0& w, int k) {
    Own<0> a = w.hat - w.s.a;
    Own<1> b = -w.s.b;
    pfss::Sh y{a, b};
    return Run(Low(y, k));
  }
  Ints Read(const Wire<kPub>& w, int k) {
    pfss::Dealt r = t.deal(w.r, k);
    return Run(-pfss::Sh(r) + w.hat);
  }
};

Ints Matmul(const Ints& x, const Ints& w, int64_t inner, int64_t out) {
  return gates::MatmulProduct::SpecOf(x, w, int64_t(x.size()) / inner, inner, out, false, 64);
}
Ints Words(const Ints& x, int k) {
  Ints out;
  for (int64_t v : x) out.push_back(func::Signed(uint64_t(v), k));
  return out;
}

Layer MakeLayer(bool merged) {
  Layer y;
  y.qk = 30, y.v = 33, y.shift_qk = 6, y.shift_v = 5;
  y.score = 15, y.shift_score = 5, y.low = 5, y.level = 5, y.floor = 13;
  y.offset = {1 << 14, (1 << 14) - 777};
  y.ehi = func::FitTable([](double i) { return std::exp(-i * 0.6); }, 5, 9).f;
  y.elo = func::FitTable([](double i) { return std::exp(i * 0.6 / 32); }, 5, 5).f;
  y.elo_bits = 9, y.ehi_bits = 12;
  y.row_sum = 18, y.ev = 36, y.count_bits = 3;
  y.recip = func::FitOctaves([](double v) { return std::ldexp(1, 24) / v; }, 13, 18, 4, 3).f;
  y.o = 52, y.shift_o = merged ? 0 : 15, y.proj = merged ? 58 : 41;
  y.ffn1 = 14, y.shift_ffn1 = 5, y.piece_width = 4, y.piece = 5;
  auto gelu = func::FitLines([](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, 4, 5, 6, 5);
  y.gelu_a = gelu.f.offset, y.gelu_b = gelu.f.rise, y.gelu_u = 17, y.gelu_v = 9, y.ffn2 = 37;
  y.diag_o = y.diag_2 = 6, y.mean_o = y.mean_2 = 4;
  return y;
}

Ints AttentionSpec(const Layer& y, const Ints& x, const Ints& wqk, const Ints& bqk, const Ints& wv) {
  Ints z = Matmul(x, wqk, kD, 2 * kD);
  for (size_t i = 0; i < z.size(); ++i) z[i] += bqk[i % bqk.size()];
  Ints qk = gates::Trunc{y.shift_qk, y.score}.Spec(z, y.qk),
       v = gates::Trunc{y.shift_v, y.ev}.Spec(Matmul(x, wv, kD, kD), y.v);
  Ints out(size_t(kN * kD));
  int64_t dh = kD / kHeads;
  for (int64_t h = 0; h < kHeads; ++h) {
    auto part = [&](const Ints& from, int64_t cols, int64_t at) {
      Ints p;
      for (int64_t i = 0; i < kN; ++i)
        for (int64_t j = 0; j < dh; ++j) p.push_back(from[size_t(i * cols + at + h * dh + j)]);
      return p;
    };
    Ints score = gates::MatmulProduct::SpecOf(part(qk, 2 * kD, 0), part(qk, 2 * kD, kD), kN, dh, kN, true, y.score);
    int64_t offset = y.offset[size_t(h)] + (int64_t{1} << (y.shift_score - 1));
    Ints low = gates::Slice{y.shift_score, y.shift_score + y.low, 40, offset}.Spec(score, y.score);
    Ints level = gates::Slice{y.shift_score + y.low, y.score, 40, offset}.Spec(score, y.score);
    Ints m = gates::Maximum{y.floor, y.count_bits}.Spec(level, y.level, kN);
    for (size_t i = 0; i < level.size(); ++i) level[i] = int64_t(gates::Word(m[i / kN], y.level)) - level[i];
    Ints e = gates::ExpPair{y.ehi, y.elo, 0, 0, y.ev}.Spec(level, low), sums;
    for (size_t i = 0; i < e.size(); i += kN) sums.push_back(e[i] + e[i + 1] + e[i + 2] + e[i + 3] + e[i + 4]);
    Ints recip = gates::RowFunction{y.recip, 64}.Spec(sums, y.row_sum);
    Ints ev = gates::MatmulProduct::SpecOf(e, part(v, kD, 0), kN, kN, dh, false, y.ev);
    for (int64_t i = 0; i < kN; ++i)
      for (int64_t j = 0; j < dh; ++j) out[size_t(i * kD + h * dh + j)] = ev[size_t(i * dh + j)] * recip[size_t(i)];
  }
  return y.shift_o ? gates::Trunc{y.shift_o, y.proj}.Spec(out, y.o) : Words(out, y.proj);
}

TEST(Attention, BothVariants) {
  for (bool merged : {false, true}) {
    LayerRig g;
    Layer y = MakeLayer(merged);
    Ints x = Some(-3000, 3000, size_t(kN * kD), 3);
    Ints wqk = g.Weight("0.Wqk", kD * 2 * kD, 1 << 10), bqk = g.Bias("0.bqk", 2 * kD, 1 << 12),
         wv = g.Weight("0.Wv", kD * kD, 1 << 6);
    Known0 wire = g.Both(x, 45, {kN, kD});
    Known0 o = Attention(g.t, kDims, y, "0.", wire);
    EXPECT_EQ(g.Read(o, y.proj), AttentionSpec(y, x, wqk, bqk, wv)) << merged;
  }
}

TEST(FeedForward, EqualsItsGates) {
  LayerRig g;
  Layer y = MakeLayer(false);
  Ints x = Some(-200, 200, size_t(kN * kD), 3), w = g.Weight("0.W1", kD * kFf, 20), b = g.Bias("0.b1", kFf, 1 << 9);
  Known0 h = FeedForward(g.t, kDims, y, "0.", g.Both(x, 45, {kN, kD}));
  Ints z = Matmul(x, w, kD, kFf);
  for (size_t i = 0; i < z.size(); ++i) z[i] += b[i % b.size()];
  func::Suf f = func::Uniform("gelu", y.piece_width, y.gelu_a, y.gelu_b, 64);
  Ints want = gates::Activation{{f, y.shift_ffn1, y.gelu_u, y.gelu_v, y.ffn2}}.Spec(z, y.ffn1);
  EXPECT_EQ(g.Read(h, y.ffn2), want);
}

TEST(Residual, TakesNoKey) {
  LayerRig g;
  Residual r{"o", kFf, 44, 6, 4, 3, "z"};
  Ints o = Some(-5000, 5000, size_t(kN * kFf), 3), n = Some(-3000, 3000, size_t(kN * kD), 4);
  Ints w = g.Weight("3.Wo", kFf * kD, 1 << 10), gamma = g.Weight("3.go", kD, 1 << 10), u = g.Weight("3.uo", kD, 1 << 8),
       b = g.Bias("3.bo", kD, 1 << 17);
  Known0 wo = g.Both(o, 44, {kN, kFf});
  Known0 wn = g.Both(n, 44 - 6 + 4, {kN, kD});
  Wire<kPub> z = AddResidual(g.t, r, "3.", wo, wn);
  Ints want = Matmul(o, w, kFf, kD);
  for (int64_t i = 0; i < kN; ++i)
    for (int64_t j = 0; j < kD; ++j) {
      int64_t dot = 0;
      for (int64_t l = 0; l < kD; ++l) dot += n[size_t(i * kD + l)] * u[size_t(l)];
      want[size_t(i * kD + j)] += n[size_t(i * kD + j)] * gamma[size_t(j)] * 64 - dot * 4 + b[size_t(j)] * 8;
    }
  EXPECT_EQ(g.Read(z, 44), Words(want, 44));
  EXPECT_EQ(g.key_bits(), kN * kD * 44);  // our reading of the mask; the layer has none
}

TEST(Embed, LooksUp) {
  LayerRig g;
  Ints table = g.Weight("E", kDims.vocab * kD, 1 << 12), pos = g.Bias("pos", kN * kD, 1 << 12), ids{3, 0, 10, 3, 7},
       want;
  g.inputs[1].Set("tokens", ids);
  for (int64_t i = 0; i < kN; ++i)
    for (int64_t j = 0; j < kD; ++j) want.push_back(table[size_t(ids[size_t(i)] * kD + j)] + pos[size_t(i * kD + j)]);
  EXPECT_EQ(g.Read(Embed(g.t, kDims, kN), 16), want);
}

TEST(Pool, Sums) {
  LayerRig g;
  Ints x = Some(-3000, 3000, size_t(kN * kD), 3), gamma = g.Weight("gp", kD, 1 << 10), b = g.Bias("bp", kD, 1 << 16),
       want = b;
  for (size_t i = 0; i < x.size(); ++i) want[i % kD] += x[i] * gamma[i % kD];
  EXPECT_EQ(g.Read(Pool(g.t, g.Both(x, 40, {kN, kD}), 33), 33), Words(want, 33));
}

}  // namespace
}  // namespace suf::nn
