#include "suf/nn/ops/lookup.hpp"

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

constexpr int64_t kWords = 5, kPlaces = 4, kDim = 3, kTypes = 2;

Lookup MakeLookup(bool positions, int64_t types = 0) {
  Lookup l;
  l.table = Expr::Leaf("words", {kWords + types, kDim});
  l.types = types;
  if (positions) l.positions = Expr::Leaf("places", {kPlaces, kDim});
  l.Choose({Options{}}, {});
  return l;
}

void Fill(OpRig* rig, int64_t types = 0) {
  const int64_t rows = kWords + types;
  rig->weights["table"] = Tensor({rows, kDim}, Numbers(size_t(rows * kDim), 4000, 2));
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

// Every id with every type, in every place and form. The rows of entry, type and place cost no key and no flight more.
TEST(Lookup, TypesExhaustive) {
  for (bool positions : {false, true})
    for (OperandForm form : kForms)
      for (int32_t first = 0; first < kWords * kTypes; ++first) {
        Lookup l = MakeLookup(positions, kTypes);
        l.form = form;
        OpRig rig(2);
        Fill(&rig, kTypes);
        rig.ids = {first, int32_t((first + 7) % (kWords * kTypes))};
        const Tensor& table = rig.weights["table"];
        Ints want;
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < kDim; ++j) {
            const int64_t entry = rig.ids[size_t(i)] % kWords, type = rig.ids[size_t(i)] / kWords;
            want.push_back(table[entry * kDim + j] + table[(kWords + type) * kDim + j] +
                           (positions ? rig.weights["positions"][i * kDim + j] : 0));
          }
        EXPECT_EQ(rig.Run(l, {}), want);
        EXPECT_EQ(rig.key_bits(size_t(2 * kDim)), form == OperandForm::kOpen ? 0 : 16 * 2 * kDim);
        EXPECT_EQ(rig.g.flights(), 2);
        EXPECT_EQ(rig.g.sent("masked one-hot"), 16 * 2 * (kWords + kTypes));
      }
}

// P1's own rows of a public table are the words of a private one, and no one-hot row is sent.
TEST(Lookup, APublicTableExhaustive) {
  for (bool positions : {false, true})
    for (int64_t types : {int64_t{0}, kTypes})
      for (OperandForm form : kForms)
        for (int32_t first = 0; first < kWords * std::max<int64_t>(1, types); ++first) {
          Lookup l = MakeLookup(positions, types), known = l;
          known.known = true;
          l.form = known.form = form;
          Ints words[2];
          for (Lookup* of : {&l, &known}) {
            OpRig rig(2);
            Fill(&rig, types);
            rig.ids = {first, (first + 3) % int32_t(kWords)};
            words[of == &known] = rig.Run(*of, {});
            if (of != &known) continue;
            EXPECT_LE(rig.g.flights(), 2);
            EXPECT_EQ(rig.g.sent("masked one-hot"), 0);
          }
          EXPECT_EQ(words[0], words[1]);
        }
}

TEST(Lookup, TypesLieInTheIds) {
  const auto [ids, types] = SplitTypes(std::vector<int32_t>{0, 4, 5, 9, 10, 14}, 5, 3);
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 4, 0, 4, 0, 4}));
  EXPECT_EQ(types, (std::vector<int32_t>{0, 0, 1, 1, 2, 2}));
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
  for (int kind = 0; kind < 4; ++kind) {
    const bool positions = kind % 2;
    const int64_t types = kind / 2 * kTypes;
    Lookup l = MakeLookup(positions, types);
    OpRig rig(3);
    Fill(&rig, types);
    const Bounded b = BoundOf(l, 3, {}, rig.weights);
    Reals most(size_t(kDim), 0.0);
    const int32_t all = int32_t(kWords * std::max<int64_t>(1, types));
    for (int32_t a = 0; a < all; ++a)
      for (int32_t c = 0; c < all; ++c) {
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
  ExpectFields(MakeLookup(true, kTypes));
  l.known = true;
  ExpectFields(l);
  EXPECT_TRUE(l.Slots()[0].known && !l.Slots()[0].masked);
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
  ExpectChecked<Lookup>(
      MakeLookup(true, kTypes), {}, kPlaces,
      {F{[](Lookup& l, Edges&) { l.types = kWords + kTypes; }, "its table has no row besides those of types"},
       F{[](Lookup& l, Edges&) {
           l.table = Expr::Leaf("words", {(int64_t{1} << 30) + 4, kDim});
         },
         "its table has too many rows"}});
}

}  // namespace
}  // namespace suf::nn
