#include "suf/nn/graph/expr.hpp"

#include <array>
#include <cmath>

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

Expr L(const char* name, Shape s) { return Expr::Leaf(name, std::move(s)); }

// Returns the tensors "w" (2, 3), "g" (2), "b" (3) and "t" (3, 2).
Checkpoint Some() {
  Checkpoint w;
  w.Set("w", {{2, 3}, {1, 2, 3, 4, 5, 9}});
  w.Set("g", {{2}, {10, -1}});
  w.Set("b", {{3}, {0.5, 1, 2}});
  w.Set("t", {{3, 2}, {1, 2, 3, 4, 5, 6}});
  return w;
}
const Expr kW = L("w", {2, 3}), kG = L("g", {2}), kB = L("b", {3}), kT = L("t", {3, 2});

// Every operation has the right text, shape and value, computed by hand.
TEST(Expr, Operations) {
  struct Case {
    Expr e;
    std::string text;
    Shape shape;
    Reals value;
  };
  const Case cases[] = {
      {kW, "w[2,3]", {2, 3}, {1, 2, 3, 4, 5, 9}},
      {Expr::Zeros({2, 1}), "zeros(2, 1)", {2, 1}, {0, 0}},
      {kW.Transposed(), "transposed(w[2,3])", {3, 2}, {1, 4, 2, 5, 3, 9}},
      {kW.Rows(kG), "rows(g[2], w[2,3])", {2, 3}, {10, 20, 30, -4, -5, -9}},
      {kW.Centred(), "centre(w[2,3])", {2, 3}, {-1, 0, 1, -2, -1, 3}},
      {kG.Centred(), "centre(g[2])", {2}, {5.5, -5.5}},
      {kW.Folded(kG), "fold(g[2], w[2,3])", {3}, {6, 15, 21}},
      {kW.Plus(kW), "plus(w[2,3], w[2,3])", {2, 3}, {2, 4, 6, 8, 10, 18}},
      {kW.Plus(kB), "plus(w[2,3], b[3])", {2, 3}, {1.5, 3, 5, 4.5, 6, 11}},
      {kW.Plus(Expr()), "w[2,3]", {2, 3}, {1, 2, 3, 4, 5, 9}},
      {kB.Over(4), "over(b[3], 4)", {3}, {0.125, 0.25, 0.5}},
      {kB.Times(-0.1), "times(b[3], -0.1)", {3}, {-0.05, -0.1, -0.2}},
      {kB.Beside(kG), "beside(b[3], g[2])", {5}, {0.5, 1, 2, 10, -1}},
      {kW.Beside(kW.Columns(1, 2)), "beside(w[2,3], columns(w[2,3], 1, 2))", {2, 4}, {1, 2, 3, 2, 4, 5, 9, 5}},
      {kG.Repeated(3), "repeat(g[2], 3)", {6}, {10, -1, 10, -1, 10, -1}},
      {kG.Repeated(1), "repeat(g[2], 1)", {2}, {10, -1}},
      {kW.Columns(1, 3), "columns(w[2,3], 1, 3)", {2, 2}, {2, 3, 5, 9}},
      {kW.Row(1), "row(w[2,3], 1)", {3}, {4, 5, 9}},
      // two heads, buckets -1, 0, 1
      {Expr::Relative(kT, 3), "relative(t[3,2], 3)", {2, 5}, {1, 1, 3, 5, 5, 2, 2, 4, 6, 6}},
      {Expr::Alibi(4, 3), "alibi(4, 3)", {4, 5}, {-0.5,       -0.25,       0, -0.25,       -0.5,
                                                  -0.125,     -0.0625,     0, -0.0625,     -0.125,
                                                  -0.03125,   -0.015625,   0, -0.015625,   -0.03125,
                                                  -0.0078125, -0.00390625, 0, -0.00390625, -0.0078125}}};
  const Checkpoint w = Some();
  for (const Case& c : cases) {
    EXPECT_EQ(c.e.Text(), c.text);
    EXPECT_EQ(c.e.shape(), c.shape) << c.text;
    const Reals value = w.Value(c.e);
    ASSERT_EQ(value.size(), c.value.size()) << c.text;
    for (size_t i = 0; i < value.size(); ++i) EXPECT_DOUBLE_EQ(value[i], c.value[i]) << c.text << " " << i;
    const Expr back = Expr::Parse(c.text, "here");
    EXPECT_TRUE(back == c.e) << c.text;
    EXPECT_EQ(back.shape(), c.shape);
    EXPECT_EQ(w.Value(back), value);
  }
  // an even number of buckets: -2, -1, 0, 1
  Checkpoint even;
  even.Set("t", {{4, 1}, {1, 2, 3, 4}});
  EXPECT_EQ(even.Value(Expr::Relative(L("t", {4, 1}), 3)), (Reals{1, 2, 3, 4, 4}));
}

// Six heads have the slopes of four, and the first and third of eight, as in the authors' program.
TEST(Expr, SlopesOfHeadsThatAreNoPowerOfTwo) {
  const Reals value = Checkpoint().Value(Expr::Alibi(6, 2));
  for (size_t h = 0; h < 6; ++h) {
    const double slope = std::exp2(std::array{-2.0, -4.0, -6.0, -8.0, -1.0, -3.0}[h]);
    EXPECT_EQ(value[3 * h], -slope) << h;
    EXPECT_EQ(value[3 * h + 1], 0) << h;
    EXPECT_EQ(value[3 * h + 2], -slope) << h;
  }
}

// The first distances of each bucket are those of Hugging Face transformers, with float32 logarithms.
TEST(Expr, BucketsOfDistances) {
  constexpr int64_t kPositions = 200;
  constexpr int64_t kFirst[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  Checkpoint w;
  std::vector<float> t(64);
  for (size_t b = 0; b < 32; ++b) {
    t[2 * b] = float(b);
    t[2 * b + 1] = -float(b);
  }
  w.Set("t", {{32, 2}, t});
  const Expr e = Expr::Bucketed(L("t", {32, 2}), kPositions);
  EXPECT_EQ(e.Text(), "bucketed(t[32,2], 200)");
  EXPECT_EQ(e.shape(), (Shape{2, 2 * kPositions - 1}));
  const Reals value = w.Value(e);
  for (int64_t d = 1 - kPositions; d < kPositions; ++d) {  // j - i
    const auto b = std::upper_bound(std::begin(kFirst), std::end(kFirst), std::abs(d)) - std::begin(kFirst) - 1;
    const double want = double(b + (d > 0 ? 16 : 0));
    ASSERT_EQ(value[size_t(kPositions - 1 + d)], want) << d;
    ASSERT_EQ(value[size_t(3 * kPositions - 2 + d)], -want) << d;
  }
}

TEST(Expr, NamesOfCheckpoints) {
  for (const char* text : {"0.attention.self-query.weight[2,3]", "over(0.a[2], 1.5)", "plus(7[2], 8_b[2])", "zeros(3)",
                           "times(x[1], 1e-05)", "times(x[1], -2.5)"})
    EXPECT_EQ(Expr::Parse(text, "here").Text(), text);
}

TEST(Expr, EqualAndEmpty) {
  EXPECT_FALSE(Expr());
  EXPECT_EQ(Expr().Text(), "");
  EXPECT_TRUE(Expr() == Expr());
  EXPECT_FALSE(Expr() == kW);
  EXPECT_TRUE(kW.Centred() == L("w", {2, 3}).Centred());
  EXPECT_FALSE(kW == L("w", {3, 2}));
  EXPECT_THROW((void)Expr().shape(), Bug);
  EXPECT_THROW((void)Expr().Centred(), Bug);
}

TEST(Expr, ParseRefusals) {
  const char *cut = "is cut short or not written as this program does",
             *operands = "has another number of operands than its operation";
  const std::pair<std::string, const char*> cases[] = {
      {"", cut},
      {"w", cut},
      {"w[2,3", cut},
      {"w[2,,3]", cut},
      {"w[2 3]", cut},
      {"w[2,3] ", cut},
      {" w[2,3]", cut},
      {"w[2,3]x[1]", cut},
      {"w[02]", cut},
      {"w[2.0]", cut},
      {"centre(w[2,3]", cut},
      {"centre( w[2,3])", cut},
      {"over(w[2],2)", cut},
      {"over(w[2], 2,)", cut},
      {"over(w[2], x)", cut},
      {"times(w[2], 1e999)", cut},
      {std::string(201, 'w') + "[2]", cut},
      {"w%[2]", cut},
      {"w[]", "has no shape of one to three dimensions"},
      {"w[1,1,1,1]", "has no shape of one to three dimensions"},
      {"zeros()", "has no shape of one to three dimensions"},
      {"w[0]", "is too large"},
      {"w[17179869185]", "has a number that is no place in a tensor"},
      {"w[17179869184,2]", "is too large"},
      {"w[-1]", "has a number that is no place in a tensor"},
      {"w[1.5]", "has a number that is no place in a tensor"},
      {"centre()", operands},
      {"centre(w[2], w[2])", operands},
      {"centre(w[2], 1)", operands},
      {"over(w[2])", operands},
      {"zeros(w[2], 2)", operands},
      {"columns(w[2], 1)", operands},
      {"squared(w[2])", "has an unknown operation squared"},
      {"transposed(w[2])", "transposes what is no matrix"},
      {"rows(g[3], w[2,3])", "scales other rows"},
      {"fold(g[3], w[2,3])", "folds another matrix"},
      {"plus(w[2,3], g[2])", "adds another shape"},
      {"over(w[2], 0)", "scales by nothing"},
      {"times(w[2], inf)", cut},
      {"beside(w[2,3], g[2])", "puts other shapes beside"},
      {"beside(w[2,3], w[3,3])", "puts other shapes beside"},
      {"columns(w[2,3], 1, 4)", "takes columns that are not there"},
      {"columns(w[2,3], 2, 2)", "takes columns that are not there"},
      {"columns(w[2,3], -1, 2)", "has a number that is no place in a tensor"},
      {"repeat(w[2,3], 2)", "repeats what is no vector"},
      {"repeat(w[2], 0)", "is too large"},
      {"repeat(w[2], 17179869184)", "is too large"},
      {"repeat(w[2], -1)", "has a number that is no place in a tensor"},
      {"row(w[2,3], 2)", "takes a row that is not there"},
      {"row(w[2], 0)", "takes a row that is not there"},
      {"relative(w[2], 3)", "has no table"},
      {"relative(w[2,3], 0)", "is too large"},
      {"bucketed(w[31,3], 3)", "has no table of 32 buckets"},
      {"bucketed(w[32], 3)", "has no table of 32 buckets"},
      {"alibi(4, 0)", "is too large"},
      {"alibi(0, 4)", "is too large"},
      {"alibi(4.5, 4)", "has a number that is no place in a tensor"},
      {"alibi(4)", operands},
      {"alibi(w[2], 4, 4)", operands}};
  for (auto& [text, words] : cases) {
    SCOPED_TRACE(text);
    ExpectRefused([&] { Expr::Parse(text, "the field x"); },
                  std::string("the field x: a weight's expression ") + words);
    ExpectRefused([&] { Expr::Parse(text, "the field x"); }, "; compile the plan again");
  }
}

// 64 operations are read and 65 are not, however they nest.
TEST(Expr, MostTerms) {
  std::string text = "w[2]";
  for (int i = 1; i < Expr::kMostTerms; ++i) text = "centre(" + text + ")";
  EXPECT_EQ(Expr::Parse(text, "here").Text(), text);
  ExpectRefused([&] { Expr::Parse("centre(" + text + ")", "here"); }, "has more than 64 operations");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "centre(";
  ExpectRefused([&] { Expr::Parse(deep, "here"); }, "has more than 64 operations");
  Expr e = kG;
  for (int i = 0; i < 5; ++i) e = e.Plus(e);  // copies share a tree, its text does not
  ExpectRefused([&] { e.Plus(kG); }, "has more than 64 operations");
}

TEST(Expr, Leaves) {
  std::map<std::string, Shape> all;
  kW.Rows(kG).Plus(kB).Leaves(&all);
  EXPECT_EQ(all, (std::map<std::string, Shape>{{"w", {2, 3}}, {"g", {2}}, {"b", {3}}}));
  Expr().Leaves(&all);
  EXPECT_EQ(all.size(), 3u);
  ExpectRefused([&] { L("w", {3, 2}).Leaves(&all); }, "reads w in two shapes");
}

TEST(Expr, ValueRefusals) {
  const Checkpoint w = Some();
  ExpectRefused([&] { w.Value(L("q", {2})); }, "the model has no tensor q; use the model that the plan was made from",
                Cause::kInput);
  ExpectRefused(
      [&] {
        w.Value(L("w", {3, 2}).Centred());
      },
      "the model's tensor w has another shape than the plan's; use the model that the plan was made from",
      Cause::kInput);
  EXPECT_THROW((void)w.Value(Expr()), Bug);
  Checkpoint bad;
  EXPECT_THROW(bad.Set("w", {{2, 2}, {1, 2, 3}}), Bug);
}

}  // namespace
}  // namespace suf::nn
