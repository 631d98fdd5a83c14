#include <cmath>

#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

Scores Make(int heads, int serving, int64_t head_dim, bool causal, int ring) {
  Scores s;
  s.heads = heads;
  s.serving = serving;
  s.head_dim = head_dim;
  s.causal = causal;
  s.ring = ring;
  return s;
}

// Returns the pairs j <= i of (heads, n, n).
Ints Packed(const IntArray& y) {
  const int64_t n = y.cols();
  Ints v;
  for (int64_t i = 0; i < int64_t(y.at.size()); ++i)
    if (i % n <= i / n % n) v.push_back(y.at[size_t(i)]);
  return v;
}

// Returns the scores, computed by hand, for q (n, heads head_dim) and k (n, serving head_dim).
Ints Meant(const Scores& s, int64_t n, const Ints& q, const Ints& k, const Tensor* bias) {
  Ints y;
  for (int64_t h = 0; h < s.heads; ++h)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (s.causal && j > i) continue;
        uint64_t sum = bias ? uint64_t((*bias)[h * bias->cols() + bias->cols() / 2 + j - i]) : 0;
        for (int64_t d = 0; d < s.head_dim; ++d)
          sum += uint64_t(q[size_t((i * s.heads + h) * s.head_dim + d)]) *
                 uint64_t(k[size_t((j * s.serving + h * s.serving / s.heads) * s.head_dim + d)]);
        y.push_back(gates::Number(sum, s.ring));
      }
  return y;
}

// Every pair of 6-bit numbers, in rings as wide and narrower. No key, one flight.
TEST(Scores, Exhaustive) {
  for (bool causal : {false, true})
    for (OperandForm form : kForms)
      for (int ring : {4, 6}) {
        Scores s = Make(1, 1, 1, causal, ring);
        s.form = form;
        const Ints q = gates::Range(-32, 32);
        OpRig rig(64);
        if (causal) rig.order = Packed;
        const Ints got =
            rig.Run(s, {{{{64, 1}, q}, 6, OperandForm::kProduct}, {{{64, 1}, q}, 6, OperandForm::kProduct}});
        EXPECT_EQ(got, Meant(s, 64, q, q, nullptr));
        EXPECT_EQ(got.size(), causal ? 65u * 32u : 4096u);  // without later positions
        EXPECT_EQ(rig.g.sent("y"), int64_t(got.size()) * ring * (form == OperandForm::kMap ? 1 : 2));
        EXPECT_EQ(rig.key_bits(got.size()), form == OperandForm::kOpen ? 0 : int64_t(got.size()) * ring);
      }
}

// Grouped heads, one and two inputs, P0's relative bias, wide rings.
TEST(Scores, EveryShape) {
  for (int ring : kWideRings)
    for (bool causal : {false, true})
      for (bool relative : {false, true})
        for (int serving : {1, 2, 4})
          for (int n : {1, 5}) {
            Scores s = Make(4, serving, 3, causal, ring);
            OpRig rig(n);
            if (causal) rig.order = Packed;
            if (relative) {
              s.relative = Expr::Leaf("r", {4, 11});
              rig.weights["relative"] = Tensor({4, 11}, Numbers(44, 1 << 20));
            }
            const Tensor* bias = relative ? &rig.weights["relative"] : nullptr;
            const Ints q = Numbers(size_t(n * 12), int64_t{1} << (ring - 3), 5),
                       k = Numbers(size_t(n * 3 * serving), int64_t{1} << (ring - 3), 6);
            const Ints want = Meant(s, n, q, k, bias);
            EXPECT_EQ(rig.Run(s, {{{{n, 12}, q}, ring, OperandForm::kProduct},
                                  {{{n, 3 * serving}, k}, ring + 2, OperandForm::kProduct}}),
                      want);
            EXPECT_EQ(rig.key_bits(want.size()), 0);

            IntArray row{{n, 12 + 3 * serving}, {}};
            for (int i = 0; i < n; ++i) {
              row.at.insert(row.at.end(), q.begin() + i * 12, q.begin() + (i + 1) * 12);
              row.at.insert(row.at.end(), k.begin() + i * 3 * serving, k.begin() + (i + 1) * 3 * serving);
            }
            OpRig one(n);
            one.order = rig.order;
            one.weights = rig.weights;
            EXPECT_EQ(one.Run(s, {{row, ring, OperandForm::kProduct}}), want);
          }
}

TEST(Scores, OneFlight) {
  for (OperandForm form : kForms) {
    Scores s = Make(1, 1, 1, true, 8);
    s.form = form;
    EXPECT_EQ(FlightsOf(3,
                        [&](OpRig* rig) {
                          rig->order = Packed;
                          const Given x{{{3, 1}, {1, -2, 3}}, 8, OperandForm::kProduct};
                          rig->Run(s, {x, x});
                        }),
              1);
  }
}

TEST(Scores, Float) {
  Scores s = Make(2, 1, 2, false, 0);
  Checkpoint w;
  s.relative = Expr::Leaf("r", {2, 3});
  Store(&w, s.relative, {1, 2, 3, 4, 5, 6});  // one behind, itself, one ahead
  const RealArray q{{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}, k{{2, 2}, {1, -1, 2, 0.5}};
  const double r = std::sqrt(2.0);
  const Reals want{-1 + 2 * r, 3 + 3 * r, -1 + r, 13 + 2 * r, -1 + 5 * r, 8 + 6 * r, -1 + 4 * r, 18 + 5 * r};
  const RealArray y = FloatOf(s, 2, w, {q, k}),
                  one = FloatOf(s, 2, w, {{{2, 6}, {1, 2, 3, 4, 1, -1, 5, 6, 7, 8, 2, 0.5}}});
  EXPECT_EQ(y.shape, (Shape{2, 2, 2}));
  EXPECT_EQ(y.at, one.at);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(y.at[i], want[i]);
}

TEST(Scores, ChooseSlotsAndFields) {
  Scores s = Make(4, 2, 3, true, 30);
  const Edges in{EdgeOf(8, 30, 12), EdgeOf(8, 30, 6)};
  s.Choose({Options{}}, in);
  EXPECT_EQ(s.scale, 16);
  EXPECT_EQ(s.Dim(in), 4);
  EXPECT_EQ(s.Reads(0), OperandForm::kProduct);
  EXPECT_TRUE(s.Slots().empty());
  std::vector<Width> widths;
  EXPECT_EQ(s.Bound({Options{}}, in, &widths).dim, 0);  // read by slices alone: no certificate
  EXPECT_TRUE(widths.empty());
  ExpectFields(s);
  s.relative = Expr::Leaf("r", {4, 17});
  ExpectFields(s);
  const WeightSlot slot = s.Slots().at(0);
  EXPECT_TRUE(slot.name == "relative" && slot.scale == 16 && !slot.masked && slot.length == WeightSlot::kCorner);
  Checkpoint w;
  Store(&w, s.relative, Reals(68, 2.0));
  EXPECT_DOUBLE_EQ(w.Value(slot.weight)[7], 2 * std::sqrt(3.0));  // scores are not yet divided by sqrt(head_dim)
}

TEST(Scores, Refusals) {
  auto refuses = [](const Scores& s, const char* words) { ExpectRefused([&] { s.Verify("here"); }, words); };
  Scores s = Make(4, 3, 2, false, 20);
  refuses(s, "the heads of k do not divide those of q");
  s = Make(4, 2, 2, false, 20);
  for (const Shape& shape : {Shape{3, 17}, {4, 16}, {4, 9, 9}, {17}}) {
    s.relative = Expr::Leaf("r", shape);
    refuses(s, "the relative bias has the wrong shape");
  }

  s = Make(4, 2, 3, true, 20);
  s.relative = Expr::Leaf("r", {4, 17});
  s.scale = 16;
  EXPECT_NO_THROW(s.Verify("here"));
  using F = Fault<Scores>;
  const char *inputs = "its inputs are not q and k", *ring = "an input's ring is narrower than its own";
  ExpectChecked<Scores>(
      s, {EdgeOf(8, 20, 12), EdgeOf(8, 20, 6)}, 9,
      {F{[](Scores&, Edges& e) { e[0].dim = 11; }, inputs}, F{[](Scores&, Edges& e) { e[1].dim = 12; }, inputs},
       F{[](Scores&, Edges& e) { e[1].scale = 9; }, inputs}, F{[](Scores&, Edges& e) { e[1].ring = 19; }, ring},
       F{[](Scores& x, Edges&) { x.ring = 21; }, ring},
       F{[](Scores&, Edges& e) { e[1].one_row = true; }, "an input has one row"},
       F{[](Scores& x, Edges&) { ++x.scale; }, "its scale does not follow from its inputs'"},
       F{[](Scores& x, Edges&) {
           x.relative = Expr::Leaf("r", {4, 15});
         },
         "the relative bias has too few positions"}});
  ExpectChecked<Scores>(s, {EdgeOf(8, 20, 18)}, 9,
                        {F{[](Scores&, Edges& e) { e[0].dim = 24; }, "its input is not as wide as q and k"}});
}

}  // namespace
}  // namespace suf::nn
