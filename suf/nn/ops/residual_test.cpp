#include "suf/nn/ops/residual.hpp"

#include "suf/gates/product.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

template <class T>
T Made(int ring, OperandForm form = OperandForm::kOpen) {
  T op;
  op.ring = ring;
  op.form = form;
  return op;
}

// Every pair of numbers inside the gaps of two narrow rings.
TEST(Product, Exhaustive) {
  for (auto [k, m] : {std::pair{3, 6}, {5, 5}, {6, 4}})
    for (OperandForm form : kForms)
      for (int ring : {3, 8, 12, 40}) {
        WireProduct p = Made<WireProduct>(ring, form);
        Ints x, y, want;
        for (int64_t a : gates::Range(-(1 << (k - 2)), 1 << (k - 2)))
          for (int64_t b : gates::Range(-(1 << (m - 2)), 1 << (m - 2))) {
            x.push_back(a);
            y.push_back(b);
            want.push_back(gates::Number(uint64_t(a * b), ring));
          }
        const int64_t n = int64_t(x.size());
        OpRig rig{int(n)};
        EXPECT_EQ(rig.Run(p, {{{{n, 1}, x}, k}, {{{n, 1}, y}, m}}), want);
        EXPECT_EQ(rig.key_bits(x.size()), n * gates::Multiply{ring}.KeyBits(k, m, form != OperandForm::kOpen));
      }
}

TEST(Product, OneFlight) {
  for (OperandForm form : kForms)
    EXPECT_EQ(FlightsOf(1,
                        [&](OpRig* rig) {
                          rig->Run(Made<WireProduct>(12, form), {{{{2, 1}, {3, -4}}, 6}, {{{2, 1}, {7, 5}}, 6}});
                        }),
              1);
}

TEST(Product, WideRings) {
  for (int k : kWideRings)
    for (int m : {20, 33, 62}) {
      WireProduct p = Made<WireProduct>(64);
      OpRig rig(100);
      rig.Run(p, {{{{100, 1}, Numbers(100, (int64_t{1} << (k - 2)) - 1, 1)}, k},
                  {{{100, 1}, Numbers(100, (int64_t{1} << (m - 2)) - 1, 2)}, m}});
      EXPECT_EQ(rig.key_bits(100), 100 * gates::Multiply{64}.KeyBits(k, m, false));
    }
}

// Every pair of bytes at two scales, in whatever form both are read. No key, no message, no flight.
TEST(Add, Exhaustive) {
  for (OperandForm form : kForms)
    for (int up : {0, 3})
      for (int ring : {5, 8}) {
        Add a = Made<Add>(ring, form);
        a.up[1] = up;
        EXPECT_EQ(a.Need(0, {}), ring);
        EXPECT_EQ(a.Need(1, {}), ring - up);
        Ints x, y;
        for (int64_t i : gates::Range(-128, 128, 4)) {
          x.push_back(i);
          y.push_back((i * 37 + int64_t(x.size()) / 256) % 16);
        }
        OpRig rig(1024);
        const Ints got = rig.Run(a, {{{{1024, 1}, x}, 8, form}, {{{1024, 1}, y}, ring - up, form}});
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], gates::Number(uint64_t(x[i] + y[i] * (1 << up)), ring));
        EXPECT_EQ(rig.key_bits(1024), 0);
        EXPECT_EQ(rig.g.flights(), 2);  // those of the rig
      }
}

TEST(Add, WideRings) {
  for (int k : kWideRings)
    for (OperandForm form : kForms) {
      Add a = Made<Add>(k, form);
      a.up[0] = 7;
      OpRig rig(50);
      rig.Run(a, {{{{50, 2}, Numbers(100, int64_t{1} << (k - 9), 1)}, k - 7, form},
                  {{{50, 2}, Numbers(100, int64_t{1} << (k - 2), 2)}, k, OperandForm::kProduct}});
      EXPECT_EQ(rig.key_bits(100), 0);
    }
}

TEST(Pool, EveryKindAndForm) {
  for (PoolRows::Kind kind : {PoolRows::kSum, PoolRows::kFirst, PoolRows::kLast})
    for (OperandForm form : kForms)
      for (int n : {1, 4})
        for (int k : {8, 33, 62}) {
          PoolRows p = Made<PoolRows>(k - 2, form);
          p.kind = kind;
          const Ints x = Numbers(size_t(n * 3), int64_t{1} << (k - 4));
          OpRig rig(n);
          const Ints got = rig.Run(p, {{{{n, 3}, x}, k, form}});
          ASSERT_EQ(got.size(), 3u);
          for (size_t j = 0; j < 3; ++j) {
            int64_t want = 0;
            for (int i = 0; i < n; ++i)
              if (kind == PoolRows::kSum || i == (kind == PoolRows::kFirst ? 0 : n - 1)) want += x[size_t(i) * 3 + j];
            EXPECT_EQ(got[j], gates::Number(uint64_t(want), k - 2));
          }
          EXPECT_EQ(rig.key_bits(3), 0);
          EXPECT_EQ(rig.g.flights(), 2);
        }
}

// Every z inside the gap. P1 alone learns it.
TEST(Result, Exhaustive) {
  for (int s = 1; s <= 5; ++s)
    for (int ring : {8 - s, 9, 33}) {
      RevealResult r = Made<RevealResult>(ring);
      r.shift = s;
      const Ints z = gates::Range(-64, 64 - (1 << (s - 1)), 4);
      const int64_t n = int64_t(z.size());
      OpRig rig{int(n)};
      const Ints got = rig.Run(r, {{{{n, 1}, z}, 8}}, true);
      for (size_t i = 0; i < z.size(); ++i) ASSERT_EQ(got[i], (z[i] + (1 << (s - 1))) >> s);
      const gates::Trunc gate{s, ring};
      EXPECT_EQ(rig.key_bits(0), n * gate.KeyBits(8, true));
    }
}

TEST(Result, WideRings) {
  for (int k : kWideRings) {
    RevealResult r = Made<RevealResult>(k - 12);
    r.shift = 13;
    OpRig rig(50);
    rig.Run(r, {{{{50, 2}, Numbers(100, (int64_t{1} << (k - 2)) - 4097)}, k}}, true);
  }
}

TEST(Stream, Float) {
  Checkpoint w;
  const RealArray x{{2, 2}, {1, -2, 3, 4}}, y{{2, 2}, {5, 6, -7, 8}};
  EXPECT_EQ(FloatOf(WireProduct(), 2, w, {x, y}).at, (Reals{5, -12, -21, 32}));
  Add a;
  EXPECT_EQ(FloatOf(a, 2, w, {x, y}).at, (Reals{6, 4, -4, 12}));
  a.centred[1] = true;
  EXPECT_EQ(FloatOf(a, 2, w, {x, y}).at, (Reals{0.5, -1.5, -4.5, 11.5}));
  PoolRows p;
  EXPECT_EQ(FloatOf(p, 2, w, {x}).at, (Reals{4, 2}));
  p.kind = PoolRows::kFirst;
  EXPECT_EQ(FloatOf(p, 2, w, {x}).at, (Reals{1, -2}));
  p.kind = PoolRows::kLast;
  EXPECT_EQ(FloatOf(p, 2, w, {x}).at, (Reals{3, 4}));
  EXPECT_EQ(FloatOf(RevealResult(), 2, w, {x}).at, x.at);
}

TEST(Stream, Choose) {
  const Options o;
  const Facts f{o};
  const Edges in{EdgeOf(10, 0, 2, BoxOf({100, 100})), EdgeOf(7, 0, 2, BoxOf({9, 9}))};
  WireProduct p;
  p.Choose(f, in);
  EXPECT_EQ(p.scale, 17);
  EXPECT_EQ(p.Need(0, in), RingOf(100));
  EXPECT_EQ(p.Need(1, in), RingOf(9));
  Add a;
  a.Choose(f, in);
  EXPECT_TRUE(a.scale == 10 && a.up[0] == 0 && a.up[1] == 3);
  a.Choose(f, {in[1], in[0]});
  EXPECT_TRUE(a.scale == 10 && a.up[0] == 3 && a.up[1] == 0);
  PoolRows pool;
  pool.Choose(f, in);
  EXPECT_EQ(pool.scale, 10);
  EXPECT_TRUE(pool.OneRow(in) && pool.Transparent() && a.Transparent());
  RevealResult r;  // result.logits is 10
  r.Choose(f, {EdgeOf(24, 0, 2, BoxOf({0x1p30, 1}))});
  EXPECT_TRUE(r.scale == 10 && r.shift == 14);
  EXPECT_EQ(r.ring, RingOf(0x1p30, 14) - 13);
  ExpectRefused([&] { r.Choose(f, {EdgeOf(10, 0, 2)}); },
                "the scale 2^10 of the result is not above 2^10; lower `result.logits`");
}

// Every row of both inputs.
TEST(Stream, BoundsAreSound) {
  const RowBound x = BoxOf({3, 2}, 3.2), y{2, 2.5, {}, {}, {}};
  WireProduct p;
  Add a;
  a.up[0] = 1;
  a.up[1] = 2;
  const Edges in{EdgeOf(4, 0, 2, x), EdgeOf(3, 0, 2, y)};
  const Bounded product = BoundOf(p, 1, in), sum = BoundOf(a, 1, in);
  OpRig rig(1);
  for (const Ints& i : RowsOf(x))
    for (const Ints& j : RowsOf(y)) {
      ExpectWithin(rig.Spec(p, {{{{1, 2}, i}}, {{{1, 2}, j}}}), product.reach);
      ExpectWithin(rig.Spec(a, {{{{1, 2}, i}}, {{{1, 2}, j}}}), sum.reach);
    }
  RevealResult r;
  r.shift = 2;
  const Bounded result = BoundOf(r, 1, {EdgeOf(8, 0, 2, BoxOf({20, 9}))});
  for (const Ints& i : RowsOf(BoxOf({20, 9}))) ExpectWithin(rig.Spec(r, {{{{1, 2}, i}}}), result.reach);
  for (PoolRows::Kind kind : {PoolRows::kSum, PoolRows::kFirst, PoolRows::kLast}) {
    PoolRows pool;
    pool.kind = kind;
    const Bounded b = BoundOf(pool, 2, {EdgeOf(4, 0, 2, x)});
    for (const Ints& i : RowsOf(x))
      for (const Ints& j : RowsOf(x)) ExpectWithin(rig.Spec(pool, {{{{2, 2}, {i[0], i[1], j[0], j[1]}}}}), b.reach);
    EXPECT_EQ(b.reach.length, x.length * (kind == PoolRows::kSum ? 2 : 1));
  }
}

TEST(Stream, Fields) {
  WireProduct p = Made<WireProduct>(20);
  p.scale = 9;
  ExpectFields(p);
  Add a = Made<Add>(20);
  a.up[0] = 3;
  a.up[1] = 5;
  ExpectFields(a);
  for (PoolRows::Kind kind : {PoolRows::kSum, PoolRows::kFirst, PoolRows::kLast}) {
    PoolRows pool = Made<PoolRows>(20);
    pool.kind = kind;
    ExpectFields(pool);
  }
  RevealResult r = Made<RevealResult>(20);
  r.shift = 4;
  r.key = "unit";
  ExpectFields(r);
  Recorder rec;
  PoolRows pool;
  pool.Attributes(rec);
  rec.items[0].second = "mean";
  rec.reading = true;
  ExpectRefused([&] { pool.Attributes(rec); }, "the plan pools by mean, which this program does not know; update it");
}

TEST(Stream, CheckFaults) {
  const Edges in{EdgeOf(10, 20, 4), EdgeOf(7, 20, 4)};
  WireProduct p = Made<WireProduct>(30);
  p.scale = 17;
  using P = Fault<WireProduct>;
  ExpectChecked<WireProduct>(
      p, in, 8,
      {P{[](WireProduct&, Edges& e) { e[1].dim = 3; }, "its inputs have two shapes"},
       P{[](WireProduct&, Edges& e) { e[1].one_row = true; }, "its inputs have two shapes"},
       P{[](WireProduct&, Edges& e) { e[0].ring = 2; }, "an input's ring has no gap"},
       P{[](WireProduct&, Edges& e) { e[1].ring = 64; }, "an input's ring has no gap"},
       P{[](WireProduct& x, Edges&) { ++x.scale; }, "its scale does not follow from its inputs'"}});
  Add a = Made<Add>(20);
  a.scale = 10;
  a.up[1] = 3;
  using A = Fault<Add>;
  ExpectChecked<Add>(a, in, 8,
                     {A{[](Add&, Edges& e) { e[1].dim = 3; }, "its inputs have two shapes"},
                      A{[](Add&, Edges& e) { e[1].one_row = true; }, "its inputs have two shapes"},
                      A{[](Add& x, Edges&) { x.up[1] = 2; }, "its scale does not follow from its inputs'"},
                      A{[](Add&, Edges& e) { e[0].ring = 19; }, "an input's ring is narrower than its own"},
                      A{[](Add&, Edges& e) { e[1].ring = 16; }, "an input's ring is narrower than its own"},
                      A{[](Add& x, Edges&) { x.ring = 3; }, "an input's ring is narrower than its own"}});
  PoolRows pool = Made<PoolRows>(20);
  pool.scale = 10;
  using Q = Fault<PoolRows>;
  ExpectChecked<PoolRows>(pool, {in[0]}, 8,
                          {Q{[](PoolRows& x, Edges&) { ++x.ring; }, "its input's ring or scale is not its own"},
                           Q{[](PoolRows&, Edges& e) { e[0].one_row = true; }, "its input has one row"},
                           Q{[](PoolRows& x, Edges&) { ++x.scale; }, "its input's ring or scale is not its own"}});
  RevealResult r = Made<RevealResult>(20);
  r.scale = 6;
  r.shift = 4;
  using R = Fault<RevealResult>;
  ExpectChecked<RevealResult>(
      r, {in[0]}, 8,
      {R{[](RevealResult& x, Edges&) { ++x.scale; }, "its shift leaves no bits of its ring"},
       R{[](RevealResult&, Edges& e) { e[0].ring = 6; }, "its shift leaves no bits of its ring"}});
}

}  // namespace
}  // namespace suf::nn
