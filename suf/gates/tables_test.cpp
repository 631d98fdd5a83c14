#include "suf/gates/tables.hpp"

#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
int Bits(const Ints& v) {
  int64_t most = 0;
  for (int64_t x : v) most = std::max(most, std::abs(x));
  int bits = 2;
  while (most >> (bits - 2)) ++bits;
  return bits;
}

Activation MakeGelu(const func::Lines& l, const func::Suf& f, int shift, int ring, Stages stages) {
  Ints whole = l.offset;
  for (size_t i = 0; i < whole.size(); ++i) whole[i] = std::abs(l.offset[i]) + (std::abs(l.rise[i]) << (l.a + 1));
  return {{f, shift, Bits(whole), Bits(l.rise), ring, stages}};
}

TEST(Activation, ExhaustiveGelu) {
  for (Stages stages : {Stages::kOne, Stages::kTwo})
    for (int shift : {1, 3})
      for (int ring : {20, 32, 33, 64}) {
        auto fit = func::FitLines(Gelu, 2, 5, 4, 4);  // x of 7 bits at scale 4: [-4, 4)
        func::Suf f = func::ToSuf(fit.f, "gelu", 64);
        Activation gate = MakeGelu(fit.f, f, shift, ring, stages);
        int k = 7 + shift;
        Rig g;
        Ints z = Range(-(1 << (k - 1)), 1 << (k - 1), 4);
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, k))), gate.Spec(z, k)) << shift << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(k));
        // give, bits, [carry,] pieces, U and V, and P0's share of the result
        EXPECT_EQ(g.flights(), stages == Stages::kOne ? 4 : 6);
        EXPECT_EQ(g.sent("U"), 2 * int64_t(z.size()) * gate.lut.u);
      }
}

TEST(Activation, MeansTheFunction) {
  auto fit = func::FitLines(Gelu, 5, 7, 9, 7);
  func::Suf f = func::ToSuf(fit.f, "gelu", 64);
  Activation gate = MakeGelu(fit.f, f, 4, 40, Stages::kOne);
  EXPECT_LT(fit.error, 1e-3);
  Ints z = Some(-(1 << 15), (1 << 15) - 9, 1000);
  Ints y = gate.Spec(z, 16);
  for (size_t i = 0; i < z.size(); ++i)
    EXPECT_NEAR(std::ldexp(double(y[i]), -16), Gelu(std::ldexp(std::floor((double(z[i]) + 8) / 16), -9)),
                fit.error + 1e-12);
}

TEST(ExpPair, Exhaustive) {
  for (int ring : {14, 31, 32, 33, 64}) {
    ExpPair gate;
    gate.hi = func::FitTable([](double i) { return std::exp(-i * 0.7); }, 4, 7).f;
    gate.lo = func::FitTable([](double i) { return std::exp(i * 0.08); }, 3, 5).f;
    gate.hi_bits = Bits(gate.hi), gate.lo_bits = Bits(gate.lo), gate.ring = ring;
    Rig g;
    Ints i, j;
    for (int c = 0; c < 8; ++c)
      for (int a = 0; a < 16; ++a)
        for (int b = 0; b < 8; ++b) i.push_back(a), j.push_back(b);
    SharedWire<kPub> wi = g.Give(i, 4);
    SharedWire<kPub> wj = g.Give(j, 3);
    EXPECT_EQ(g.Run(gate.Build(g.t, wi, wj)), gate.Spec(i, j)) << ring;
    EXPECT_EQ(g.key_bits(), int64_t(i.size()) * gate.KeyBits());
    EXPECT_EQ(g.flights(), 2);
  }
}

TEST(RowFunction, ExhaustiveOnTables) {
  for (int hi : {6, 7, 8})
    for (int span : {1, 3, 8})
      for (int ring : {20, 32, 33, 64}) {
        auto fit = func::FitOctaves([](double v) { return 4096 / v; }, 2, hi, 2, span);
        RowFunction gate{fit.f, ring};
        Rig g;
        Ints x = Range(0, 256, 8);
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 8))), gate.Spec(x, 8)) << hi << " " << span << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(x.size()) * (gate.KeyBits(8) + ring));
        EXPECT_EQ(g.flights(), 2);
      }
}

// Pieces of width one only: no borrow is read.
TEST(RowFunction, DenseTable) {
  auto fit = func::FitOctaves([](double v) { return 1000 / std::sqrt(v); }, 5, 8, 8, 3);
  RowFunction gate{fit.f, 16};
  ASSERT_EQ(gate.groups.size(), 1u);
  Rig g;
  Ints x = Range(0, 256, 8);
  EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 8))), gate.Spec(x, 8));
  EXPECT_EQ(g.key_bits(), int64_t(x.size()) * (gate.KeyBits(8) + 16));
}

TEST(RowFunction, TreesAndCoarsePieces) {
  for (int k : {11, 12, 31, 32, 33, 45, 60}) {
    int hi = k - 1, lo = std::max(1, k - 13);
    auto fine = func::FitOctaves([&](double v) { return std::ldexp(1, k + 4) / v; }, lo, hi, 4, 4);
    RowFunction gate{fine.f, std::min(64, k + 6)};
    Rig g;
    Ints x = Some(0, (int64_t{1} << hi) - 1, 100, uint64_t(k));
    for (auto& group : gate.groups)
      for (int64_t at : {group.lo << group.w, group.hi << group.w})
        for (int64_t d = -2; d <= 2; ++d) x.push_back(std::max<int64_t>(0, at + d));
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k))), gate.Spec(x, k)) << k;
    EXPECT_EQ(g.key_bits(), int64_t(x.size()) * (gate.KeyBits(k) + gate.ring));
  }
}

}  // namespace
}  // namespace suf::gates
