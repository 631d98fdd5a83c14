#include "suf/nn/ops/softmax.hpp"

#include <cmath>

#include "suf/gates/function.hpp"
#include "suf/gates/maximum.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

// Returns a softmax with scores of 7 bits, levels of 3 and digits of 2.
Softmax MakeSoftmax(int64_t heads, bool causal, int ring, int shift = 2) {
  Softmax s;
  s.causal = causal;
  s.ring = ring;
  s.shift = shift;
  SoftmaxByMaximum& m = s.maximum;
  m.low = 2;
  m.level = 3;
  m.floor = 2;
  m.count_bits = 3;
  m.low_table = {40, 31, 24, 19};
  m.high_table = {64, 24, 9, 3, 1, 1, 0, 0};
  for (int64_t h = 0; h < heads; ++h) s.offset.push_back((h * 29) << (shift - 2));
  return s;
}

// Returns e, computed by hand, with 0 for later positions.
Ints Meant(const Softmax& s, int64_t heads, int64_t n, const Ints& z) {
  Ints y;
  const SoftmaxByMaximum& m = s.maximum;
  const uint64_t mask = (uint64_t{1} << s.window()) - 1;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < n; ++i) {
      const int64_t count = s.causal ? i + 1 : n;
      auto place = [&](int64_t j) {
        return ((uint64_t(z[size_t((h * n + i) * n + j)] + s.offset[size_t(h)]) + (uint64_t{1} << (s.shift - 1))) &
                mask) >>
               s.shift;
      };
      uint64_t most = uint64_t(m.floor);
      for (int64_t j = 0; j < count; ++j) most = std::max(most, place(j) >> m.low);
      for (int64_t j = 0; j < n; ++j)
        y.push_back(
            j < count ? m.high_table[most - (place(j) >> m.low)] * m.low_table[place(j) % (uint64_t{1} << m.low)] : 0);
    }
  return y;
}

Given Input(const Softmax& s, int64_t heads, int64_t n, const Ints& z, int ring) {
  Given x{{{heads, n, n}, z}, ring, OperandForm::kOpen};
  if (!s.causal) return x;
  x.wire.shape = {heads, n * (n + 1) / 2};
  for (int64_t i = 0; i < heads * n * n; ++i)
    if (i % n <= i / n % n) x.wire.at.push_back(z[size_t(i)]);
  return x;
}

// Every score in every place and every form, and also a single token.
TEST(Softmax, Exhaustive) {
  for (bool causal : {false, true})
    for (OperandForm form : kForms)
      for (int64_t n : {1, 2, 4}) {
        const int64_t heads = 32;
        Softmax s = MakeSoftmax(heads, causal, 15);
        s.form = form;
        Ints z = gates::Range(-64, 64, 4);
        for (size_t i = 0; i < z.size(); ++i) std::swap(z[i], z[(i * 7919 + 13) % z.size()]);
        z.resize(size_t(heads * n * n));
        OpRig rig{int(n)};
        EXPECT_EQ(rig.Run(s, {Input(s, heads, n, z, 7)}), Meant(s, heads, n, z));
        EXPECT_EQ(rig.ring, 15);
        const int64_t pairs = causal ? n * (n + 1) / 2 : n * n;
        const std::vector<compiler::Cut> cuts{{2, 2}, {4, 3}};
        const int64_t digits =
            compiler::DigitsKeyBits(compiler::PlanDigits(cuts, compiler::Stages::kOne), cuts, compiler::Stages::kOne);
        const gates::Maximum maximum{s.maximum.floor, s.maximum.count_bits, causal};
        const gates::SplitGate exp = s.maximum.Pair(s.ring);
        const int64_t owed = form == OperandForm::kOpen ? s.ring : 0;
        EXPECT_EQ(rig.key_bits(z.size()), heads * (pairs * (digits + exp.KeyBits() - owed) +
                                                   maximum.KeyBits(s.maximum.level, n) * (causal ? 1 : n)));
      }
}

// Bits and both digits, counts, maximum, table, product.
TEST(Softmax, Flights) {
  for (bool causal : {false, true})
    for (OperandForm form : kForms) {
      Softmax s = MakeSoftmax(1, causal, 15);
      s.form = form;
      EXPECT_EQ(FlightsOf(2, [&](OpRig* rig) { rig->Run(s, {Input(s, 1, 2, {1, 2, 3, 4}, 7)}); }), 6);
    }
}

TEST(Softmax, WideRings) {
  for (int window : {31, 32, 33, 47, 61})
    for (bool causal : {false, true})
      for (int wider : {0, 3}) {
        Softmax s = MakeSoftmax(2, causal, 62, window - 5);
        const int64_t n = 5;
        const Ints z = Numbers(size_t(2 * n * n), int64_t{1} << (window - 1), uint64_t(window));
        OpRig rig{int(n)};
        EXPECT_EQ(rig.Run(s, {Input(s, 2, n, z, window + wider)}), Meant(s, 2, n, z));
      }
}

// Calibration must see scores about the window's middle, and row maxima under the floor.
TEST(Softmax, TellsItsWatch) {
  Softmax s = MakeSoftmax(1, true, 15);
  OpRig rig(2);
  rig.Spec(s, {{{{1, 2, 2}, {16, 99, 40, 20}}, 7}});
  EXPECT_EQ(rig.witness.seen.at("score"), (Ints{16 - 64, 40 - 64, 20 - 64}));
  EXPECT_EQ(rig.witness.left, (std::vector<Witness::Left>{{"row_max", 1, 2}}));
}

TEST(Softmax, FloatAndSee) {
  Softmax s;
  s.head_dim = 4;
  Checkpoint w;
  const RealArray z{{1, 2, 2}, {1, 3, 6, 2}};
  Seen seen;
  const RealArray y = FloatOf(s, 2, w, {z}, {}, &seen);
  EXPECT_EQ(y.at, (Reals{std::exp(-1), 1, 1, std::exp(-2)}));
  EXPECT_EQ(seen.at("score")[0].low, 1);
  EXPECT_EQ(seen.at("score")[0].high, 6);
  EXPECT_EQ(seen.at("row_max")[0].low, 3);
  EXPECT_EQ(seen.at("row_max")[0].high, 6);
  s.causal = true;
  seen.clear();
  EXPECT_EQ(FloatOf(s, 2, w, {z}, {}, &seen).at, (Reals{1, 0, 1, std::exp(-2)}));
  EXPECT_EQ(seen.at("row_max")[0].low, 1);
  const RealArray two{{2, 1, 1}, {-5, 7}};
  seen.clear();
  FloatOf(s, 1, w, {two}, {}, &seen);
  EXPECT_EQ(seen.at("score")[0].high, -5);
  EXPECT_EQ(seen.at("score")[1].low, 7);
}

Softmax ChosenSoftmax(int scale, std::vector<SeenRange> score, std::vector<SeenRange> row_max, int64_t head_dim = 4) {
  const Seen seen{{"score", score}, {"row_max", row_max}};
  const Options o;
  Softmax s;
  s.head_dim = head_dim;
  Facts f{o};
  f.n = 12;
  f.seen = &seen;
  s.Choose(f, {EdgeOf(scale, 0, int64_t(score.size()))});
  return s;
}

// Two heads, each with a window of 32 places for its scores and 0.6 of the spare range under them.
TEST(Softmax, Choose) {
  const Softmax s = ChosenSoftmax(16, {{-4, 16}, {0, 10}}, {{2, 16}, {9, 10}});
  const SoftmaxByMaximum& m = s.maximum;
  EXPECT_EQ(s.scale, 18);  // exp_high and exp_low
  EXPECT_EQ(s.shift, 12);  // 16 to slice
  EXPECT_EQ(m.level, 4);   // 32 in steps of 2, about sqrt(2 head_dim)
  EXPECT_EQ(m.low, 5);     // a step's bits and slice
  EXPECT_EQ(s.Need(0, {}), 21);
  EXPECT_EQ(m.count_bits, 4);
  EXPECT_EQ(s.offset, (Ints{6 << 17, 7 << 17}));  // -4 - 7.2 and 0 - 13.2 are in steps -6 and -7
  EXPECT_EQ(m.floor, 6);                          // a row maximum of 2 lies at level 7
  ASSERT_EQ(m.high_table.size(), 16u);
  ASSERT_EQ(m.low_table.size(), 32u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(m.high_table[i], std::llround(4096 * std::exp(-double(i))));
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(m.low_table[i], std::llround(64 * std::exp(double(i) / 32)));
  const char* words = "the scores of the calibration span ";
  ExpectRefused([] { ChosenSoftmax(4, {{0, 10}}, {{0, 10}}); }, words);
  ExpectRefused([] { ChosenSoftmax(16, {{0, 0x1p14}}, {{0, 10}}); }, "the limit is 2^10; lower `slice`");
  ExpectRefused([] { ChosenSoftmax(4, {{0, 0x1p30}}, {{0, 10}}); }, "; check the weights of queries and keys");
}

// Every pair of scores in a row of two. Checks entries, and the row sum on which the weighted sum relies.
TEST(Softmax, BoundIsSound) {
  const int64_t heads = 128 * 64;
  Softmax s = MakeSoftmax(heads, false, 40);
  s.offset.assign(size_t(heads), 11);
  Ints z;
  for (int64_t a = 0; a < 128; ++a)
    for (int64_t b = 0; b < 128; ++b) {
      z.push_back(a - 64);
      z.push_back(b - 64);
    }
  const Bounded b = BoundOf(s, 2, {EdgeOf(4, 7, heads)});
  OpRig rig(2);
  const IntArray y = rig.Spec(s, {{{{heads, 2, 2}, z}}});
  const auto [least, most, sum] = OfPairs(y);
  ASSERT_GE(least, 0);
  EXPECT_EQ(most, b.reach.each.at(0));  // both are reached
  EXPECT_EQ(sum, b.reach.length);
  EXPECT_EQ(b.widths.at("score").bits, s.window() - 1);
  EXPECT_TRUE(b.widths.at("score").calibrated);
}

TEST(Softmax, Fields) {
  Softmax s = ChosenSoftmax(16, {{-4, 16}, {0, 10}}, {{2, 16}, {9, 10}});
  s.ring = 30;
  ExpectFields(s);
  s.causal = true;
  ExpectFields(s);
}

TEST(Softmax, CheckFaults) {
  using F = Fault<Softmax>;
  const char* table = "a table of the exponential has another size than its digit";
  const char *negative = "an entry of the exponential is negative",
             *narrow = "its input's ring is narrower than its shift, low digit and level, or these are 62 bits or more";
  ExpectChecked<Softmax>(MakeSoftmax(2, false, 15), {EdgeOf(4, 7, 2)}, 7,
                         {F{[](Softmax&, Edges& e) { e[0].ring = 6; }, narrow},
                          F{[](Softmax& x, Edges& e) {
                              x.shift = 57;
                              e[0].ring = 62;
                            },
                            narrow},
                          F{[](Softmax&, Edges& e) { e[0].dim = 3; }, "there is not one offset a head"},
                          F{[](Softmax& x, Edges&) { x.offset[1] = -(int64_t{1} << 15); },
                            "an offset is far outside the ring of the scores"},
                          F{[](Softmax& x, Edges&) { x.maximum.low_table.push_back(0); }, table},
                          F{[](Softmax& x, Edges&) { x.maximum.high_table.pop_back(); }, table},
                          F{[](Softmax& x, Edges&) { x.maximum.low_table[1] = -1; }, negative},
                          F{[](Softmax& x, Edges&) { x.maximum.high_table[1] = -1; }, negative},
                          F{[](Softmax& x, Edges&) { x.maximum.floor = 7; }, "its floor leaves no level above it"},
                          F{[](Softmax& x, Edges&) { x.maximum.count_bits = 2; },
                            "the modulus of the counts does not exceed the number of tokens"}});
}

}  // namespace
}  // namespace suf::nn
