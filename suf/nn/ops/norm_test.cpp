#include "suf/nn/ops/norm.hpp"

#include <algorithm>
#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/nn/ops/rig_test.hpp"
#include "suf/nn/plan/octave_tables.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {
namespace {

// Returns a norm of rows of d numbers in rings of kz bits, with 2^scale / sqrt after the cut.
Norm MakeNorm(int kz, int cut, int d, int ring, int stages) {
  Norm n;
  n.dim = d;
  n.kz = kz;
  n.cut = cut;
  n.ring = ring;
  n.stages = compiler::Stages(stages);
  const int x = kz - cut - 2, log_d = int(std::ceil(std::log2(d)));
  n.square = 2 * x + log_d + 1;
  n.epsilon = 3;
  n.shift = 7;
  const int scale = x + log_d + n.shift;
  n.rsqrt = func::FitOctaves([&](double v) { return std::ldexp(std::sqrt(d / v), scale); }, 1, n.square, 3, 3).f;
  n.product = x + scale + log_d + 3;
  n.floor = 1;
  n.top = n.square;
  return n;
}

// Returns the same norm with the sum of squares of z, of which no table reads the `under` low bits.
Norm NormOfZ(int kz, int cut, int d, int ring, int stages, int under, int floor = 1) {
  Norm n = MakeNorm(kz, cut, d, ring, stages);
  const int x = kz - cut - 2, log_d = int(std::ceil(std::log2(d))), scale = x + log_d + n.shift;
  n.square_of = SquareOf::kZ;
  n.under = under;
  n.square = 2 * (kz - 2) + log_d + 1 - under;
  auto root = [&](double v) { return std::ldexp(std::sqrt(d / v), scale + cut) / std::sqrt(std::ldexp(1, under)); };
  n.rsqrt = func::FitOctaves(root, floor, n.square, 3, 3, func::Measure::kNone).f;
  n.product = x + int(std::ceil(std::log2(double(n.rsqrt[0].values[0] + 1)))) + 3;
  n.floor = floor;
  n.top = n.square;
  return n;
}

// Returns pieces for 1 / sqrt that get narrower behind wider ones.
std::vector<func::Octave> Falling(const Norm& n) {
  auto root = [&](double v) { return double(n.rsqrt[0].values[0]) / std::sqrt(v); };
  return Steps(root, 1, n.square, n.square, 8 * n.square, Reals(9, std::ldexp(1.2, n.square - 1)));
}

// Returns the norm by rows, computed by hand.
Ints Meant(const Norm& n, const Ints& z) {
  auto rounded = [](int64_t v, int s) { return s ? (v + (int64_t{1} << (s - 1))) >> s : v; };
  const func::Suf root = func::FromGroups("rsqrt", n.rsqrt, n.square, 64);
  Ints y;
  for (size_t row = 0; row < z.size(); row += size_t(n.dim)) {
    __int128 sum = __int128(n.epsilon) << n.under;
    for (size_t j = row; j < row + size_t(n.dim); ++j) {
      const __int128 v = n.square_of == SquareOf::kZ ? z[j] : rounded(z[j], n.cut);
      sum += v * v;
    }
    const int64_t f = int64_t(func::Evaluate(root, uint64_t(sum >> n.under) & ring::Mask(n.square)).poly[0]);
    for (size_t j = row; j < row + size_t(n.dim); ++j) y.push_back(rounded(rounded(z[j], n.cut) * f, n.shift));
  }
  return y;
}

// Runs every z that its certificate admits, four times, in whole rows, at a wire that is `wider`. Compares results and
// key bits. Parts of a row are rows of their own.
void ExpectMeant(const Norm& n, int wider, bool shared) {
  const int64_t top = (int64_t{1} << (n.kz - 2)) - (n.cut ? int64_t{1} << (n.cut - 1) : 0);
  Ints z = gates::Range(-top + (n.cut == 0), top, 4);
  const int64_t cols = n.groups * n.dim;
  while (z.size() % size_t(cols)) z.push_back(0);
  for (size_t i = 0; i + 1 < z.size(); i += 3) std::swap(z[i], z[(i * 7919) % z.size()]);
  const int64_t rows = int64_t(z.size()) / cols;
  OpRig rig{int(rows)};
  Ints want = Meant(n, z);
  for (int64_t& v : want) v = gates::Number(uint64_t(v), n.ring);
  ASSERT_EQ(rig.Run(n, {{{{rows, cols}, z}, n.kz + wider, OperandForm::kOpen}}), want);
  EXPECT_EQ(rig.key_bits(z.size()), n.KeyBits(rows, shared));
}

// Every z of the certified range in every place of a row. Input wires are as wide as the norm reads, and wider.
TEST(Norm, Exhaustive) {
  for (int cut : {0, 1, 3})
    for (int stages : {1, 2})
      for (int d : {1, 4})
        for (OperandForm form : kForms)
          for (int ring : {6, 40})
            for (int wider : {0, 9}) {
              if (wider && (form != OperandForm::kOpen || ring == 6)) continue;
              Norm n = MakeNorm(5 + cut, cut, d, ring, stages);
              n.form = form;
              n.rows = kRows[(cut + stages + d + int(form)) % 4];
              if (form != OperandForm::kProduct) n.last = compiler::Stages(stages - 1);
              ASSERT_NO_FATAL_FAILURE(ExpectMeant(n, wider, form != OperandForm::kOpen))
                  << cut << " " << d << " " << ring;
            }
}

// The sum of squares of z itself: narrow, and wide with bits that no table reads.
TEST(Norm, ExhaustiveOfZ) {
  for (int cut : {0, 1, 3})
    for (int stages : {1, 2})
      for (int d : {1, 4})
        for (int under : {0, 1, 4})
          for (int ring : {6, 40}) {
            Norm n = NormOfZ(5 + cut, cut, d, ring, stages, under);
            n.form = ring == 6 ? OperandForm::kMap : OperandForm::kOpen;
            n.rows = kRows[(cut + stages + d + under + ring) % 2 ? 3 : 0];
            if (n.rows.kind == compiler::Kind::kStepDcf && stages == 2) n.rsqrt = Falling(n);
            ASSERT_NO_FATAL_FAILURE(ExpectMeant(n, ring == 40 ? 9 : 0, n.form != OperandForm::kOpen))
                << cut << " " << d << " " << under << " " << ring;
          }
}

// Every z in every place of a part, in rows of one part, of two and of five.
TEST(Norm, ExhaustiveInParts) {
  for (int groups : {1, 2, 5})
    for (int cut : {0, 3})
      for (int d : {1, 4})
        for (bool of_z : {false, true})
          for (int ring : {6, 40}) {
            Norm n = of_z ? NormOfZ(5 + cut, cut, d, ring, 2, cut) : MakeNorm(5 + cut, cut, d, ring, 1);
            n.groups = groups;
            n.form = kForms[size_t(groups + d + ring) % 3];
            n.rows = kRows[size_t(groups + cut) % 3];
            ASSERT_NO_FATAL_FAILURE(ExpectMeant(n, ring == 40 ? 9 : 0, n.form != OperandForm::kOpen))
                << groups << " " << cut << " " << d << " " << of_z << " " << ring;
          }
}

// A row in parts has the words, keys, frames and flights of as many rows.
TEST(Norm, PartsCostAsManyRows) {
  Norm n = MakeNorm(12, 3, 4, 40, 2);
  const Ints z = Numbers(24, 200);
  OpRig rows(6), parts(2);
  const Ints want = rows.Run(n, {{{{6, 4}, z}, n.kz, OperandForm::kOpen}});
  n.groups = 3;
  EXPECT_EQ(parts.Run(n, {{{{2, 12}, z}, n.kz, OperandForm::kOpen}}), want);
  EXPECT_EQ(parts.key_bits(z.size()), rows.key_bits(z.size()));
  EXPECT_EQ(parts.g.flights(), rows.g.flights());
  for (const char* wire : {"sum of squares", "rsqrt", "x*rsqrt"}) EXPECT_EQ(parts.g.sent(wire), rows.g.sent(wire));
}

// [digits, carry,] sum of squares, window sums, reciprocal root, product, digits, result.
TEST(Norm, Flights) {
  for (int cut : {0, 3})
    for (int stages : {1, 2})
      for (OperandForm form : kForms) {
        Norm n = MakeNorm(9 + cut, cut, 4, 40, stages);
        n.form = form;
        for (const compiler::Lowering& rows : kRows)
          for (int last : {0, 1, 2}) {
            n.rows = rows;
            n.last = compiler::Stages(last);
            const int row = rows.kind == compiler::Kind::kStepDcf ? 0 : int(rows.stages);
            EXPECT_EQ(FlightsOf(2,
                                [&](OpRig* rig) {
                                  rig->Run(n, {{{{2, 4}, Numbers(8, 50)}, n.kz, OperandForm::kOpen}});
                                }),
                      4 + row + last + (cut ? stages : 0))
                << cut << " " << stages << int(form) << " " << compiler::Name(rows) << " " << last;
          }
      }
}

// The digits and the carry of z travel beside its sum of squares and the window sums. So there are two flights fewer
// than for x. StepDcf has no window sums: one flight less.
TEST(Norm, FlightsOfZ) {
  for (int under : {0, 5})
    for (int cut : {0, 3})
      for (int row : {0, 1, 2, 3}) {
        const int stages = 1 + row % 2;
        Norm n = NormOfZ(9 + cut, cut, 4, 40, stages, under);
        n.rows = kRows[row < 2 ? 0 : 3];
        EXPECT_EQ(FlightsOf(2,
                            [&](OpRig* rig) {
                              rig->Run(n, {{{{2, 4}, Numbers(8, 50)}, n.kz, OperandForm::kOpen}});
                            }),
                  row < 2 ? 6 : 5)
            << under << " " << cut << " " << stages;
      }
}

// A table in windows is for RowLut, one in steps for StepDcf. A plan has the one that its lowering reads.
TEST(Norm, RowsTakeTheirTable) {
  Norm n = NormOfZ(12, 3, 4, 40, 2, 5);
  n.windows = n.rsqrt;
  n.steps = Falling(n);
  std::vector<Knob> knobs = n.Knobs();
  auto rows = std::find_if(knobs.begin(), knobs.end(), [](const Knob& k) { return k.name.rfind("rows", 0) == 0; });
  ASSERT_NE(rows, knobs.end());
  ASSERT_EQ(rows->options.size(), 5u);
  for (size_t i = 0; i < rows->options.size(); ++i) {
    rows->set(i);
    const bool steps = rows->options[i] == "StepDcf";
    EXPECT_EQ(n.rows.kind == compiler::Kind::kStepDcf, steps);
    const std::vector<func::Octave>& want = steps ? n.steps : n.windows;
    ASSERT_EQ(n.rsqrt.size(), want.size());
    for (size_t g = 0; g < want.size(); ++g) EXPECT_EQ(n.rsqrt[g].values, want[g].values);
  }
  const Norm clone = n;  // a search copies classes
  EXPECT_EQ(clone.steps.size(), n.steps.size());
}

// Sums of 65 to 128 bits.
TEST(Norm, SumsBeyondSixtyFourBits) {
  for (auto [kz, d] : {std::pair{33, 24}, {35, 5}, {47, 24}, {59, 24}, {61, 24}, {62, 100}, {63, 24}})
    for (const compiler::Lowering& rows : {kRows[0], kRows[3]}) {
      const int under = 2 * (kz - 2) + int(std::ceil(std::log2(d))) + 1 - 50;
      Norm n = NormOfZ(kz, kz - 13, d, 30, 2, under, 30);
      n.rows = rows;
      const int64_t top = (int64_t{1} << (kz - 2)) - (int64_t{1} << (n.cut - 1)) - 1;
      Ints z = gates::Some(-top, top, size_t(5 * d), uint64_t(kz));
      for (int i = 0; i < d; ++i) z[size_t(i)] >>= 6;
      for (int i = d; i < 2 * d; ++i) z[size_t(i)] = i % 2 ? top : -top;
      OpRig rig(5);
      EXPECT_EQ(rig.Run(n, {{{{5, d}, z}, kz, OperandForm::kOpen}}), Meant(n, z)) << kz;
      EXPECT_EQ(rig.key_bits(z.size()), n.KeyBits(5, false)) << kz;
      EXPECT_EQ(rig.g.sent("sum of squares"), 2 * 5 * (n.square + n.under)) << kz;
    }
}

TEST(Norm, WideRings) {
  for (int kz : {31, 32, 33, 62, 63, 64})
    for (int stages : {1, 2}) {
      const int d = 24, cut = kz - 13;
      if (stages == 1 && cut > 24) continue;
      Norm n = MakeNorm(kz, cut, d, 30, stages);
      n.rows = kRows[size_t(kz + stages) % 4];
      n.last = compiler::Stages(stages - 1);
      const int64_t top = (int64_t{1} << (kz - 2)) - (int64_t{1} << (cut - 1)) - 1;
      const Ints z = gates::Some(-top, top, size_t(5 * d), uint64_t(kz));
      OpRig rig(5);
      EXPECT_EQ(rig.Run(n, {{{{5, d}, z}, kz, OperandForm::kOpen}}), Meant(n, z)) << kz;
      EXPECT_EQ(rig.key_bits(z.size()), n.KeyBits(5, false));
    }
}

// A sum of squares outside the window is reported, once at each end, and the result stays the table's.
TEST(Norm, TellsWhatLeavesItsWindow) {
  Norm n = MakeNorm(8, 0, 2, 30, 1);
  n.floor = 5;
  n.top = 7;
  OpRig rig(3);
  rig.Spec(n, {{{{3, 2}, {5, 5, 1, 0, 20, 10}}}});
  EXPECT_EQ(rig.witness.seen.at("square"), (Ints{53, 4, 503}));
  EXPECT_EQ(rig.witness.left, (std::vector<Witness::Left>{{"square", 4, 32}, {"square", 503, 128}}));
  OpRig quiet(1);
  quiet.Spec(n, {{{{1, 2}, {5, 5}}}});
  EXPECT_TRUE(quiet.witness.left.empty());
}

TEST(Norm, Float) {
  Checkpoint w;
  Norm n;
  n.dim = 2;
  n.eps = 0.25;
  const std::vector<RealArray> x{{{2, 2}, {3, 4, 1, -1}}};
  const double a = std::sqrt(12.5 + 0.25), b = std::sqrt(1.25);
  Reals want{3 / a, 4 / a, 1 / b, -1 / b};
  EXPECT_EQ(FloatOf(n, 2, w, x).at, want);
  n.gamma = Expr::Leaf("g", {2});
  n.beta = Expr::Leaf("b", {2});
  Store(&w, n.gamma, {2, -1});
  Store(&w, n.beta, {10, 20});
  EXPECT_EQ(FloatOf(n, 2, w, x).at, (Reals{2 * (3 / a) + 10, -(4 / a) + 20, 2 * (1 / b) + 10, 1 / b + 20}));
  // both parts of one row, whose gammas differ
  n.groups = 2;
  n.gamma = Expr::Leaf("h", {4});
  n.beta = {};
  Store(&w, n.gamma, {2, -1, 3, 5});
  EXPECT_EQ(FloatOf(n, 1, w, {{{1, 4}, {3, 4, 1, -1}}}).at, (Reals{2 * (3 / a), -(4 / a), 3 * (1 / b), 5 * (-1 / b)}));
  n.groups = 1;
  n.gamma = n.beta = {};
  n.centre = true;
  const double c = std::sqrt(0.25 + 0.25);
  EXPECT_EQ(FloatOf(n, 1, w, {{{1, 2}, {3, 4}}}).at, (Reals{-0.5 / c, 0.5 / c}));
  n.centre = false;
  n.unit = true;
  n.eps = 0;
  EXPECT_EQ(FloatOf(n, 1, w, {{{1, 2}, {3, 4}}}).at, (Reals{0.6, 0.8}));
}

TEST(Norm, See) {
  Checkpoint w;
  Norm n;
  n.dim = 2;
  Seen seen;
  FloatOf(n, 4, w, {{{2, 2}, {3, 4, 1, -1}}}, {}, &seen);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].low, 1);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].high, std::sqrt(12.5));
  n.groups = 2;
  Seen parts;
  FloatOf(n, 4, w, {{{1, 4}, {3, 4, 1, -1}}}, {}, &parts);
  EXPECT_EQ(parts.at("rows").size(), 2u);
  EXPECT_EQ(parts.at("size")[0].low, seen.at("size")[0].low);
  EXPECT_EQ(parts.at("size")[0].high, seen.at("size")[0].high);
  n.groups = 1;
  n.unit = n.by_length = true;
  seen.clear();
  FloatOf(n, 4, w, {{{1, 2}, {3, 4}}}, {}, &seen);
  FloatOf(n, 2, w, {{{1, 2}, {3, 4}}}, {}, &seen);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].low, 1.25);
  EXPECT_DOUBLE_EQ(seen.at("size")[0].high, 2.5);
}

Seen SeenSize(double low, double high) { return {{"size", {{low, high}}}}; }

Norm ChosenNorm(const Edge& z, Seen seen, bool unit = false, Options o = {}, int groups = 1) {
  Norm n;
  n.dim = z.dim / groups;
  n.groups = groups;
  n.eps = 1e-5;
  n.unit = unit;
  n.by_length = unit;
  n.key = unit ? "unit" : "layer";
  Facts f{o};
  f.least = 3;
  f.n = 8;
  f.seen = &seen;
  n.Choose(f, {z});
  return n;
}

TEST(Norm, Choose) {
  Norm n = ChosenNorm(EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}}), SeenSize(0.5, 8));
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
  n = ChosenNorm(row, SeenSize(0.5, 8), true);
  EXPECT_EQ(n.cut, 4);     // norm.unit
  EXPECT_EQ(n.scale, 16);  // result.unit
  EXPECT_EQ(n.ring, 20);
  EXPECT_EQ(n.epsilon, 0);
  EXPECT_EQ(n.floor, int(std::floor(2 * (8 + std::log2(1.5)))) - 2);  // three tokens at least
  EXPECT_EQ(n.top, int(std::ceil(2 * (8 + std::log2(64)) + 0.6)));    // eight at most
  // a long stream has fewer fractional bits in the sum of squares
  n = ChosenNorm(EdgeOf(20, 0, 4, {4, 0x1p45, {}, {}, {}}), SeenSize(0.5, 8));
  EXPECT_EQ(n.cut, 16);
  EXPECT_EQ(n.square, 59);
  ExpectRefused([] { ChosenNorm(EdgeOf(12, 0, 4, {4, 1, {}, {}, {}}), SeenSize(0.5, 8)); }, "raise `norm.layer`");
  ExpectRefused([] { ChosenNorm(EdgeOf(12, 0, 4, {4, 1, {}, {}, {}}), SeenSize(0.5, 8), true); }, "raise `norm.unit`");
}

// The box of the longest part bounds the sum of squares, or the whole row does.
TEST(Norm, ChooseInParts) {
  const auto square = [](RowBound reach, int groups) {
    return ChosenNorm(EdgeOf(12, 0, 4, std::move(reach)), SeenSize(0.5, 8), false, {}, groups).square;
  };
  const RowBound box = BoxOf({3e5, 4e5, 0x1p20, 0x1p20});
  EXPECT_EQ(square(box, 2), 38);                      // two numbers of 2^18 behind the cut
  EXPECT_EQ(square(box, 4), 37);                      // one
  EXPECT_EQ(square(BoxOf(box.each, 0x1p16), 2), 29);  // the row is shorter
  EXPECT_EQ(square({4, 1e6, {}, {}, {}}, 2), 36);     // its length bounds each part
  Norm n = ChosenNorm(EdgeOf(12, 0, 4, box), SeenSize(0.5, 8), false, {}, 2);
  EXPECT_EQ(n.epsilon, 21);  // 1e-5 d 2^20, with d of a part
  EXPECT_EQ(n.floor, 2 * 9 + 1 - 2);
  const Bounded b = BoundOf(n, 8, {EdgeOf(12, 0, 4, box)});
  EXPECT_EQ(b.reach.dim, 4);
  EXPECT_EQ(b.reach.each.size(), 4u);
  EXPECT_NEAR(b.reach.each[3], std::sqrt(2.0) * 1024, 16);  // sqrt(d) at the scale of the result
  EXPECT_NEAR(b.reach.length, std::sqrt(2.0) * b.reach.each[3], 2);
}

// The sum of squares is of z if the setting requests it and 128 bits hold it. The scale of y is the same.
TEST(Norm, ChooseOfZ) {
  Options o;
  o.Set("square", 1);
  const Norm x = ChosenNorm(EdgeOf(30, 0, 4, {4, 0x1p38, {}, {}, {}}), SeenSize(0.5, 8));
  const Norm z = ChosenNorm(EdgeOf(30, 0, 4, {4, 0x1p38, {}, {}, {}}), SeenSize(0.5, 8), false, o);
  EXPECT_EQ(x.square_of, SquareOf::kX);
  EXPECT_EQ(z.square_of, SquareOf::kZ);
  EXPECT_EQ(z.cut, x.cut);
  EXPECT_EQ(z.shift, x.shift);
  EXPECT_EQ(z.square + z.under, 2 * 38 + 1);
  EXPECT_EQ(z.square, 56);
  EXPECT_EQ(z.epsilon, std::llround(1e-5 * 4 * std::ldexp(1, 60 - z.under)));
  EXPECT_EQ(z.floor + z.under, 2 * 29 + 2 - 2);
  EXPECT_EQ(z.top + z.under, 2 * 33 + 2 + 1);
  EXPECT_EQ(z.stages, compiler::kBeside);
  // the same table at the sums' scale
  for (double size : {0.5, 1.0, 4.0}) {
    const double in_x = 4 * size * size * std::ldexp(1, 20), in_z = 4 * size * size * std::ldexp(1, 60 - z.under);
    auto at = [](const Norm& n, double v) { return double(func::Evaluator(n.rsqrt, n.square, 64).At(uint64_t(v))); };
    EXPECT_NEAR(at(z, in_z) / at(x, in_x), 1, 0.01) << size;
  }
  // a narrow one, and one that no wide ring holds
  const Norm narrow = ChosenNorm(EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}}), SeenSize(0.5, 8), false, o);
  EXPECT_EQ(narrow.square_of, SquareOf::kZ);
  EXPECT_EQ(narrow.under, 0);
  EXPECT_EQ(narrow.square, 40);
  EXPECT_EQ(ChosenNorm(EdgeOf(50, 0, 4, {4, 0x1p64, {}, {}, {}}), SeenSize(0.5, 8), false, o).square_of, SquareOf::kX);
}

// Every row inside the input's reach, also those far outside the calibrated window.
TEST(Norm, BoundIsSound) {
  for (auto [unit, square] : {std::pair{false, 0}, {true, 0}, {false, 1}, {true, 1}})
    for (int scale : {4, 6})
      for (const RowBound& reach : {BoxOf({9, 5, 7}), RowBound{3, 9.5, {}, {}, {}}}) {
        Options o;
        o.Set("square", square);
        o.Set("activation", 5);
        o.Set("norm.layer", 4);
        o.Set("norm.unit", 5);
        o.Set("result.unit", 6);
        Norm n = ChosenNorm(EdgeOf(scale, 0, 3, reach), SeenSize(0.05, 0.4), unit, o);
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
        // the bound is near a norm's size, sqrt(d) or 1; at these scales x may be twice z / 2^cut
        EXPECT_LT(b.reach.length, std::ldexp(std::sqrt(unit ? 1.0 : 3.0), n.scale) * (square ? 2.4 : 1.2) + 1);
      }
}

// Every row of two parts, one much longer than the other.
TEST(Norm, BoundInPartsIsSound) {
  for (int square : {0, 1})
    for (const RowBound& reach : {BoxOf({9, 5, 2, 1}), BoxOf({3, 3, 3, 3}, 4.2), RowBound{4, 5.5, {}, {}, {}}}) {
      Options o;
      o.Set("square", square);
      o.Set("activation", 5);
      o.Set("norm.layer", 4);
      Norm n = ChosenNorm(EdgeOf(6, 0, 4, reach), SeenSize(0.05, 0.4), false, o, 2);
      const Bounded b = BoundOf(n, 1, {EdgeOf(6, 0, 4, reach)});
      n.ring = 40;
      OpRig rig(1);
      for (const Ints& z : RowsOf(reach)) {
        ExpectWithin(rig.Spec(n, {{{{1, 4}, z}}}), b.reach);
        ExpectSeen(rig.witness, b, "square");
      }
    }
}

// z is read no wider than the product needs.
TEST(Norm, Settle) {
  Norm n = MakeNorm(12, 2, 4, 30, 2);
  const int product = n.product;
  n.Settle({EdgeOf(0, 64, 4)});
  EXPECT_EQ(n.kz, product + 1);
  n.Settle({EdgeOf(0, 9, 4)});
  EXPECT_EQ(n.kz, 9);
}

TEST(Norm, Fields) {
  Norm n = ChosenNorm(EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}}), SeenSize(0.5, 8));
  BoundOf(n, 8, {EdgeOf(12, 0, 4, {4, 1e6, {}, {}, {}})});
  n.ring = 30;
  ExpectFields(n);
  n.rows = kRows[3];
  n.last = compiler::Stages::kNone;
  ExpectFields(n);
  n.unit = n.by_length = true;
  n.key = "unit";
  ExpectFields(n);
  n.square_of = SquareOf::kZ;
  n.under = 3;
  ExpectFields(n);
  n.groups = 4;
  ExpectFields(n);
}

TEST(Norm, CheckFaults) {
  const Norm n = MakeNorm(12, 2, 4, 30, 2);
  const Edges in{EdgeOf(10, 14, 4)};
  using F = Fault<Norm>;
  ExpectChecked<Norm>(
      n, in, 8,
      {F{[](Norm&, Edges& e) { e[0].dim = 5; }, "its input has another width"},
       F{[](Norm& x, Edges&) { x.groups = 2; }, "its input has another width"},
       F{[](Norm&, Edges& e) { e[0].ring = 11; }, "it reads more bits than its input has"},
       F{[](Norm& x, Edges&) { x.cut = 10; }, "its cut leaves no bits"},
       F{[](Norm& x, Edges&) { x.floor = x.top; }, "floor < top <= square does not hold"},
       F{[](Norm& x, Edges&) { x.top = x.square + 1; }, "floor < top <= square does not hold"},
       F{[](Norm& x, Edges&) { x.shift = x.product - 2; }, "its shift leaves no bits"},
       F{[](Norm& x, Edges&) {
           x.product = 10;
           x.shift = 2;
           x.kz = 14;
         },
         "the product's ring is narrower than x"},
       F{[](Norm& x, Edges&) { x.under = 1; }, "only a sum of squares of z has bits under its table"},
       F{[](Norm& x, Edges&) {
           x.square_of = SquareOf::kZ;
           x.under = 120;
         },
         "its sum of squares has more than 128 bits"},
       F{[](Norm& x, Edges& e) {
           x.square_of = SquareOf::kZ;
           x.under = 60;
           x.kz = e[0].ring = 64;
           x.cut = 60;
         },
         "its input is too wide for its sum of squares"},
       F{[](Norm& x, Edges&) { x.square += 1; }, "the table does not cover its ring"},
       F{[](Norm& x, Edges&) { x.rows = {compiler::Kind::kWindowLut}; }, "the lowering of its rows does not apply"},
       F{[](Norm& x, Edges&) { x.rsqrt = Falling(x); }, "the lowering of its rows does not apply"},
       F{[](Norm& x, Edges&) {
           x.square = 62;
           x.top = 62;
         },
         "the table's domain must be below 2^62"},
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
