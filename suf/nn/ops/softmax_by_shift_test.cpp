// Softmax with a predicted shift.
#include <cmath>

#include "suf/gates/function.hpp"
#include "suf/nn/ops/rig_test.hpp"
#include "suf/nn/ops/softmax.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {
namespace {

// Returns a table of 5 entries, the last of which fills places up to 6, in a window of 2^index places.
Softmax MakeShift(int64_t heads, bool causal, int shift, int index, bool own) {
  Softmax s;
  s.by = Softmax::kShift;
  s.causal = causal;
  s.ring = 17;
  s.shift = shift;
  SoftmaxByShift& f = s.shifted;
  f.index = index;
  f.table = {1, 3, 9, 40, 200};
  f.end = std::min<int64_t>(7, int64_t{1} << index);
  f.peak = 6;
  f.read.stages = compiler::Stages::kTwo;
  f.score_up = own ? 4 : 0;
  f.shift_up = f.score_up + 1;
  for (int64_t h = 0; h < heads; ++h) {
    s.offset.push_back((h * 29 % 8) << shift);
    if (own) s.own.insert(s.own.end(), {h % 3 * 5 - 7, h % 2 ? 0 : 16});
  }
  return s;
}

// Returns e, computed by hand, for scores (heads, n, n) and shifts (n, heads).
Ints Meant(const Softmax& s, int64_t n, const Ints& score, const Ints& shifts) {
  Ints y;
  const SoftmaxByShift& f = s.shifted;
  const int64_t heads = int64_t(s.offset.size()), four = s.own.empty() ? 0 : 4;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        auto at = [&](int64_t k) { return __int128(score[size_t((h * n + i) * n + k)]) << (f.score_up - four); };
        __int128 z = s.offset[size_t(h)] - (__int128(shifts[size_t(i * heads + h)]) << f.shift_up);
        z += at(j) << four;
        if (four) z -= s.own[size_t(2 * h)] * at(i) + s.own[size_t(2 * h + 1)] * at(std::max<int64_t>(i - 1, 0));
        const uint64_t place = (uint64_t(z) & ring::Mask(s.window())) >> s.shift;
        const bool there = (!s.causal || j <= i) && place < uint64_t(f.end);
        y.push_back(there ? f.table[std::min<size_t>(place, f.table.size() - 1)] : 0);
      }
  return y;
}

std::vector<Given> Inputs(const Softmax& s, int64_t n, const Ints& score, const Ints& shifts, int wider = 0) {
  const int64_t heads = int64_t(s.offset.size());
  Given x{{{heads, n, n}, score}, s.Need(0, {}) + wider, OperandForm::kOpen};
  if (s.causal) {
    x.wire.shape = {heads, n * (n + 1) / 2};
    for (int64_t i = 0; i < heads * n * n; ++i)
      if (i % n <= i / n % n) x.wire.at.push_back(score[size_t(i)]);
  }
  return {x, {{{n, heads}, shifts}, s.Need(1, {}) + wider, OperandForm::kOpen}};
}

Ints Signed(size_t count, int bits, uint64_t seed) { return Numbers(count, (int64_t{1} << (bits - 1)) - 1, seed); }

// Every score at every mask, in a window of 5 bits: 32 times as many scores as there are pairs of both.
TEST(PredictedShift, Exhaustive) {
  for (auto [stages, openings] : {std::pair{compiler::Stages::kOne, compiler::Openings::kWide},
                                  {compiler::Stages::kTwo, compiler::Openings::kWide},
                                  {compiler::Stages::kOne, compiler::Openings::kNarrow},
                                  {compiler::Stages::kTwo, compiler::Openings::kNarrow}}) {
    const int64_t heads = 32 * 32 * 32;
    Softmax s = MakeShift(heads, false, 2, 3, false);
    s.shifted.read.stages = stages;
    s.shifted.read.openings = openings;
    Ints score, shifts(size_t(heads), 0);
    for (int64_t h = 0; h < heads; ++h) score.push_back(h % 32 - 16);
    OpRig rig(1);
    EXPECT_EQ(rig.Run(s, Inputs(s, 1, score, shifts)), Meant(s, 1, score, shifts));
  }
}

// Every form, with and without a row's own scores, and also a single token.
TEST(PredictedShift, EveryShape) {
  for (bool causal : {false, true})
    for (bool own : {false, true})
      for (OperandForm form : kForms)
        for (int64_t n : {1, 2, 5}) {
          const int64_t heads = 6;
          Softmax s = MakeShift(heads, causal, 5, 4, own);
          s.form = form;
          const Ints score = Signed(size_t(heads * n * n), s.Need(0, {}), uint64_t(n)),
                     shifts = Signed(size_t(heads * n), s.Need(1, {}), 9);
          OpRig rig{int(n)};
          EXPECT_EQ(rig.Run(s, Inputs(s, n, score, shifts)), Meant(s, n, score, shifts));
          EXPECT_EQ(rig.ring, 17);
          const int64_t pairs = causal ? n * (n + 1) / 2 : n * n;
          EXPECT_EQ(rig.key_bits(score.size()),
                    heads * pairs * s.shifted.Read(s, s.ring).KeyBits(form != OperandForm::kOpen));
        }
}

// Coefficients that are all 0, of one kind or both, change nothing. Without any coefficients the scale is coarser.
TEST(PredictedShift, CoefficientsOfZero) {
  const int64_t heads = 4, n = 3;
  for (int kind : {0, 1, 2}) {
    Softmax s = MakeShift(heads, true, 5, 4, true);
    for (size_t i = 0; i < s.own.size(); ++i)
      if (kind == 2 || int(i % 2) == kind) s.own[i] = 0;
    const Ints score = Signed(size_t(heads * n * n), s.Need(0, {}), 3),
               shifts = Signed(size_t(heads * n), s.Need(1, {}), 4);
    OpRig rig(n);
    EXPECT_EQ(rig.Run(s, Inputs(s, n, score, shifts)), Meant(s, n, score, shifts));
  }
}

// Bits with window sums, carry, e. In one stage the carry's monomials are words.
TEST(PredictedShift, Flights) {
  for (bool causal : {false, true})
    for (bool own : {false, true})
      for (auto [stages, flights] : {std::pair{compiler::Stages::kOne, 2}, {compiler::Stages::kTwo, 3}})
        for (OperandForm form : kForms) {
          Softmax s = MakeShift(1, causal, 3, 4, own);
          s.form = form;
          s.shifted.read.stages = stages;
          EXPECT_EQ(FlightsOf(2, [&](OpRig* rig) { rig->Run(s, Inputs(s, 2, {1, 2, 3, 4}, {5, 6})); }), flights);
        }
}

// Scores of un-truncated queries and keys: a slice of 40 bits below a place, with tables and trees.
TEST(PredictedShift, WideRings) {
  for (int shift : {24, 32, 41})
    for (int index : {10, 11, 13})
      for (bool causal : {false, true})
        for (int wider : {0, 2}) {
          Softmax s = MakeShift(2, causal, shift, index, true);
          s.shifted.shift_up = 17;
          s.shifted.end = (1 << index) - 300;
          s.shifted.peak = 1 << index;
          s.shifted.table.clear();
          for (int64_t v = 0; v < 600; ++v) s.shifted.table.push_back(1 + v * v);
          s.ring = 40;
          const int64_t n = 5;
          const Ints score = Signed(size_t(2 * n * n), s.Need(0, {}), uint64_t(shift)),
                     shifts = Signed(size_t(2 * n), s.Need(1, {}), 4);
          OpRig rig{int(n)};
          EXPECT_EQ(rig.Run(s, Inputs(s, n, score, shifts, wider)), Meant(s, n, score, shifts));
        }
}

// A table that fills its window.
TEST(PredictedShift, WholeWindow) {
  for (int index : {3, 11}) {
    Softmax s = MakeShift(32, false, 2, index, false);
    s.shifted.end = int64_t{1} << index;
    const Ints score = Signed(32 * 16, s.window(), 1), shifts(32 * 4, 0);
    OpRig rig(4);
    EXPECT_EQ(rig.Run(s, Inputs(s, 4, score, shifts)), Meant(s, 4, score, shifts));
  }
}

// Calibration must see places about the end of the table, and a row beyond the peak by its head.
TEST(PredictedShift, TellsItsWatch) {
  Softmax s = MakeShift(2, true, 2, 4, false);
  s.offset = {0, 4};
  s.shifted.peak = 4;
  OpRig rig(2);
  rig.Spec(s, {{{{2, 2, 2}, {4, 99, 8, 12, 15, 99, 28, 11}}}, {{{2, 2}, {0, 0, 0, 0}}}});
  EXPECT_EQ(rig.witness.seen.at("score"), (Ints{4 + 4, 8 + 4, 12 + 4, 19 + 4, 32 + 4, 15 + 4}));
  EXPECT_EQ(rig.witness.left, (std::vector<Witness::Left>{{"head 1 row 0", 4, 4}}));  // row 1 has wrapped
}

TEST(PredictedShift, FloatAndSee) {
  Softmax s;
  s.head_dim = 4;
  s.by = Softmax::kShift;
  Checkpoint w;
  const RealArray z{{1, 2, 2}, {1, 3, 6, 2}}, c{{2, 1}, {1, 4}};
  Seen seen;
  RealArray y = FloatOf(s, 2, w, {z, c}, {}, &seen);
  EXPECT_EQ(y.at, (Reals{1, std::exp(1), std::exp(1), std::exp(-1)}));
  EXPECT_EQ(seen.at("shifted")[0].low, -2);
  EXPECT_EQ(seen.at("shifted")[0].high, 2);
  s.own = {8, 16};  // half of 1, and of 2, 1 and 6
  s.causal = true;
  seen.clear();
  y = FloatOf(s, 2, w, {z, c}, {}, &seen);
  EXPECT_EQ(y.at, (Reals{std::exp(-0.75), 0, std::exp(-2.5), std::exp(-4.5)}));
  EXPECT_EQ(seen.at("shifted")[0].low, -9);
  EXPECT_EQ(seen.at("shifted")[0].high, -1.5);
  const RealArray far{{1, 2, 2}, {1e9, 0, -1e9, -1e9}};
  y = FloatOf(s, 2, w, {far, c});
  EXPECT_TRUE(std::isfinite(y.at[0] * 1e6)) << y.at[0];
}

Softmax Chosen(Edges in, std::vector<SeenRange> shifted, Ints own = {}, int slice = 4, int64_t head_dim = 4) {
  const Seen seen{{"shifted", shifted}};
  Options o;
  o.softmax = Options::kShift;
  o.Set("shift_slice", slice);
  Softmax s;
  s.by = Softmax::kShift;
  s.head_dim = head_dim;
  s.own = own;
  Facts f{o};
  f.n = 12;
  f.seen = &seen;
  s.Choose(f, in);
  return s;
}

TEST(PredictedShift, Choose) {
  const Softmax s = Chosen({EdgeOf(16, 0, 2), EdgeOf(24, 0, 2)}, {{-30, 2}, {-45, 1}});
  const SoftmaxByShift& f = s.shifted;
  EXPECT_EQ(s.scale, 18);  // exp_shift
  EXPECT_EQ(f.score_up, 8);
  EXPECT_EQ(f.shift_up, 0);
  EXPECT_EQ(s.shift, 20);  // 24 to shift_slice
  // 32 places a nat: from -19 log 2 nats on, to 2 log 2
  const int64_t zero = 421;
  EXPECT_EQ(s.offset, (Ints{zero << 20, zero << 20}));
  EXPECT_EQ(f.table.size(), size_t(zero + 45));
  EXPECT_EQ(f.table.front(), 1);
  EXPECT_EQ(f.table.back(), (1 << 20) - 1);
  for (size_t i = 0; i + 1 < f.table.size(); ++i)
    EXPECT_EQ(f.table[i], std::llround(0x1p18 * std::exp((double(i) + 0.5 - zero) / 32)));
  EXPECT_EQ(f.end, int64_t(f.table.size()) + 20 * 32);
  EXPECT_EQ(f.peak, int64_t(f.table.size()) + 32);
  EXPECT_EQ(f.index, 11);  // 45 + 40 units below zero are 939 places below the table, which ends at 1106
  EXPECT_EQ(s.Need(0, {}), 23);
  EXPECT_EQ(s.Need(1, {}), 31);
  EXPECT_TRUE(s.Uses(1));
  const Softmax own = Chosen({EdgeOf(16, 0, 2), EdgeOf(24, 0, 2)}, {{-30, 2}, {-50, 100}}, {0, 0, 16, 0}, 3);
  EXPECT_EQ(own.shifted.score_up, 12);
  EXPECT_EQ(own.shifted.shift_up, 4);
  EXPECT_EQ(own.shift, 25);
  EXPECT_EQ(own.Need(0, {}), own.window() - 8);  // a whole score with itself
  EXPECT_EQ(own.shifted.end, 211 + 800 + 320);   // 20 nats above the largest
  Softmax maximum;
  EXPECT_FALSE(maximum.Uses(1));
  EXPECT_TRUE(maximum.Uses(0));
  ExpectRefused([] { Chosen({EdgeOf(4, 0, 1), EdgeOf(4, 0, 1)}, {{0, 1}}); }, "leaves no bits below the slice");
  ExpectRefused(
      [] {
        Chosen({EdgeOf(16, 0, 1), EdgeOf(4, 0, 1)}, {{-4096, 1}});
      },
      "the limit is 2^16; lower `shift_slice`");
}

// Compares softmax in both forms with real numbers, while the predicted shift is off by up to two nats. A common factor
// of a row may be wrong by a piece of 1 / row sum. The direction has an error of half a place.
TEST(PredictedShift, IsTheSoftmax) {
  const int64_t n = 24, heads = 3, head_dim = 16;
  const double unit = 4, score_scale = 0x1p16;
  Softmax s = Chosen({EdgeOf(16, 0, heads), EdgeOf(20, 0, heads)}, std::vector<SeenRange>(3, {-40, 8}),
                     {0, 0, 8, 0, 4, 12}, 4, head_dim);
  s.ring = 60;
  const Reals real = RealNumbers(size_t(heads * n * n), 5), off = RealNumbers(size_t(heads * n), 6);
  Ints score, shifts(size_t(heads * n));
  for (double x : real) score.push_back(std::llround(3 * x * score_scale));
  auto at = [&](int64_t h, int64_t i, int64_t j) { return double(score[size_t((h * n + i) * n + j)]) / score_scale; };
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += std::exp(at(h, i, j) / unit);
      const double own = double(s.own[size_t(2 * h)]) / 16 * at(h, i, i) +
                         double(s.own[size_t(2 * h + 1)]) / 16 * at(h, i, std::max<int64_t>(0, i - 1));
      shifts[size_t(i * heads + h)] =
          std::llround((unit * (std::log(sum) + off[size_t(h * n + i)] / 2) - own) * 0x1p20);
    }
  OpRig rig{int(n)};
  const IntArray e = rig.Spec(s, {{{{heads, n, n}, score}}, {{{n, heads}, shifts}}});
  EXPECT_TRUE(rig.witness.left.empty());
  for (int64_t i = 0; i < heads * n; ++i) {
    double sum = 0, got = 0;
    for (int64_t j = 0; j < n; ++j) {
      sum += std::exp(at(i / n, i % n, j) / unit);
      got += double(e.at[size_t(i * n + j)]);
    }
    for (int64_t j = 0; j < n; ++j)
      ASSERT_NEAR(double(e.at[size_t(i * n + j)]) / got, std::exp(at(i / n, i % n, j) / unit) / sum, 0.004) << i;
  }
}

// Every score in a row of two. Checks entries, and the row sum on which the weighted sum relies.
TEST(PredictedShift, BoundIsSound) {
  const int64_t heads = 32 * 32;
  Softmax s = MakeShift(heads, false, 2, 3, false);
  s.ring = 40;
  Ints z;
  for (int64_t a = 0; a < 32; ++a)
    for (int64_t b = 0; b < 32; ++b) {
      z.push_back(a - 16);
      z.push_back(b - 16);
      z.push_back(0);
      z.push_back(0);
    }
  const Bounded b = BoundOf(s, 2, {EdgeOf(4, 5, heads), EdgeOf(4, 5, heads)});
  OpRig rig(2);
  const IntArray y = rig.Spec(s, {{{{heads, 2, 2}, z}}, {{{2, heads}, Ints(size_t(2 * heads), 0)}}});
  const auto [least, most, sum] = OfPairs(y);
  ASSERT_GE(least, 0);
  EXPECT_EQ(most, b.reach.each.at(0));  // both are reached
  EXPECT_EQ(sum, b.reach.length);
  EXPECT_EQ(b.reach.row, 0);  // a row may be of zeros
  EXPECT_EQ(b.widths.at("score").bits, s.window() - 1);
  EXPECT_TRUE(b.widths.at("score").calibrated);
}

TEST(PredictedShift, Fields) {
  Softmax s = Chosen({EdgeOf(16, 0, 2), EdgeOf(24, 0, 2)}, {{-30, 2}, {-50, 1}}, {0, 0, -3, 16});
  s.ring = 30;
  ExpectFields(s);
  Recorder r;
  s.Fields(r);
  EXPECT_EQ(r.items.at(0), (std::pair<std::string, std::string>{"form", "shift"}));
  r.items.at(0).second = "mean";
  r.reading = true;
  ExpectRefused([&] { s.Fields(r); }, "the plan has a softmax of the form mean, which this program does not know");
}

TEST(PredictedShift, CheckFaults) {
  using F = Fault<Softmax>;
  const char *one = "there is not one shift a row and head", *scale = "its inputs do not come to one scale",
             *narrow = "an input's ring is narrower than its window",
             *end = "the table of the exponential does not end in its window",
             *entry = "an entry of the exponential is negative or exceeds its ring";
  Softmax s = MakeShift(2, false, 5, 4, true);
  ExpectChecked<Softmax>(
      s, {EdgeOf(8, s.Need(0, {}), 2), EdgeOf(7, s.Need(1, {}), 2)}, 7,
      {F{[](Softmax& x, Edges&) { x.own.pop_back(); }, "there are not two coefficients a head"},
       F{[](Softmax&, Edges& e) { e.pop_back(); }, one}, F{[](Softmax&, Edges& e) { e[1].dim = 1; }, one},
       F{[](Softmax&, Edges& e) { e[1].one_row = true; }, one},
       F{[](Softmax& x, Edges&) { x.shift = 58; }, "its window is not below 62 bits"},
       F{[](Softmax&, Edges& e) { e[1].scale = 6; }, scale},
       F{[](Softmax& x, Edges&) {
           x.shifted.score_up = 3;
           x.shifted.shift_up = 4;
         },
         scale},
       F{[](Softmax&, Edges& e) { --e[0].ring; }, narrow}, F{[](Softmax&, Edges& e) { --e[1].ring; }, narrow},
       F{[](Softmax& x, Edges&) { x.offset.pop_back(); }, "there is not one offset a head"},
       F{[](Softmax& x, Edges&) { x.offset[1] = -(int64_t{1} << 17); },
         "an offset is far outside the ring of the scores"},
       F{[](Softmax& x, Edges&) { x.shifted.end = 17; }, end}, F{[](Softmax& x, Edges&) { x.shifted.end = 4; }, end},
       F{[](Softmax& x, Edges&) {
           x.shifted.index = 16;
           x.shifted.end = 1 << 16;
         },
         narrow},
       F{[](Softmax& x, Edges&) { x.shifted.table[1] = -1; }, entry},
       F{[](Softmax& x, Edges&) { x.ring = 7; }, entry}});
}

}  // namespace
}  // namespace suf::nn
