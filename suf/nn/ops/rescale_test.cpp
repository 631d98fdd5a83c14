#include "suf/nn/ops/rescale.hpp"

#include "suf/gates/trunc.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

Rescale Make(Rescale::Kind kind, int shift, int ring, int stages = 1, int window = 0) {
  Rescale r;
  r.kind = kind;
  r.shift = shift;
  r.ring = ring;
  r.stages = compiler::Stages(stages);
  r.window = window;
  return r;
}
compiler::Stages StagesOf(int s) { return compiler::Stages(s); }

int64_t Rounded(int64_t v, int s) { return (v + (int64_t{1} << (s - 1))) >> s; }

// Every z inside the gap of an 8-bit ring, into every form. A reader of the opening alone gets no wider ring than the
// shift leaves.
TEST(Rescale, ExactExhaustive) {
  for (int s = 1; s <= 5; ++s)
    for (int stages : {0, 1, 2})
      for (OperandForm form : kForms)
        for (int ring : {8 - s, 8, 33}) {
          Rescale r = Make(Rescale::kExact, s, ring, stages);
          r.form = form;
          const Ints z = gates::Range(-64, 64 - (1 << (s - 1)), 8);
          OpRig rig(int(z.size()));
          const Ints got = rig.Run(r, {{{{int64_t(z.size()), 1}, z}, 8}});
          for (size_t i = 0; i < z.size(); ++i) ASSERT_EQ(got[i], Rounded(z[i], s));
          const int to = form == OperandForm::kOpen ? 8 - s : ring;
          EXPECT_EQ(rig.ring, to);
          const gates::Trunc gate{s, to, StagesOf(stages)};
          EXPECT_EQ(rig.key_bits(z.size()), int64_t(z.size()) * gate.KeyBits(8, form != OperandForm::kOpen));
        }
}

TEST(Rescale, Flights) {
  for (OperandForm form : kForms) {
    auto flights = [&](Rescale r) {
      r.form = form;
      return FlightsOf(1, [&](OpRig* rig) { rig->Run(r, {{{{3, 1}, {-50, 0, 33}}, 8}}); });
    };
    for (int stages : {0, 1, 2}) {
      EXPECT_EQ(flights(Make(Rescale::kExact, 3, 8, stages)), 1 + stages);
      if (stages == 0) continue;  // a clamp's slice opens its borrows
      EXPECT_EQ(flights(Make(Rescale::kClamp, 3, 8, stages, 4)), 1 + stages);
    }
    EXPECT_EQ(flights(Make(Rescale::kExtend, 0, 9)), 1);
  }
}

TEST(Rescale, ExactWideRings) {
  for (int k : kWideRings)
    for (int s : {1, 13, k / 2})
      for (int stages : {1, 2}) {
        if (stages == 1 && s > 30) continue;
        Rescale r = Make(Rescale::kExact, s, 64, stages);
        r.form = OperandForm::kProduct;
        const int64_t top = (int64_t{1} << (k - 2)) - (int64_t{1} << (s - 1)) - 1;
        const Ints z = gates::Some(-top, top, 100, uint64_t(k));
        OpRig rig(100);
        const Ints got = rig.Run(r, {{{{100, 1}, z}, k}});
        for (size_t i = 0; i < z.size(); ++i) ASSERT_EQ(got[i], Rounded(z[i], s)) << k << " " << s;
      }
}

// A rescale that is left out is a view in any form: nothing is dealt or sent.
TEST(Rescale, LeftOut) {
  for (Rescale::Kind kind : {Rescale::kOptional, Rescale::kClamp})
    for (OperandForm form : kForms) {
      Rescale r = Make(kind, 0, 7);
      r.form = form;
      EXPECT_TRUE(r.Transparent());
      EXPECT_FALSE(r.Wraps());
      OpRig rig(256);
      const Ints z = gates::Range(-128, 128);
      EXPECT_EQ(rig.Run(r, {{{{256, 1}, z}, 8, form}}), z);
      EXPECT_EQ(rig.g.key_bits(), 0);
      EXPECT_EQ(rig.g.flights(), 2);  // those of the rig
      EXPECT_EQ(r.Need(0, {}), 7);
    }
}

TEST(Rescale, ExtendExhaustive) {
  for (int k : {3, 8, 31})
    for (int ring : {k + 1, k + 9, 64})
      for (OperandForm form : kForms) {
        Rescale r = Make(Rescale::kExtend, 0, ring);
        r.form = form;
        EXPECT_FALSE(r.Transparent());
        const int64_t top = int64_t{1} << (k - 2);
        const Ints z = k < 10 ? gates::Range(-top, top, 4) : gates::Some(-top, top - 1, 100);
        OpRig rig(int(z.size()));
        EXPECT_EQ(rig.Run(r, {{{{int64_t(z.size()), 1}, z}, k}}), z);
        EXPECT_EQ(rig.ring, ring);
        EXPECT_EQ(rig.key_bits(z.size()),
                  int64_t(z.size()) * gates::Extend{ring}.KeyBits(k, form != OperandForm::kOpen));
      }
}

// Every value of a 10-bit ring: exact inside the window, wrapping outside.
TEST(Rescale, ClampWraps) {
  for (int stages : {1, 2})
    for (OperandForm form : kForms)
      for (int s : {1, 3})
        for (int window : {2, 5})
          for (int ring : {window + 1, 20}) {
            Rescale r = Make(Rescale::kClamp, s, ring, stages, window);
            r.form = form;
            EXPECT_TRUE(r.Wraps());
            EXPECT_EQ(r.Need(0, {}), s + window + 1);
            OpRig rig(1024);
            const Ints z = gates::Range(-512, 512);
            const Ints got = rig.Run(r, {{{{1024, 1}, z}, 10}});
            for (size_t i = 0; i < z.size(); ++i) {
              const int64_t x = Rounded(z[i], s), half = int64_t{1} << (window - 1);
              ASSERT_EQ(got[i], ((x + half) % (2 * half) + 2 * half) % (2 * half) - half) << z[i];
              if (x >= -half && x < half) {
                ASSERT_EQ(got[i], x);
              }
            }
            const gates::Slice gate{s, s + window, ring, 0, StagesOf(stages)};
            EXPECT_EQ(rig.key_bits(z.size()), 1024 * gate.KeyBits(10, form != OperandForm::kOpen));
          }
}

TEST(Rescale, ClampWideRings) {
  for (int k : kWideRings)
    for (int stages : {1, 2}) {
      Rescale r = Make(Rescale::kClamp, 9, 40, stages, 14);
      OpRig rig(100);
      rig.Run(r, {{{{100, 1}, gates::Some(-(int64_t{1} << (k - 1)), (int64_t{1} << (k - 1)) - 1, 100)}, k}});
    }
}

TEST(Rescale, FloatAndSee) {
  Rescale r;
  Checkpoint w;
  const RealArray x{{1, 3}, {1, -5, 2}};
  Seen seen;
  EXPECT_EQ(FloatOf(r, 1, w, {x}, {}, &seen).at, x.at);
  EXPECT_TRUE(seen.empty());
  r.kind = Rescale::kClamp;
  FloatOf(r, 1, w, {x}, {}, &seen);
  EXPECT_EQ(seen.at("size")[0].high, 5);
}

TEST(Rescale, ChooseExactAndOptional) {
  const Options o;  // result.value is 10
  Facts f{o};
  f.n = 8;
  int asked = 0, needed = 64;
  f.ring_ahead = [&](const Edge& mine) {
    ++asked;
    EXPECT_EQ(mine.scale, 24);
    EXPECT_EQ(mine.nominal, 10);
    return needed;
  };
  const Edges in{EdgeOf(24, 0, 4, BoxOf({1000}))};
  Rescale r = Make(Rescale::kExact, 9, 0);
  r.key = "value";
  r.Choose(f, in);
  EXPECT_EQ(r.shift, 14);
  EXPECT_EQ(r.scale, 10);
  EXPECT_EQ(r.Nominal(o), 10);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(r.Need(0, in), RoundedRingOf(1000, 14));
  EXPECT_EQ(RoundedRingOf(1000, 14), RingOf(1000, 14) + 1);  // three bits above the shift
  ExpectRefused([&] { r.Choose(f, {EdgeOf(10, 0, 4)}); },
                "the scale 2^10 is not above 2^10, to which it is rescaled; lower `result.value`");
  r.key = "nothing";
  ExpectRefused([&] { r.Choose(f, in); }, "there is no scale `result.nothing`; set it");

  r.kind = Rescale::kOptional;
  r.key = "value";
  r.Choose(f, in);  // 64 bits hold the product behind it
  EXPECT_TRUE(r.shift == 0 && r.scale == 24 && asked == 1);
  EXPECT_EQ(r.Nominal(o), 10);
  needed = 65;
  r.Choose(f, in);
  EXPECT_TRUE(r.shift == 14 && r.scale == 10 && asked == 2);
  needed = 64;
  f.n = 33;
  r.Choose(f, in);  // over `merge` the ring ahead is not needed
  EXPECT_TRUE(r.shift == 14 && asked == 2);
  r.Choose(f, {EdgeOf(9, 0, 4)});
  EXPECT_TRUE(r.shift == 0 && r.scale == 9);
  r.kind = Rescale::kExtend;
  r.Choose(f, in);
  EXPECT_TRUE(r.shift == 0 && r.scale == 24);
}

// Queries and keys stay un-truncated if the option says so. No other exact rescale does.
TEST(Rescale, ChooseUntruncatedScores) {
  Options o;
  const Facts f{o};
  const Edges in{EdgeOf(23, 30, 4, BoxOf({1000}))}, finer{EdgeOf(24, 30, 4, BoxOf({1000}))};
  Rescale r = Make(Rescale::kExact, 9, 20);
  for (const char* key : {"query_key", "value"})
    for (int scores : {0, 1}) {
      o.Set("scores", scores);
      r.key = key;
      r.Choose(f, in);
      const bool stays = scores == 1 && r.key == "query_key";
      EXPECT_EQ(r.Transparent(), stays);
      EXPECT_EQ(r.scale == 23, stays);
      EXPECT_NO_THROW(r.Check(in, 8, "here"));
      r.Choose(f, finer);
      EXPECT_FALSE(r.Transparent());
    }
}

TEST(Rescale, ChooseClamp) {
  Options o;
  Seen seen{{"size", {{0, 12}}}};
  Facts f{o};
  f.seen = &seen;
  Rescale r = Make(Rescale::kClamp, 0, 0);
  const Edge fits = EdgeOf(20, 0, 4, BoxOf({0x1p50})), wide = EdgeOf(20, 0, 4, BoxOf({0x1p57}));
  r.Choose(f, {fits});
  EXPECT_TRUE(r.shift == 0 && r.window == 0 && r.scale == 20);
  r.Choose(f, {wide});
  EXPECT_EQ(r.scale, 10);  // norm.layer
  EXPECT_EQ(r.shift, 10);
  EXPECT_EQ(r.window, 6 + 1 + 10);  // four times 12 and a sign
  o.Set("clamp", 1);
  r.Choose(f, {fits});
  EXPECT_EQ(r.window, 17);
  r.Choose(f, {EdgeOf(20, 0, 4, BoxOf({102400}))});  // no wider than a hard bound of 100.5
  EXPECT_TRUE(r.shift == 10 && r.window == 8);
  f.seen = nullptr;
  r.Choose(f, {fits});
  EXPECT_TRUE(r.shift == 10 && r.window == 0);
}

TEST(Rescale, BoundIsSound) {
  for (Rescale::Kind kind : {Rescale::kExact, Rescale::kOptional, Rescale::kExtend, Rescale::kClamp})
    for (const RowBound& reach : {BoxOf({30, 9}), RowBound{2, 20.5, {}, {}, {}}}) {
      Rescale r = Make(kind, kind == Rescale::kExact ? 2 : 0, 20);
      if (kind == Rescale::kClamp) {
        r.shift = 1;
        r.window = 4;
      }
      const Bounded b = BoundOf(r, 1, {EdgeOf(8, 0, 2, reach)});
      OpRig rig(1);
      for (const Ints& z : RowsOf(reach)) ExpectWithin(rig.Spec(r, {{{{1, 2}, z}}}), b.reach);
      if (kind == Rescale::kClamp) {
        EXPECT_EQ(b.reach.most(), 8);
      }
    }
}

TEST(Rescale, Fields) {
  for (auto kind : {Rescale::kExact, Rescale::kOptional, Rescale::kExtend, Rescale::kClamp}) {
    Rescale r = Make(kind, 3, 20, 2, kind == Rescale::kClamp ? 9 : 0);
    r.key = "value";
    r.scale = 5;
    ExpectFields(r);
  }
  Rescale dcf = Make(Rescale::kExact, 3, 20, 0);
  dcf.key = "value";
  dcf.scale = 5;
  ExpectFields(dcf);
  Recorder rec;
  Rescale r;
  r.Attributes(rec);
  rec.items[0].second = "round";
  rec.reading = true;
  ExpectRefused([&] { r.Attributes(rec); },
                "the plan has a rescale of the kind round, which this program does not know; update it");
}

TEST(Rescale, CheckFaults) {
  using F = Fault<Rescale>;
  Rescale r = Make(Rescale::kExact, 4, 12);
  r.scale = 6;
  const Edges in{EdgeOf(10, 12, 4)};
  ExpectChecked<Rescale>(r, in, 8,
                         {F{[](Rescale& x, Edges&) { ++x.scale; }, "its scale does not follow from its shift"},
                          F{[](Rescale& x, Edges&) { x.window = 3; }, "its window does not fit its rings"},
                          F{[](Rescale& x, Edges&) {
                              x.shift = 0;
                              x.scale = 10;
                            },
                            "it does not rescale"},
                          F{[](Rescale&, Edges& e) { e[0].ring = 6; }, "it leaves no bits of its ring"}});
  EXPECT_EQ(r.Built({EdgeOf(10, 12, 4)}), 8);  // the bits that the shift leaves, for readers of x_hat alone
  EXPECT_EQ(r.Built({EdgeOf(10, 20, 4)}), 12);
  r.form = OperandForm::kMap;
  EXPECT_EQ(r.Built({EdgeOf(10, 12, 4)}), 12);
  r.kind = Rescale::kOptional;
  r.shift = 0;
  r.scale = 10;
  EXPECT_EQ(r.Built({EdgeOf(10, 14, 4)}), 14);  // a view
  ExpectChecked<Rescale>(r, in, 8,
                         {F{[](Rescale& x, Edges&) { x.ring = 13; }, "its input's ring is narrower than its own"}});
  r.kind = Rescale::kExtend;
  r.ring = 13;
  ExpectChecked<Rescale>(r, in, 8,
                         {F{[](Rescale& x, Edges&) { x.ring = 12; }, "it does not extend"},
                          F{[](Rescale& x, Edges&) {
                              x.shift = 1;
                              x.scale = 9;
                            },
                            "it does not extend"},
                          F{[](Rescale&, Edges& e) { e[0].ring = 2; }, "it does not extend"}});
  r = Make(Rescale::kClamp, 4, 9, 1, 7);
  r.scale = 6;
  ExpectChecked<Rescale>(r, in, 8,
                         {F{[](Rescale& x, Edges&) { x.ring = 7; }, "its window does not fit its rings"},
                          F{[](Rescale& x, Edges&) {
                              x.shift = 0;
                              x.scale = 10;
                            },
                            "its window does not fit its rings"},
                          F{[](Rescale&, Edges& e) { e[0].ring = 11; }, "its window does not fit its rings"}});
}

}  // namespace
}  // namespace suf::nn
