#include "suf/nn/ops/norm.hpp"

#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/nn/ops/rig_test.hpp"
#include "suf/ring/words.hpp"

namespace suf::nn {
namespace {

// MakeNorm: of rows of d numbers in rings of kz bits, 2^scale / sqrt after the cut.
Norm MakeNorm(int kz, int cut, int d, int ring, int stages) {
  Norm n;
  n.dim = d, n.kz = kz, n.cut = cut, n.ring = ring, n.stages = compiler::Stages(stages);
  const int x = kz - cut - 2, log_d = int(std::ceil(std::log2(d)));
  n.square = 2 * x + log_d + 1, n.epsilon = 3, n.shift = 7;
  const int scale = x + log_d + n.shift;
  n.rsqrt = func::FitOctaves([&](double v) { return std::ldexp(std::sqrt(d / v), scale); }, 1, n.square, 3, 3).f;
  n.product = x + scale + log_d + 3, n.floor = 1, n.top = n.square;
  return n;
}

// Meant: a norm by hand, by rows.
Ints Meant(const Norm& n, const Ints& z) {
  auto rounded = [](int64_t v, int s) { return s ? (v + (int64_t{1} << (s - 1))) >> s : v; };
  const func::Suf root = func::FromGroups("rsqrt", n.rsqrt, n.square, 64);
  Ints y;
  for (size_t row = 0; row < z.size(); row += size_t(n.dim)) {
    uint64_t sum = uint64_t(n.epsilon);
    for (size_t j = row; j < row + size_t(n.dim); ++j)
      sum += uint64_t(rounded(z[j], n.cut)) * uint64_t(rounded(z[j], n.cut));
    const int64_t f = int64_t(func::Evaluate(root, sum & ring::Mask(n.square)).poly[0]);
    for (size_t j = row; j < row + size_t(n.dim); ++j) y.push_back(rounded(rounded(z[j], n.cut) * f, n.shift));
  }
  return y;
}

// Every z of the certified range in every place of a row; input wires as wide as is read, and wider.
TEST(Norm, Exhaustive) {
  for (int cut : {0, 1, 3})
    for (int stages : {1, 2})
      for (int d : {1, 4})
        for (Form form : kForms)
          for (int ring : {6, 40})
            for (int wider : {0, 9}) {
              if (wider && (form != Form::kOpen || ring == 6)) continue;
              Norm n = MakeNorm(5 + cut, cut, d, ring, stages);
              n.form = form, n.rows = kRows[(cut + stages + d + int(form)) % 4];
              if (form != Form::kProduct) n.last = compiler::Stages(stages - 1);
              const int64_t top = (int64_t{1} << (n.kz - 2)) - (cut ? int64_t{1} << (cut - 1) : 0);
              Ints z = gates::Range(-top + (cut == 0), top, 4);
              while (z.size() % size_t(d)) z.push_back(0);
              for (size_t i = 0; i + 1 < z.size(); i += 3) std::swap(z[i], z[(i * 7919) % z.size()]);
              const int64_t rows = int64_t(z.size()) / d;
              OpRig rig{int(rows)};
              Ints want = Meant(n, z);
              for (int64_t& v : want) v = gates::Number(uint64_t(v), ring);
              ASSERT_EQ(rig.Run(n, {{{{rows, d}, z}, n.kz + wider, Form::kOpen}}), want)
                  << cut << " " << d << " " << ring;
              EXPECT_EQ(rig.key_bits(z.size()), n.KeyBits(rows, form != Form::kOpen));
            }
}

// [digits, carry,] sum of squares, window sums, reciprocal root, product, digits, result.
TEST(Norm, Flights) {
  for (int cut : {0, 3})
    for (int stages : {1, 2})
      for (Form form : kForms) {
        Norm n = MakeNorm(9 + cut, cut, 4, 40, stages);
        n.form = form;
        for (const compiler::Lowering& rows : kRows)
          for (int last : {0, 1, 2}) {
            n.rows = rows, n.last = compiler::Stages(last);
            const int row = rows.kind == compiler::Kind::kStepDcf ? 0 : int(rows.stages);
            EXPECT_EQ(FlightsOf(2,
                                [&](OpRig* rig) {
                                  rig->Run(n, {{{{2, 4}, Numbers(8, 50)}, n.kz, Form::kOpen}});
                                }),
                      4 + row + last + (cut ? stages : 0))
                << cut << " " << stages << int(form) << " " << compiler::Name(rows) << " " << last;
          }
      }
}

TEST(Norm, WideRings) {
  for (int kz : {31, 32, 33, 62, 63, 64})
    for (int stages : {1, 2}) {
      const int d = 24, cut = kz - 13;
      if (stages == 1 && cut > 24) continue;
      Norm n = MakeNorm(kz, cut, d, 30, stages);
      n.rows = kRows[size_t(kz + stages) % 4], n.last = compiler::Stages(stages - 1);
      const int64_t top = (int64_t{1} << (kz - 2)) - (int64_t{1} << (cut - 1)) - 1;
      const Ints z = gates::Some(-top, top, size_t(5 * d), uint64_t(kz));
      OpRig rig(5);
      EXPECT_EQ(rig.Run(n, {{{{5, d}, z}, kz, Form::kOpen}}), Meant(n, z)) << kz;
      EXPECT_EQ(rig.key_bits(z.size()), n.KeyBits(5, false));
    }
}

// A sum of squares outside the window is told, once at each end, and the result stays the table's.
TEST(Norm, TellsWhatLeavesItsWindow) {
  Norm n = MakeNorm(8, 0, 2, 30, 1);
  n.floor = 5, n.top = 7;
  OpRig rig(3);
  rig.Spec(n, {{{{3, 2}, {5, 5, 1, 0, 20, 10}}}});
  EXPECT_EQ(rig.witness.seen.at("square"), (Ints{53, 4, 503}));
  EXPECT_EQ(rig.witness.left, (std::vector<Witness::Left>{{"square", 4, 32}, {"square", 503, 128}}));
  OpRig quiet(1);
  quiet.Spec(n, {{{{1, 2}, {5, 5}}}});
  EXPECT_TRUE(quiet.witness.left.empty());
}

TEST(Norm, Float) {
  Weights w;
  Norm n;
  n.dim = 2, n.eps = 0.25;
  const std::vector<RealArray> x{{{2, 2}, {3, 4, 1, -1}}};
  const double a = std::sqrt(12.5 + 0.25), b = std::sqrt(1.25);
  Reals want{3 / a, 4 / a, 1 / b, -1 / b};
  EXPECT_EQ(FloatOf(n, 2, w, x).at, want);
  n.gamma = Expr::Leaf("g", {2}), n.beta = Expr::Leaf("b", {2});
  Store(&w, n.gamma, {2, -1}), Store(&w, n.beta, {10, 20});
  EXPECT_EQ(FloatOf(n, 2, w, x).at, (Reals{2 * (3 / a) + 10, -(4 / a) + 20, 2 * (1 / b) + 10, 1 / b + 20}));
  n.gamma = n.beta = {}, n.centre = true;
  const double c = std::sqrt(0.25 + 0.25);
  EXPECT_EQ(FloatOf(n, 1, w, {{{1, 2}, {3, 4}}}).at, (Reals{-0.5 / c, 0.5 / c}));
  n.centre = false, n.unit = true, n.eps = 0;
  EXPECT_EQ(FloatOf(n, 1, w, {{{1, 2}, {3, 4}}}).at, (Reals{0.6, 0.8}));
}

TEST(Norm, See) {
  Weights w;
  Norm n;
  n.dim = 2;
  Seen seen;
  FloatOf(n, 4, w, {{{2, 2}, {3, 4, 1, -1}}}, {}, &seen);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].low, 1);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].high, std::sqrt(12.5));
  n.unit = n.by_length = true;
  seen.clear();
  FloatOf(n, 4, w, {{{1, 2}, {3, 4}}}, {}, &seen);
  FloatOf(n, 2, w, {{{1, 2}, {3, 4}}}, {}, &seen);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].low, 1.25);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].high, 2.5);
}

Seen SeenSize(double low, double high) { return {{"size", {{low, high}}}}; }

Norm Chosen(const Edge& z, Seen seen, bool unit = false, Options o = {}) {
  Norm n;
  n.dim = z.dim, n.eps = 1e-5, n.unit = unit, n.by_length = unit, n.key = unit ? "unit" : "layer";
  Facts f{o};
  f.least = 3, f.n = 8, f.seen = &seen;
  n.Choose(f, {z});
  return n;
}

TEST(Norm, Choose) {
  Norm n = Chosen(EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}}), SeenSize(0.5, 8));
  EXPECT_EQ(n.cut, 2);                // 2^12 to norm.layer
  EXPECT_EQ(n.scale, 10);             // activation
  EXPECT_EQ(n.epsilon, 42);           // 1e-5 d 2^20
  EXPECT_EQ(n.floor, 2 * 9 + 2 - 2);  // 0.5 at 2^10, squared, four of them, two bits under
  EXPECT_EQ(n.top, 2 * 13 + 2 + 1);
  EXPECT_EQ(n.square, 36);  // (1e6 / 4)^2
  EXPECT_EQ(n.ring, 0);
  EXPECT_EQ(n.rsqrt.back().hi << n.rsqrt.back().w, int64_t{1} << 36);
  Edge row = EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}});
  row.one_row = true;
  n = Chosen(row, SeenSize(0.5, 8), true);
  EXPECT_EQ(n.cut, 4);     // norm.unit
  EXPECT_EQ(n.scale, 16);  // result.unit
  EXPECT_EQ(n.ring, 20);
  EXPECT_EQ(n.epsilon, 0);
  EXPECT_EQ(n.floor, int(std::floor(2 * (8 + std::log2(1.5)))) - 2);  // three tokens at least
  EXPECT_EQ(n.top, int(std::ceil(2 * (8 + std::log2(64)) + 0.6)));    // eight at most
  // a long stream has fewer fractional bits in the sum of squares
  n = Chosen(EdgeOf(20, 0, 4, {4, 0x1p45, {}, {}, {}}), SeenSize(0.5, 8));
  EXPECT_EQ(n.cut, 16);
  EXPECT_EQ(n.square, 59);
  ExpectRefused([] { Chosen(EdgeOf(12, 0, 4, {4, 1, {}, {}, {}}), SeenSize(0.5, 8)); }, "raise `norm.layer`");
  ExpectRefused([] { Chosen(EdgeOf(12, 0, 4, {4, 1, {}, {}, {}}), SeenSize(0.5, 8), true); }, "raise `norm.unit`");
}

// Every row inside the input's reach, those far outside the calibrated window too.
TEST(Norm, BoundIsSound) {
  for (bool unit : {false, true})
    for (int scale : {4, 6})
      for (const Reach& reach : {BoxOf({9, 5, 7}), Reach{3, 9.5, {}, {}, {}}}) {
        Options o;
        o.Set("activation", 5), o.Set("norm.layer", 4), o.Set("norm.unit", 5), o.Set("result.unit", 6);
        Norm n = Chosen(EdgeOf(scale, 0, 3, reach), SeenSize(0.05, 0.4), unit, o);
        OpRig rig(1);
        const Bounded b = BoundOf(n, 1, {EdgeOf(scale, 0, 3, reach)});
        EXPECT_EQ(n.Need(0, {}), n.kz);
        n.ring = 40;
        const double gap = std::ldexp(1.0, n.product - 2) - std::ldexp(1.0, n.shift - 1);
        for (const Ints& z : RowsOf(reach)) {
          ExpectWithin(rig.Spec(n, {{{{1, 3}, z}}}), b.reach);
          ExpectSeen(rig.witness, b, "square");
          for (int64_t v : rig.witness.seen.at("product")) ASSERT_LT(std::abs(double(v)), gap);
          for (int64_t v : z) ASSERT_LT(double(v), std::ldexp(1.0, n.kz - 2));
        }
        // the bound is near what a norm is: sqrt(d) or 1
        EXPECT_LT(b.reach.length, std::ldexp(std::sqrt(unit ? 1.0 : 3.0), n.scale) * 1.2 + 1);
      }
}

// Settle: z is read no wider than the product needs.
TEST(Norm, Settle) {
  Norm n = MakeNorm(12, 2, 4, 30, 2);
  const int product = n.product;
  n.Settle({EdgeOf(0, 64, 4)});
  EXPECT_EQ(n.kz, product + 1);
  n.Settle({EdgeOf(0, 9, 4)});
  EXPECT_EQ(n.kz, 9);
}

TEST(Norm, Fields) {
  Norm n = Chosen(EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}}), SeenSize(0.5, 8));
  BoundOf(n, 8, {EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}})});
  n.ring = 30;
  ExpectFields(n);
  n.rows = kRows[3], n.last = compiler::Stages::kNone;
  ExpectFields(n);
  n.unit = n.by_length = true, n.key = "unit";
  ExpectFields(n);
}

TEST(Norm, CheckFaults) {
  const Norm n = MakeNorm(12, 2, 4, 30, 2);
  const Edges in{EdgeOf(10, 14, 4)};
  using F = Fault<Norm>;
  ExpectChecked<Norm>(
      n, in, 8,
      {F{[](Norm&, Edges& e) { e[0].dim = 5; }, "its input has another width"},
       F{[](Norm&, Edges& e) { e[0].ring = 11; }, "it reads more bits than its input has"},
       F{[](Norm& x, Edges&) { x.cut = 10; }, "its cut leaves no bits"},
       F{[](Norm& x, Edges&) { x.floor = x.top; }, "floor < top <= square does not hold"},
       F{[](Norm& x, Edges&) { x.top = x.square + 1; }, "floor < top <= square does not hold"},
       F{[](Norm& x, Edges&) { x.shift = x.product - 2; }, "its shift leaves no bits"},
       F{[](Norm& x, Edges&) { x.product = 10, x.shift = 2, x.kz = 14; }, "the product's ring is narrower than x"},
       F{[](Norm& x, Edges&) { x.square += 1; }, "the table does not cover its ring"},
       F{[](Norm& x, Edges&) { x.rows = {compiler::Kind::kWindowLut}; }, "the lowering of its rows does not apply"},
       F{[](Norm& x, Edges&) { x.square = 62, x.top = 62; }, "the table's domain must be below 2^62"},
       F{[](Norm& x, Edges&) { x.rsqrt[0].values.pop_back(); }, "a group does not have one value a piece"},
       F{[](Norm& x, Edges&) { x.rsqrt[1].lo += 1; }, "the groups of pieces leave a hole or overlap"},
       F{[](Norm& x, Edges&) { x.rsqrt[0].hi = 0; }, "a group of pieces is empty or too wide"},
       F{[](Norm& x, Edges&) { x.rsqrt[0].w = 62; }, "a group of pieces is empty or too wide"},
       F{[](Norm& x, Edges&) { x.rsqrt[0].values[0] = -1; }, "a table value is negative or exceeds its ring"},
       F{[](Norm& x, Edges&) { x.rsqrt[0].values[0] = int64_t{1} << x.product; },
         "a table value is negative or exceeds its ring"}});
}

}  // namespace
}  // namespace suf::nn
