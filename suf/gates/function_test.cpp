#include "suf/gates/function.hpp"

#include <cmath>
#include <random>

#include "suf/func/fit.hpp"
#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

using compiler::Kind;
using compiler::Lowering;
using compiler::StepSource;

double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
Lowering Window(Stages s) { return {Kind::kWindowLut, StepSource::kDigits, s}; }
TEST(Function, ExhaustiveGelu) {
  for (Stages stages : kAllStages)
    for (int shift : {1, 3})
      for (int ring : {20, 32, 33, 64}) {
        auto fit = func::FitLines(Gelu, 2, 5, 4, 4);  // x of 7 bits at scale 4: [-4, 4)
        const int k = 7 + shift;
        FunctionGate gate{compiler::Compile(func::ToSuf(fit.f, "gelu", 64)), Window(stages), SignedEntry(k, shift),
                          ring};
        Rig g;
        Ints z = Range(-(1 << (k - 1)), 1 << (k - 1), 4);
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, k))), gate.Spec(z, k)) << shift << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(true));
        // give, bits, carry in two stages or more, pieces, U and V, and P0's share of the result
        EXPECT_EQ(g.flights(), stages == Stages::kOne ? 4 : 6);
      }
}

// Every lowering that applies, behind a cut in one, two and three stages.
TEST(Function, EveryLoweringBehindAShift) {
  auto fit = func::FitLines(Gelu, 4, 3, 5, 4);
  const func::Suf f = func::ToSuf(fit.f, "gelu", 40);
  const compiler::CompiledFunction c = compiler::Compile(f);
  int ran = 0;
  for (const Lowering& l : compiler::AllForNumbers())
    for (Stages stages : kAllStages) {
      if (!compiler::WhyNotNumbers(c, l).empty()) continue;
      FunctionGate gate{c, l, SignedEntry(9, 2), 33};
      gate.entry.stages = stages;
      Rig g;
      Ints z = Range(-256, 256, 2);
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, 9))), gate.Spec(z, 9)) << compiler::Name(c, l);
      EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(true)) << compiler::Name(c, l);
      ++ran;
    }
  EXPECT_GE(ran, 3 * 16);
}

TEST(Function, MeansTheFunction) {
  auto fit = func::FitLines(Gelu, 5, 7, 9, 7);
  FunctionGate gate{compiler::Compile(func::ToSuf(fit.f, "gelu", 64)), Window(Stages::kOne), SignedEntry(16, 4), 40};
  EXPECT_LT(fit.error, 1e-3);
  Ints z = Some(-(1 << 15), (1 << 15) - 9, 1000);
  Ints y = gate.Spec(z, 16);
  for (size_t i = 0; i < z.size(); ++i)
    EXPECT_NEAR(std::ldexp(double(y[i]), -16), Gelu(std::ldexp(std::floor((double(z[i]) + 8) / 16), -9)),
                fit.error + 1e-12);
}

// GELU with 2^8 pieces and a rescale by 12, from 27 bits into a ring of 32, in three and four flights to shares. Of the
// key of both parties, the table of pieces takes 32 bytes, the words 24.25, and the two cuts the rest. The owed word is
// dealt.
TEST(Function, KeyOfGeluWithItsRescale) {
  auto fit = func::FitLines(Gelu, 7, 8, 12, 5);  // x in [-4, 4)
  EXPECT_LT(fit.error, std::ldexp(1, -11));
  for (auto [stages, bytes] : {std::pair{Stages::kOne, 97.25}, {Stages::kTwo, 71.875}}) {
    FunctionGate gate{compiler::Compile(func::ToSuf(fit.f, "gelu", 64)), Window(stages), SignedEntry(27, 12), 32};
    Rig g;
    Ints z = Some(-(1 << 26), (1 << 26) - 1, 64);
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, 27))), gate.Spec(z, 27));
    EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(true));
    EXPECT_EQ(double(gate.KeyBits(true)) / 8, bytes);
    EXPECT_EQ(g.sent("U"), 2 * 22 * int64_t(z.size()));
    EXPECT_EQ(g.sent("V"), 2 * 8 * int64_t(z.size()));
  }
}

FunctionGate OnOctaves(const std::vector<func::Octave>& groups, int k, int ring) {
  return {compiler::OnOctaves("row", groups, k, ring), {Kind::kRowLut}, {}, ring};
}
// Returns all forms of RowLut. They have a tree for each width or one for all, in one to three stages, opened wide or
// narrow.
std::vector<Lowering> RowLuts() {
  std::vector<Lowering> out;
  for (const Lowering& l : compiler::AllForNumbers())
    if (l.kind == Kind::kRowLut) out.push_back(l);
  return out;
}

TEST(Function, ExhaustiveOnOctaves) {
  for (int hi : {6, 7, 8})
    for (int span : {1, 3, 8})
      for (int ring : {20, 32, 33, 64}) {
        auto fit = func::FitOctaves([](double v) { return 4096 / v; }, 2, hi, 2, span);
        FunctionGate gate = OnOctaves(fit.f, 8, ring);
        for (const Lowering& l : RowLuts()) {
          if (l.stages != Stages::kOne && ring % 32 == 0) continue;
          gate.lowering = l;
          Rig g;
          Ints x = Range(0, 256, 8);
          EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 8))), gate.Spec(x, 8)) << hi << " " << span << " " << ring;
          EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(true)) << compiler::Name(l);
          const bool cut = fit.f.back().w > 0 && l.stages != Stages::kOne;
          EXPECT_EQ(g.flights(), cut ? 4 : 2);
        }
      }
}

// With a width for each octave, as for 1/x at 32 bits, the cuts exceed one plan of digits.
TEST(Function, MoreOctavesThanDigits) {
  for (int k : {14, 32}) {
    auto fit = func::FitOctaves([&](double v) { return std::ldexp(1, k + 4) / v; }, 2, k, 1, 1);
    ASSERT_GE(fit.f.size(), 12u);
    FunctionGate gate = OnOctaves(fit.f, k, 40);
    Ints x = Some(0, (int64_t{1} << k) - 1, 60, uint64_t(k));
    for (auto& group : fit.f)
      for (int64_t at : {group.lo << group.w, group.hi << group.w})
        for (int64_t d = -2; d <= 2; ++d) x.push_back(std::clamp<int64_t>(at + d, 0, (int64_t{1} << k) - 1));
    for (const Lowering& l : RowLuts()) {
      gate.lowering = l;
      Rig g;
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k))), gate.Spec(x, k)) << k << " " << compiler::Name(l);
      EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(true)) << k << " " << compiler::Name(l);
    }
  }
}

// If all pieces have width one, no borrow is read.
TEST(Function, OctavesOfOnePlaceEach) {
  auto fit = func::FitOctaves([](double v) { return 1000 / std::sqrt(v); }, 5, 8, 8, 3);
  ASSERT_EQ(fit.f.size(), 1u);
  FunctionGate gate = OnOctaves(fit.f, 8, 16);
  Rig g;
  Ints x = Range(0, 256, 8);
  EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 8))), gate.Spec(x, 8));
  EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(true));
}

TEST(Function, TreesAndCoarsePieces) {
  for (int k : {11, 12, 31, 32, 33, 45, 60}) {
    int hi = k - 1, lo = std::max(1, k - 13);
    auto fine = func::FitOctaves([&](double v) { return std::ldexp(1, k + 4) / v; }, lo, hi, 4, 4);
    FunctionGate gate = OnOctaves(fine.f, k, std::min(64, k + 6));
    Rig g;
    Ints x = Some(0, (int64_t{1} << hi) - 1, 100, uint64_t(k));
    for (auto& group : fine.f)
      for (int64_t at : {group.lo << group.w, group.hi << group.w})
        for (int64_t d = -2; d <= 2; ++d) x.push_back(std::max<int64_t>(0, at + d));
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k))), gate.Spec(x, k)) << k;
    EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(true));
  }
}

// One tree serves five widths, with 608 key bytes of both parties instead of 1728.
TEST(Function, OneTreeForAllWidths) {
  std::vector<func::Octave> groups;
  for (int w = 15; w <= 31; w += 4) {
    func::Octave g{w, w == 15 ? 0 : 16, 256, {}};
    for (int64_t v = g.lo; v < g.hi; ++v) g.values.push_back(v * 7 + w);
    groups.push_back(g);
  }
  Rig g;
  FunctionGate gate = OnOctaves(groups, 40, 32);
  gate.lowering.steps = StepSource::kParity;
  Ints x = Some(0, (int64_t{1} << 39) - 1, 50);
  EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 40))), gate.Spec(x, 40));
  int64_t trees = 0;
  for (int p : {0, 1})
    for (auto& part : g.schedule->key(p))
      if (const auto& n = g.t.node(part.node); n.ring.kind == pfss::Ring::kXor && n.ring.bits > 1024)
        trees += n.ring.bits;
  EXPECT_EQ(trees, 8 * 608);
}

// The exponential of a softmax at scores of 50 bits without a rescale, with 2^14 entries below 2^20, into a ring of 39
// bits. For each element, narrow openings send 68 bits less and take 51 key bits more, of both parties.
TEST(Function, NarrowOpenings) {
  func::Octave all{36, 0, 1 << 14, {}};
  for (int64_t i = 0; i < all.hi; ++i)
    all.values.push_back(
        std::min<int64_t>((1 << 20) - 1, std::llround(std::ldexp(std::exp(double(i - 8192) / 512), 8))));
  ASSERT_EQ(*std::max_element(all.values.begin(), all.values.end()), (1 << 20) - 1);
  const Ints x = Some(0, (int64_t{1} << 50) - 1, 64);
  int64_t key[2], sent[2];
  for (auto openings : {compiler::Openings::kWide, compiler::Openings::kNarrow}) {
    FunctionGate gate = OnOctaves({all}, 50, 39);
    gate.lowering.stages = Stages::kTwo;
    gate.lowering.openings = openings;
    Rig g;
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 50))), gate.Spec(x, 50));
    EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(true));
    const size_t i = size_t(openings);
    key[i] = gate.KeyBits(false);
    sent[i] = g.sent("window sums") / int64_t(x.size());
    std::printf("%s: %lld bits of key, %lld sent an element\n", compiler::Name(gate.lowering).c_str(),
                (long long)key[i], (long long)sent[i]);
  }
  EXPECT_EQ(sent[0], 2 * (39 + 39));
  EXPECT_EQ(sent[1], 2 * (22 + 22));
  EXPECT_EQ(key[1] - key[0], 3 * (39 - 22));
}

TEST(Split, Exhaustive) {
  for (auto kind : {func::Split::kProduct, func::Split::kSum})
    for (int ring : {9, 14, 31, 32, 33, 64}) {
      SplitGate gate;
      gate.f = {kind, "exp", 7, ring, 3, 3, {}, {}};
      gate.ring = ring;
      for (int64_t v : func::FitTable([](double i) { return std::exp(-i * 0.7); }, 4, 7).f)
        gate.f.high.push_back(uint64_t(v));
      for (int64_t v : func::FitTable([](double i) { return std::exp(i * 0.08); }, 3, 5).f)
        gate.f.low.push_back(uint64_t(v));
      Rig g;
      Ints i, j;
      for (int c = 0; c < 8; ++c)
        for (int a = 0; a < 16; ++a)
          for (int b = 0; b < 8; ++b) {
            i.push_back(a);
            j.push_back(b);
          }
      SharedWire<kPub> wi = g.Give(i, 4);
      SharedWire<kPub> wj = g.Give(j, 3);
      EXPECT_EQ(g.Run(gate.Build(g.t, wi, wj)), gate.Spec(i, j)) << ring;
      EXPECT_EQ(g.key_bits(), int64_t(i.size()) * gate.KeyBits()) << int(kind) << " " << ring;
      EXPECT_EQ(g.flights(), 2);
    }
}

TEST(Split, TablesDealtWhole) {
  std::mt19937_64 rng(4);
  for (auto kind : {func::Split::kProduct, func::Split::kSum})
    for (int low_bits : {3, 11})
      for (int entry_bits : {9, 40}) {  // with and without a gap
        SplitGate gate;
        gate.f = {kind, "f", 11 + low_bits, 40, low_bits, low_bits, {}, {}};
        gate.ring = 40;
        for (int v = 0; v < 1 << 11; ++v) gate.f.high.push_back(rng() & ring::Mask(entry_bits));
        for (int v = 0; v < 1 << low_bits; ++v) gate.f.low.push_back(rng() & ring::Mask(entry_bits));
        Rig g;
        Ints i, j;
        for (int c = 0; c < 16; ++c) {
          i.push_back(int64_t(rng() & ring::Mask(11)));
          j.push_back(int64_t(rng() & ring::Mask(low_bits)));
        }
        SharedWire<kPub> wi = g.Give(i, 11);
        SharedWire<kPub> wj = g.Give(j, low_bits);
        EXPECT_EQ(g.Run(gate.Build(g.t, wi, wj)), gate.Spec(i, j)) << low_bits;
        EXPECT_EQ(g.key_bits(), int64_t(i.size()) * gate.KeyBits())
            << int(kind) << " " << low_bits << " " << entry_bits;
        EXPECT_EQ(g.flights(), 2);
      }
}

}  // namespace
}  // namespace suf::gates
