#include "suf/nn/ops/lookup.hpp"

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

constexpr int64_t kWords = 5, kPlaces = 4, kDim = 3;

Lookup MakeLookup(bool positions) {
  Lookup l;
  l.table = Expr::Leaf("words", {kWords, kDim});
  if (positions) l.positions = Expr::Leaf("places", {kPlaces, kDim});
  l.Choose({Options{}}, {});
  return l;
}

void Fill(OpRig* rig) {
  rig->weights["table"] = Tensor({kWords, kDim}, Numbers(kWords * kDim, 4000, 2));
  rig->weights["positions"] = Tensor({kPlaces, kDim}, Numbers(kPlaces * kDim, 4000, 3));
}

// Every id in every place and every form, with the rows computed by hand.
TEST(Lookup, Exhaustive) {
  for (bool positions : {false, true})
    for (OperandForm form : kForms)
      for (int n = 1; n <= kPlaces; ++n) {
        Lookup l = MakeLookup(positions);
        l.form = form;
        for (int first = 0; first < kWords; first += n == 1 ? 1 : 3) {
          OpRig rig(n);
          Fill(&rig);
          Ints want;
          for (int i = 0; i < n; ++i) {
            rig.ids.push_back(int32_t((first + i) % kWords));
            for (int64_t j = 0; j < kDim; ++j)
              want.push_back(rig.weights["table"][rig.ids.back() * kDim + j] +
                             (positions ? rig.weights["positions"][i * kDim + j] : 0));
          }
          EXPECT_EQ(rig.Run(l, {}), want);
          EXPECT_EQ(rig.ring, 16);
          // an opening is free; a reader of shares of the mask costs a word an element
          EXPECT_EQ(rig.key_bits(size_t(n * kDim)), form == OperandForm::kOpen ? 0 : 16 * n * kDim);
          EXPECT_EQ(rig.g.flights(), 2);  // the one-hot rows, P0's half
          EXPECT_EQ(rig.g.sent("masked one-hot"), 16 * n * kWords);
        }
      }
}

TEST(Lookup, RefusesOtherIds) {
  Lookup l = MakeLookup(false);
  Checkpoint w;
  Store(&w, l.table, Reals(size_t(kWords * kDim), 1.0));
  for (int32_t id : {-1, 5}) {
    OpRig rig(2);
    Fill(&rig);
    rig.ids = {4, id};
    const std::string words = Str("token 2 has the id ", id,
                                  ", and the vocabulary has the ids 0 to 4; use the tokenizer of the plan's model");
    ExpectRefused([&] { rig.Spec(l, {}); }, words, Cause::kInput);
    ExpectRefused([&] { FloatOf(l, 2, w, {}, {4, id}); }, words, Cause::kInput);
  }
}

TEST(Lookup, Float) {
  Lookup l = MakeLookup(true);
  Checkpoint w;
  const Reals words = RealNumbers(kWords * kDim, 4), places = RealNumbers(kPlaces * kDim, 5);
  Store(&w, l.table, words);
  Store(&w, l.positions, places);
  const RealArray y = FloatOf(l, 3, w, {}, {4, 0, 4});
  EXPECT_EQ(y.shape, (Shape{3, kDim}));
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < size_t(kDim); ++j) {
      const size_t id = i == 1 ? 0 : 4;
      EXPECT_DOUBLE_EQ(y.at[i * kDim + j], double(float(words[id * kDim + j])) + double(float(places[i * kDim + j])));
    }
}

// Every sequence of three ids.
TEST(Lookup, BoundIsSoundAndTight) {
  for (bool positions : {false, true}) {
    Lookup l = MakeLookup(positions);
    OpRig rig(3);
    Fill(&rig);
    const Bounded b = BoundOf(l, 3, {}, rig.weights);
    Reals most(size_t(kDim), 0.0);
    for (int32_t a = 0; a < kWords; ++a)
      for (int32_t c = 0; c < kWords; ++c) {
        rig.ids = {a, c, a};
        const IntArray y = rig.Spec(l, {});
        ExpectWithin(y, b.reach);
        for (size_t i = 0; i < y.at.size(); ++i)
          most[i % size_t(kDim)] = std::max(most[i % size_t(kDim)], std::abs(double(y.at[i])));
      }
    for (size_t j = 0; j < size_t(kDim) && !positions; ++j) EXPECT_EQ(most[j], b.reach.each[j]);
    EXPECT_TRUE(b.widths.empty());
  }
}

TEST(Lookup, ChooseSlotsAndFields) {
  Options o;
  o.embedding = 9;
  Lookup l = MakeLookup(true);
  l.Choose({o}, {});
  EXPECT_EQ(l.scale, 9);
  EXPECT_EQ(l.ring, 16);
  EXPECT_EQ(l.Dim({}), kDim);
  EXPECT_EQ(l.Inputs(), (std::pair<size_t, size_t>{0, 0}));
  const std::vector<WeightSlot> s = l.Slots();
  ASSERT_EQ(s.size(), 2u);
  EXPECT_TRUE(s[0].name == "table" && s[0].scale == 9 && s[0].masked && s[0].length == WeightSlot::kFixed);
  EXPECT_TRUE(s[1].name == "positions" && s[1].scale == 9 && !s[1].masked && s[1].length == WeightSlot::kRows);
  EXPECT_EQ(MakeLookup(false).Slots().size(), 1u);
  ExpectFields(l);
  ExpectFields(MakeLookup(false));
}

TEST(Lookup, CheckFaults) {
  using F = Fault<Lookup>;
  const char* wide = "its positions are not as wide as its table";
  ExpectChecked<Lookup>(MakeLookup(true), {}, kPlaces,
                        {F{[](Lookup& l, Edges&) { l.table = Expr::Leaf("words", {kDim}); }, "its table is no matrix"},
                         F{[](Lookup& l, Edges&) { l.positions = Expr::Leaf("places", {kDim}); }, wide},
                         F{[](Lookup& l, Edges&) {
                             l.positions = Expr::Leaf("places", {kPlaces, kDim + 1});
                           },
                           wide},
                         F{[](Lookup& l, Edges&) {
                             l.positions = Expr::Leaf("places", {kPlaces - 1, kDim});
                           },
                           "it has too few positions"}});
  ExpectChecked<Lookup>(MakeLookup(false), {}, 1000, {});
}

}  // namespace
}  // namespace suf::nn
