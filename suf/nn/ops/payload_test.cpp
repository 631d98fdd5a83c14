// A weighted sum whose weights are never opened: softmax with a predicted shift, together with its reader.
#include "suf/compiler/unopened.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

// A softmax and its reader. The table has five entries in a window of `shift` + 3 bits. Row sums are below 2^row_sum.
struct Pair {
  Softmax e;
  WeightedSum y;
  Pair(int heads, int serving, int64_t head_dim, int shift, int row_sum, int product, int ring) {
    e.by = Softmax::kShift;
    e.ring = product;
    e.shift = shift;
    e.shifted.index = 3;
    e.form = OperandForm::kSummands;
    e.shifted.table = {1, 3, 9, 4, 2};
    e.shifted.end = 7;
    e.shifted.peak = 6;
    e.offset.assign(size_t(heads), 3);
    y.heads = heads;
    y.serving = serving;
    y.head_dim = head_dim;
    y.tail = WeightedSum::kPayload;
    y.floor = 1;
    y.row_sum = y.top = row_sum;
    y.product = product;
    y.ring = ring;
    y.recip = func::FitOctaves([&](double v) { return std::ldexp(1.0, row_sum + 2) / v; }, 0, row_sum, 2, 8).f;
  }
};

// Runs both on these wires, and expects the specification's rows from `from` on, by heads.
void RunPair(OpRig* rig, const Pair& p, OperandForm form, const std::vector<Given>& in, const IntArray& v,
             const AnyWire& score) {
  pfss::Trace& t = rig->g.t;
  const int rows = rig->rows, from = rig->from;
  const AnyWire shift = rig->g.Give(in[1].wire.at, in[1].ring, in[1].wire.shape),
                values = rig->g.Both(v.at, p.y.product, v.shape);
  const std::vector<AnyWire> of_e{score, shift};
  const AnyWire e = p.e.Build({t, rig->n, false, OperandForm::kSummands, "6", "e", from, rows}, of_e);
  ASSERT_TRUE(std::holds_alternative<Summands>(e));
  const std::vector<AnyWire> of_y{e, values};
  const AnyWire y = p.y.Build({t, rig->n, false, form, "7", "y", from, rows}, of_y);
  pfss::Sh z;
  if (form == OperandForm::kMap) {
    const SharedWire<kP0> w = AsMap(y);
    z = -pfss::Sh(w.s);
    z.a = z.a + w.hat;
  } else {
    const SharedWire<kPub> w = AsProduct(y);
    z = -pfss::Sh(w.s) + w.hat;
  }
  const Ints got = rig->g.Run(z);
  const IntArray weights = rig->Spec(p.e, {in[0], in[1]});
  const IntArray want = rig->Spec(p.y, {{weights, p.y.product}, {v, p.y.product}});
  Ints by_heads;
  for (int64_t h = 0; h < p.y.heads; ++h)
    for (int64_t i = from; i < from + rows; ++i)
      for (int64_t k = 0; k < p.y.head_dim; ++k)
        by_heads.push_back(gates::Number(uint64_t(want.at[size_t((i * p.y.heads + h) * p.y.head_dim + k)]), p.y.ring));
  EXPECT_EQ(got, by_heads);
  // of a causal text, entries of later positions are not read, but their words are dealt
  const int64_t pairs = p.y.heads * (p.e.causal && rows > 1 ? rows * (rows + 1) / 2 : int64_t(rows) * rig->n);
  EXPECT_EQ(rig->g.key_bits(),
            pairs * compiler::EntrySummandsKeyBits({p.e.shift, 0, p.e.shifted.end, {}}, p.e.window()) +
                p.y.PayloadKeyBits(int64_t(p.y.heads) * rows, rig->n));
}

// Every score of a window of 5 bits under every mask, with one value each. The masks of the row sum vary.
TEST(Payload, EveryScoreUnderEveryMask) {
  for (int shift : {1, 2})
    for (OperandForm form : {OperandForm::kMap, OperandForm::kProduct}) {
      const int k = shift + 3, size = 1 << k, heads = size * size;
      Pair p(heads, heads, 1, shift, 5, 10, 16);
      Ints numbers;
      std::vector<uint64_t> hats, masks;
      for (int x = 0; x < size; ++x)
        for (int r = 0; r < size; ++r) {
          numbers.push_back(x);
          hats.push_back(uint64_t(x + r) % uint64_t(size));
          masks.push_back(uint64_t(r));
        }
      OpRig rig(1);
      const IntArray score{{heads, 1, 1}, numbers}, shifts{{1, heads}, Numbers(size_t(heads), 3, 5)},
          v{{1, heads}, Numbers(size_t(heads), 7, 6)};
      // one given zero, moved by public words
      const SharedWire<kPub> zero = rig.g.Give({0}, k);
      Wire<kPub> wire = pfss::Map(Wire<kPub>(zero), [&](auto w) { return Broadcast(w, {heads, 1, 1}); });
      wire.hat = wire.hat + rig.g.t.constant(hats, {heads, 1, 1});
      wire.r = wire.r + rig.g.t.constant(masks, {heads, 1, 1});
      RunPair(&rig, p, form, {{score, k}, {shifts, k, OperandForm::kOpen, shifts}}, v, wire);
    }
}

// The last row and all rows, grouped heads, and wide rings, in which e v wraps or does not.
TEST(Payload, EveryShape) {
  for (int ring : {24, 33, 64})
    for (int serving : {1, 4})
      for (bool last : {true, false})
        for (bool causal : {true, false}) {
          constexpr int kTokens = 5;
          Pair p(4, serving, 3, 12, 7, 24, ring);
          p.e.causal = causal;
          OpRig rig(kTokens);
          if (last) {
            rig.from = kTokens - 1;
            rig.rows = 1;
          }
          const int k = p.e.window();
          const IntArray score{{4, kTokens, kTokens}, Numbers(100, int64_t{1} << (k - 1), 3)},
              shifts{{kTokens, 4}, Numbers(20, 1 << 12, 4)},
              v{{kTokens, 3 * serving}, Numbers(size_t(15 * serving), 1 << 15, 5)};
          Given own{shifts, k, OperandForm::kOpen, shifts};
          Ints lying;
          for (int64_t i = 0; i < 100; ++i)
            if (last ? i / kTokens % kTokens == kTokens - 1 : !causal || i % kTokens <= i / kTokens % kTokens)
              lying.push_back(score.at[size_t(i)]);
          const pfss::Shape shape = last     ? pfss::Shape{4, 1, kTokens}
                                    : causal ? pfss::Shape{4, kTokens * (kTokens + 1) / 2}
                                             : pfss::Shape{4, kTokens, kTokens};
          if (last) own.wire = {{1, 4}, {shifts.at.end() - 4, shifts.at.end()}};
          RunPair(&rig, p, OperandForm::kProduct, {{score, k}, own}, v, rig.g.Give(lying, k, shape));
        }
}

// Three openings follow that of the scores: window sums and carry, row sum and e v, result. With e opened there are
// five.
TEST(Payload, Openings) {
  Pair p(2, 2, 3, 12, 7, 24, 40);
  OpRig rig(4);
  rig.from = 3;
  rig.rows = 1;
  const IntArray score{{2, 4, 4}, Numbers(32, 1 << 14, 3)}, shifts{{4, 2}, Numbers(8, 1 << 12, 4)},
      v{{4, 6}, Numbers(24, 1 << 15, 5)};
  const Given own{shifts, 15, OperandForm::kOpen, {{1, 2}, {shifts.at.end() - 2, shifts.at.end()}}};
  Ints lying;
  for (size_t i = 0; i < 32; ++i)
    if (i / 4 % 4 == 3) lying.push_back(score.at[i]);
  RunPair(&rig, p, OperandForm::kMap, {{score, 15}, own}, v, rig.g.Both(lying, 15, {2, 1, 4}));
  EXPECT_EQ(rig.g.sent("e"), 0);
  EXPECT_EQ(rig.g.sent("row sum"), 2 * 2 * 7);
  EXPECT_EQ(rig.g.sent("eV"), 2 * 2 * 3 * 24);
  EXPECT_EQ(rig.g.flights(), Flights(3));
}

TEST(Payload, FieldsKnobsAndCheck) {
  Pair p(4, 2, 3, 12, 9, 20, 30);
  p.y.scale = 12;
  ExpectFields(p.y);
  Knob k = p.y.Knobs().back();
  EXPECT_EQ(k.name, "tail");
  EXPECT_EQ(k.options, (std::vector<std::string>{"e", "payload"}));
  EXPECT_EQ(k.at, 1u);
  EXPECT_EQ(p.y.Reads(0), OperandForm::kSummands);
  EXPECT_EQ(p.y.Reads(1), OperandForm::kProduct);
  k.set(0);
  EXPECT_EQ(p.y.tail, WeightedSum::kOpened);
  EXPECT_EQ(p.y.Reads(0), OperandForm::kProduct);
  p.y.floor = 0;
  EXPECT_EQ(p.y.Knobs().size(), 1u);  // a maximum's weights are opened
  p.y.floor = 1;
  p.y.tail = WeightedSum::kPayload;
  ExpectChecked<WeightedSum>(
      p.y, {EdgeOf(9, 20, 4), EdgeOf(8, 20, 6)}, 9,
      {Fault<WeightedSum>{[](WeightedSum& x, Edges&) { x.floor = 0; }, "its tail is for a predicted shift"}});
  Softmax s;
  s.form = OperandForm::kSummands;
  ExpectRefused([&] { s.Check({EdgeOf(8, 20, 4)}, 9, "here"); },
                "its reader takes summands of a maximum's exponential");
}

}  // namespace
}  // namespace suf::nn
