#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/ops/rig_test.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {
namespace {

WeightedSum Make(int heads, int serving, int64_t head_dim, int row_sum, int product, int ring) {
  WeightedSum s;
  s.heads = heads;
  s.serving = serving;
  s.head_dim = head_dim;
  s.row_sum = row_sum;
  s.product = product;
  s.ring = ring;
  s.top = row_sum;
  s.recip =
      func::FitOctaves([&](double v) { return std::ldexp(1.0, row_sum + 3) / v; }, 0, row_sum, 3, row_sum < 6 ? 8 : 2)
          .f;
  return s;
}

// Returns rows of (heads head_dim) in the order of the wire, (heads, n, head_dim).
std::function<Ints(const IntArray&)> ByHeads(int64_t heads) {
  return [heads](const IntArray& y) {
    const int64_t of = y.cols() / heads;
    Ints v;
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < y.rows(); ++i)
        for (int64_t k = 0; k < of; ++k) v.push_back(y.at[size_t((i * heads + h) * of + k)]);
    return v;
  };
}

// Returns the result, computed by hand, in the wire's order.
Ints Meant(const WeightedSum& s, int64_t n, const Ints& e, const Ints& v) {
  const func::Suf recip = func::FromGroups("recip", s.recip, s.row_sum, 64);
  Ints y;
  for (int64_t h = 0; h < s.heads; ++h)
    for (int64_t i = 0; i < n; ++i) {
      uint64_t sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += uint64_t(e[size_t((h * n + i) * n + j)]);
      const uint64_t by = func::Evaluate(recip, sum & ring::Mask(s.row_sum)).poly[0];
      for (int64_t k = 0; k < s.head_dim; ++k) {
        uint64_t mixed = 0;
        for (int64_t j = 0; j < n; ++j)
          mixed += uint64_t(e[size_t((h * n + i) * n + j)]) *
                   uint64_t(v[size_t((j * s.serving + h * s.serving / s.heads) * s.head_dim + k)]);
        y.push_back(gates::Number(mixed * by, s.ring));
      }
    }
  return y;
}

int64_t KeyBits(const WeightedSum& s, int64_t rows, int64_t values, OperandForm form) {
  const int past = std::max(0, s.ring - s.product);
  // A row has the reciprocal and its word. A value has r, twice b, and an owed word if the new mask's shares are read.
  return rows * (RowOf(s.recip, s.row_sum, s.ring, s.rows).KeyBits(true)) +
         values * (s.ring + 2 * past + (form == OperandForm::kOpen ? 0 : s.ring));
}

// Every row of two weights below 8 and every pair of values in [-4, 4], with a head for each.
TEST(WeightedSum, Exhaustive) {
  const int64_t n = 2, heads = 64 * 64 / 2;
  for (auto [form, rows] : {std::pair{OperandForm::kOpen, kRows[0]},
                            {OperandForm::kMap, kRows[1]},
                            {OperandForm::kProduct, kRows[2]},
                            {OperandForm::kOpen, kRows[3]},
                            {OperandForm::kMap, kRows[3]},
                            {OperandForm::kProduct, kRows[3]}}) {
    WeightedSum s = Make(int(heads), int(heads), 1, 4, 8, 16);
    s.form = form;
    s.rows = rows;
    Ints e, v(size_t(n * heads));
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t pair = h / 32;
      for (int64_t row = 0; row < 2; ++row) {
        e.push_back((h % 32 * 2 + row) / 8);
        e.push_back((h % 32 * 2 + row) % 8);
      }
      v[size_t(h)] = pair / 8 - 4;
      v[size_t(heads + h)] = pair % 8 - 4;
    }
    OpRig rig(n);
    rig.order = ByHeads(heads);
    EXPECT_EQ(rig.Run(s, {{{{heads, n, n}, e}, 8, OperandForm::kProduct}, {{{n, heads}, v}, 8, OperandForm::kProduct}}),
              Meant(s, n, e, v));
    EXPECT_EQ(rig.key_bits(size_t(2 * heads)), KeyBits(s, 2 * heads, 2 * heads, form));
  }
}

TEST(WeightedSum, Flights) {
  // its pieces have one place each, so two stages cut nothing
  for (OperandForm form : kForms)
    for (auto [rows, flights] : {std::pair{kRows[0], 3}, {kRows[1], 3}, {kRows[2], 3}, {kRows[3], 2}}) {
      WeightedSum s = Make(1, 1, 1, 4, 8, 16);
      s.form = form;
      s.rows = rows;
      EXPECT_EQ(FlightsOf(2,
                          [&](OpRig* rig) {
                            rig->Run(s, {{{{1, 2, 2}, {1, 2, 3, 4}}, 8, OperandForm::kProduct},
                                         {{{2, 1}, {-4, 3}}, 8, OperandForm::kProduct}});
                          }),
                flights)
          << compiler::Name(rows);
    }
}

// Grouped or not, also with one token, for inputs wider than the product.
TEST(WeightedSum, EveryShape) {
  for (int k : kWideRings)
    for (int serving : {1, 2, 4})
      for (int n : {1, 5})
        for (OperandForm form : kForms) {
          WeightedSum s = Make(4, serving, 3, 18, k, 64);
          s.form = form;
          s.rows = kRows[size_t(k + n) % 4];
          Ints e = Numbers(size_t(4 * n * n), 1 << 14, uint64_t(k));
          for (int64_t& x : e) x = std::abs(x) + 1;
          const int64_t top = int64_t{1} << (k - 2 - 18);
          const Ints v = Numbers(size_t(n * 3 * serving), top - 1, 7);
          OpRig rig(n);
          rig.order = ByHeads(4);
          EXPECT_EQ(rig.Run(s, {{{{4, n, n}, e}, k + 1, OperandForm::kProduct},
                                {{{n, 3 * serving}, v}, std::min(64, k + 2), OperandForm::kProduct}}),
                    Meant(s, n, e, v));
          EXPECT_EQ(rig.key_bits(size_t(12 * n)), KeyBits(s, 4 * n, 12 * n, form));
        }
}

TEST(WeightedSum, Float) {
  WeightedSum s;
  s.heads = 2;
  s.serving = 1;
  s.head_dim = 2;
  Checkpoint w;
  const RealArray e{{2, 2, 2}, {1, 3, 1, 1, 2, 0, 1, 4}}, v{{2, 2}, {8, 4, -4, 20}};
  const Reals want{-1, 16, 8, 4, 2, 12, -1.6, 16.8};
  const RealArray y = FloatOf(s, 2, w, {e, v});
  EXPECT_EQ(y.shape, (Shape{2, 4}));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(y.at[i], want[i]);
}

WeightedSum ChosenSum(const Edges& in, int heads, int serving, int64_t head_dim, Options o = {}) {
  WeightedSum s;
  s.heads = heads;
  s.serving = serving;
  s.head_dim = head_dim;
  s.Choose({o}, in);
  return s;
}

TEST(WeightedSum, Choose) {
  const Options o;
  const Edges in{EdgeOf(18, 0, 2, {4, 3e6, {1e6}, {}, {}}), EdgeOf(10, 0, 6, BoxOf(Reals(6, 50.0)))};
  const WeightedSum s = ChosenSum(in, 2, 2, 3);
  EXPECT_EQ(s.row_sum, 22);
  EXPECT_EQ(s.scale, 22 + 5 + 10);  // recip_bits
  EXPECT_EQ(s.Nominal(o), 14);      // result.attended
  EXPECT_EQ(s.Dim(in), 6);
  EXPECT_EQ(s.Reads(1), OperandForm::kProduct);
  EXPECT_EQ(s.recip.back().hi << s.recip.back().w, int64_t{1} << 22);
  const double one = std::ldexp(1.0, 27);
  for (const func::Octave& g : s.recip)
    for (size_t i = 0; i < g.values.size(); ++i) {
      const double x = std::ldexp(double(g.lo) + double(i) + 0.5, g.w);
      if (x < 0x1p17) continue;  // below the least sum with a row's maximum
      ASSERT_NEAR(double(g.values[i]) / (one / x), 1, 0.02);
    }
}

// With a predicted shift, the table follows the calibrated sums. It is fine from 2^-4 of the least to eight times the
// largest, and above that never above 1 / sum. A sum of 0 gives 0.
TEST(WeightedSum, ChooseBehindAShift) {
  const Options o;
  const Edges in{EdgeOf(18, 0, 2, {256, 256 * 0x1p20, {0x1p20 - 1}, {}, {}}), EdgeOf(10, 0, 6, BoxOf(Reals(6, 50.0)))};
  const Seen seen{{"row_sum", {{0.01, 1}, {0.015, 1.5}, {0.02, 1.7}, {0.03, 1e4}}}};  // entries are cut at 4
  WeightedSum s;
  s.heads = s.serving = 2;
  s.head_dim = 3;
  Facts f{o};
  f.seen = &seen;
  s.Choose(f, in);
  EXPECT_EQ(s.row_sum, 29);
  EXPECT_EQ(s.floor, 18 - 6 - 4);
  EXPECT_EQ(s.top, 18 + 1 + 3);
  EXPECT_EQ(s.scale, 22 + 1 + 5 + 10);  // one bit above the fine part, and recip_bits
  EXPECT_EQ(s.recip.back().hi << s.recip.back().w, int64_t{1} << 29);
  const double one = 0x1p28;
  for (const func::Octave& g : s.recip)
    for (size_t i = 0; i < g.values.size(); ++i) {
      const double x = std::ldexp(double(g.lo) + double(i) + 0.5, g.w),
                   last = std::ldexp(double(g.lo) + double(i) + 1, g.w);
      if (x < 0x1p8) continue;
      if (x < 0x1p22) {
        ASSERT_NEAR(double(g.values[i]) / (one / x), 1, 0.02);
      } else {
        ASSERT_LE(double(g.values[i]), one / (last - 1));
      }
    }
  const Bounded b = BoundOf(s, 256, in);
  EXPECT_LE(b.reach.most(), 50 * one * 1.02);
  auto edges = in;
  edges[0].reach.row = 0x1p17;  // with a maximum
  s.Choose(f, edges);
  EXPECT_EQ(s.floor, 0);
  EXPECT_EQ(s.top, 29);
  EXPECT_EQ(s.scale, 29 + 5 + 10);
}

TEST(WeightedSum, See) {
  WeightedSum s;
  Checkpoint w;
  Seen seen;
  FloatOf(s, 2, w, {{{2, 2, 2}, {1, 3, 0.5, 0.25, 2, 0, 1, 4}}, {{2, 2}, {8, 4, -4, 20}}}, {}, &seen);
  ASSERT_EQ(seen.at("row_sum").size(), 13u);
  EXPECT_EQ(seen.at("row_sum")[12].low, 0.75);
  EXPECT_EQ(seen.at("row_sum")[12].high, 5);
  EXPECT_EQ(seen.at("row_sum")[1].high, 3);  // entries cut at 2
}

// A row of zeros gives zeros, in real numbers and by the protocol. An observer is notified of it, and of a sum at the
// top.
TEST(WeightedSum, RowOfZeros) {
  WeightedSum s = Make(2, 2, 1, 6, 12, 24);
  s.floor = 2;
  s.top = 4;
  const Ints e{0, 0, 1, 1, 7, 9, 3, 2};
  OpRig rig(2);
  rig.order = ByHeads(2);
  const Ints y =
      rig.Run(s, {{{{2, 2, 2}, e}, 12, OperandForm::kProduct}, {{{2, 2}, {-4, 3, 2, 5}}, 12, OperandForm::kProduct}});
  EXPECT_EQ(y[0], 0);
  EXPECT_NE(y[1], 0);
  EXPECT_EQ(rig.witness.left, (std::vector<Witness::Left>{{"row_sum of head 0 row 0", 0, 4},
                                                          {"row_sum of head 0 row 1", 2, 4},
                                                          {"row_sum of head 1 row 0", 16, 16}}));
  Checkpoint w;
  WeightedSum real;
  EXPECT_EQ(FloatOf(real, 1, w, {{{1, 1, 1}, {0}}, {{1, 1}, {8}}}).at, (Reals{0}));
}

// Every row of weights whose sum is within reach, and every row of values: the result, and the values inside.
TEST(WeightedSum, BoundIsSound) {
  Options o;
  o.Set("recip_pieces", 2);
  o.Set("recip_bits", 2);
  const Edges in{EdgeOf(3, 0, 1, {2, 12, {8}, {}, {}}), EdgeOf(2, 0, 2, BoxOf({3, 2}, 3.2))};
  WeightedSum s = ChosenSum(in, 1, 1, 2, o);
  const Bounded b = BoundOf(s, 2, in);
  s.ring = 40;
  EXPECT_TRUE(b.reach.images.empty());
  OpRig rig(2);
  const std::vector<Ints> rows = RowsOf(in[1].reach);
  for (int64_t x = 0; x <= 8; ++x)
    for (int64_t y = x == 0; y <= std::min<int64_t>(8, 12 - x); ++y)
      for (const Ints& p : rows)
        for (const Ints& q : rows) {
          ExpectWithin(rig.Spec(s, {{{{1, 2, 2}, {x, y, y, x}}}, {{{2, 2}, {p[0], p[1], q[0], q[1]}}}}), b.reach);
          for (int64_t v : rig.witness.seen.at("row_sum")) ASSERT_LT(v, int64_t{1} << s.row_sum);
          for (int64_t v : rig.witness.seen.at("product")) ASSERT_LT(std::abs(v), int64_t{1} << (s.product - 2));
        }
}

// Every head of q has an image with its own y, in the columns of the head that serves it.
TEST(WeightedSum, BoundHandsOnImages) {
  Edges in{EdgeOf(3, 0, 4, {2, 12, {8}, {}, {}}),
           EdgeOf(2, 0, 4, {4, 9, Reals(4, 5.0), {{3, 0, 4, 0, 7}}, {{0.5, 4}}})};
  WeightedSum s = ChosenSum(in, 4, 2, 2);
  const Bounded b = BoundOf(s, 2, in);
  const double one = std::ldexp(1.0, s.scale - 2), f = one * (1 + Excess(s.recip, [&](double x) { return one / x; }));
  ASSERT_EQ(b.reach.images.size(), 4u);
  for (size_t h = 0; h < 4; ++h) {
    const Image& i = b.reach.images[h];
    EXPECT_TRUE(i.node == 3 && i.begin == int64_t(2 * h) && i.count == 2 && i.column == int64_t(h / 2 * 2)) << h;
    EXPECT_DOUBLE_EQ(i.radius, 7 * f);
  }
  ASSERT_EQ(b.reach.noise.size(), 1u);
  EXPECT_DOUBLE_EQ(b.reach.noise[0].each, 0.5 * f);
  EXPECT_EQ(b.reach.noise[0].width, 2);
  EXPECT_DOUBLE_EQ(b.reach.most(), 5 * f);
}

TEST(WeightedSum, FieldsAndCheck) {
  WeightedSum s = Make(4, 2, 3, 9, 20, 30);
  s.scale = 12;
  for (const compiler::Lowering& rows : kRows) {
    s.rows = rows;
    ExpectFields(s);
  }
  // the search may choose each of them
  Knob k = s.Knobs().at(0);
  EXPECT_EQ(k.name, "rows");
  EXPECT_EQ(k.options, (std::vector<std::string>{"StepDcf", "RowLut", "RowLut/2", "RowLut/tree", "RowLut/tree/2"}));
  EXPECT_EQ(k.at, 0u);
  k.set(2);
  EXPECT_EQ(s.rows, kRows[1]);
  using F = Fault<WeightedSum>;
  const char *narrow = "an input's ring is narrower than its product",
             *order = "row_sum <= product <= ring does not hold";
  ExpectChecked<WeightedSum>(
      s, {EdgeOf(8, 20, 4), EdgeOf(8, 22, 6)}, 9,
      {F{[](WeightedSum&, Edges& e) { e[1].dim = 12; }, "its values are not as wide as its heads"},
       F{[](WeightedSum&, Edges& e) { e[1].one_row = true; }, "its values have one row"},
       F{[](WeightedSum&, Edges& e) { e[0].dim = 2; }, "its weights have another number of heads"},
       F{[](WeightedSum&, Edges& e) { e[0].ring = 19; }, narrow},
       F{[](WeightedSum&, Edges& e) { e[1].ring = 19; }, narrow},
       F{[](WeightedSum& x, Edges&) { x.product = 8; }, order}, F{[](WeightedSum& x, Edges&) { x.ring = 19; }, order},
       F{[](WeightedSum& x, Edges&) { x.row_sum = 10; }, "the table does not cover its ring"},
       F{[](WeightedSum& x, Edges&) { x.rows = {compiler::Kind::kIndex}; }, "the lowering of its rows does not apply"},
       F{[](WeightedSum& x, Edges&) { x.recip[0].values[0] = int64_t{1} << 30; },
         "a table value is negative or exceeds its ring"}});
  s.serving = 3;
  ExpectRefused([&] { s.Verify("here"); }, "the heads of v do not divide those of the scores");
}

}  // namespace
}  // namespace suf::nn
