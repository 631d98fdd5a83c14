#include "suf/gates/trunc.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

// Every number in the gap of rings of 2 to 8 bits, under 16 masks each, into several wider rings.
TEST(Extend, Exhaustive) {
  for (int k : {2, 3, 5, 8})
    for (int ring : {k + 1, k + 7, 31, 32, 33, 64})
      for (bool both : {false, true}) {
        Rig g;
        Ints z = Range(-(1 << (k - 2)), 1 << (k - 2), 16);
        Extend gate{ring};
        Ints got = g.Run(gate.Build(g.t, both ? g.Both(z, k) : g.Give(z, k)));
        EXPECT_EQ(got, gate.Spec(z, k)) << k << " " << ring;
        EXPECT_EQ(got, z);
        EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(k, true));
        EXPECT_EQ(g.flights(), 2);  // P1's z, and P0's share of the result
      }
}

// Under a defined mask, only the test's own reading deals a word. The opening is as wide as the ring.
TEST(Extend, WideRingsAndDefinedMask) {
  for (int k : {31, 32, 33, 47, 63}) {
    Rig g;
    int64_t top = int64_t{1} << (k - 2);
    Ints z = Some(-top, top - 1, 300, uint64_t(k));
    Extend gate{64};
    Wire<kPub> y = compiler::OpenDefined(g.t, gate.Build(g.t, g.Give(z, k)), "y");
    pfss::Dealt r = g.t.deal(y.r, 64);
    EXPECT_EQ(g.Run(-Sh(r) + y.hat), z) << k;
    EXPECT_EQ(g.key_bits(), int64_t(z.size()) * (gate.KeyBits(k, false) + 64));
    EXPECT_EQ(g.flights(), 2);
    EXPECT_EQ(g.sent("y"), 2 * int64_t(z.size()) * 64);
  }
}

TEST(Extend, RefusesANarrowerRing) {
  Rig g;
  auto z = g.Give({0}, 8);
  EXPECT_THROW((void)Extend{8}.Build(g.t, z), Bug);
}

// Every z of an 8-bit ring, under 16 masks each, with every shift.
TEST(Trunc, ExhaustiveWithinTheRing) {
  for (int s = 1; s < 8; ++s)
    for (Stages stages : kAllStages)
      for (int ring : {8 - s, 1}) {
        Rig g;
        Ints z = Range(0, 256, 16);
        Trunc gate{s, ring, stages};
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, 8))), gate.Spec(z, 8)) << s << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(8, true));
        EXPECT_EQ(g.flights(), stages == Stages::kOne ? 2 : 4);
        compiler::DigitPlan plan = compiler::PlanDigits({{s, ring}}, stages);
        int digits = int(plan.widths.size()), blocks = int(plan.blocks.size());
        EXPECT_EQ(g.sent("bits"), 2 * int64_t(z.size()) * (2 * digits - 1));
        EXPECT_EQ(g.sent("blocks"), blocks ? 2 * int64_t(z.size()) * (2 * blocks - 1) : 0);
        EXPECT_EQ(g.sent("carry"), stages == Stages::kOne ? 0 : 2 * int64_t(z.size()));
      }
}

TEST(Trunc, ExhaustiveExtension) {
  for (int s = 1; s <= 5; ++s)
    for (Stages stages : kAllStages)
      for (int ring : {9 - s, 8, 11, 33, 64}) {
        Rig g;
        Ints z = Range(-64, 64 - (1 << (s - 1)), 16);
        Trunc gate{s, ring, stages};
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Both(z, 8))), gate.Spec(z, 8)) << s << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(8, true));
      }
}

// Under a defined mask the wire has the same number, and no word is dealt for the mask.
TEST(Trunc, DefinedMask) {
  for (int ring : {3, 11}) {
    Rig g;
    Ints z = Range(-64, 48, 8);
    Trunc gate{5, ring, Stages::kOne};
    Wire<kPub> y = compiler::OpenDefined(g.t, gate.Build(g.t, g.Give(z, 8)), "y");
    pfss::Dealt r = g.t.deal(y.r, ring);
    EXPECT_EQ(g.Run(-Sh(r) + y.hat), gate.Spec(z, 8));
    EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(8, true));  // the test deals the mask to read the wire
  }
}

// Returns a wire of numbers low .. high - 1 in Z_{2^k}, each under every mask. Public words shift a single zero of P1.
Wire<kPub> EveryMask(Rig* g, int k, int64_t low, int64_t high, Ints* z) {
  const SharedWire<kPub> zero = g->Give({0}, k);
  std::vector<uint64_t> number, mask;
  for (int64_t v = low; v < high; ++v)
    for (uint64_t r = 0; r < uint64_t{1} << k; ++r) {
      z->push_back(v);
      number.push_back(Word(v + int64_t(r), k));
      mask.push_back(r);
    }
  const int64_t n = int64_t(z->size());
  Pub hat = Broadcast(zero.hat, {n}) + g->t.constant(std::move(number), {n});
  pfss::Sec r = Broadcast(zero.r, {n}) + g->t.constant(std::move(mask), {n});
  return {hat, r};
}

// Without a stage a DCF gives the borrow, and nothing is opened; within the ring and into wider ones.
TEST(Trunc, WithoutAStageUnderEveryMask) {
  for (int k : {3, 5, 8})
    for (int s = 1; s < k; ++s)
      for (int ring : {1, k - s, k, 11, 64}) {
        const bool wide = ring > k - s;
        if ((wide && s > k - 2) || (k == 8 && ring != k - s && ring != 11)) continue;
        const int64_t top = int64_t{1} << (k - 2), half = int64_t{1} << (s - 1);
        if (wide && top <= half - top) continue;
        Rig g;
        Ints z;
        Wire<kPub> w = EveryMask(&g, k, wide ? -top : 0, wide ? top - half : 4 * top, &z);
        const Trunc gate{s, ring, Stages::kNone};
        EXPECT_EQ(g.Run(gate.Build(g.t, w)), gate.Spec(z, k)) << k << " " << s << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(k, true));
        EXPECT_EQ(gate.KeyBits(k, false), 2 * (s * (130 + ring) + ring) + std::max(0, ring - (k - s)));
        EXPECT_EQ(g.sent("bits") + g.sent("carry"), 0);
      }
}

// An opening takes one flight less without a stage than with one. One stage takes one flight less than two.
TEST(Trunc, FlightsByStage) {
  int flights = 0;
  for (Stages stages : {Stages::kNone, Stages::kOne, Stages::kTwo}) {
    Rig g;
    const Ints z = Range(-50, 50);
    Wire<kPub> w = g.Both(z, 8);
    for (int i = 0; i < 2; ++i)  // two in turn, because the direction of messages would hide a single one
      w = compiler::OpenDefined(g.t, Trunc{1, 8, stages}.Build(g.t, w), "y");
    pfss::Dealt r = g.t.deal(w.r, 8);
    const Ints got = g.Run(-Sh(r) + w.hat);
    for (size_t i = 0; i < z.size(); ++i) EXPECT_EQ(got[i], (((z[i] + 1) >> 1) + 1) >> 1);
    if (stages != Stages::kNone) {
      EXPECT_EQ(g.flights(), flights + 2);
    }
    flights = g.flights();
  }
}

// Gates that open a borrow refuse to have no stage.
TEST(Trunc, OthersRefuseNoStage) {
  Rig g;
  const SharedWire<kPub> z = g.Give({0}, 8);
  const Slice slice{2, 5, 3, 0, Stages::kNone};
  EXPECT_THROW((void)slice.Build(g.t, z), Bug);
  compiler::OpenedDigits d(g.t, z, g.t.constant(0), compiler::PlanDigits({{3, 8}}, Stages::kOne));
  EXPECT_THROW((void)compiler::Borrow(d, 3, Stages::kNone), Bug);
  EXPECT_THROW((void)compiler::FindDigits({{3, 8}}, Stages::kNone), Bug);
}

TEST(Trunc, WideRings) {
  for (int k : {31, 32, 33, 63, 64})
    for (int s : {1, 13, k / 2, k - 2})
      for (Stages stages : {Stages::kNone, Stages::kOne, Stages::kTwo, Stages::kThree})
        for (int ring : {k - s, 64}) {
          if (stages == Stages::kOne && s > 30) continue;
          if (ring == k - s && s == k - 2) continue;
          Rig g;
          int64_t top = (int64_t{1} << (k - 2)) - (int64_t{1} << (s - 1)) - 1;
          Ints z = Some(-(int64_t{1} << (k - 2)), top, 200, uint64_t(k));
          Trunc gate{s, ring, stages};
          EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, k))), gate.Spec(z, k)) << k << " " << s << " " << ring;
        }
}

// Ten nested cuts of one wire in two stages share one set of ten digits.
TEST(Slice, TenNestedCuts) {
  const int k = 24;
  for (int step : {1, 2}) {
    std::vector<compiler::Cut> cuts;
    for (int i = 1; i <= 10; ++i) cuts.push_back({i * step, 1});
    const compiler::DigitPlan plan = compiler::PlanDigits(cuts, Stages::kTwo);
    EXPECT_EQ(plan.widths, std::vector<int>(10, step));
    for (const compiler::Cut& cut : cuts) {
      Rig g;
      Ints z = Some(0, (int64_t{1} << k) - 1, 200, uint64_t(cut.at)), want;
      for (int64_t v : z) want.push_back(Number(uint64_t(v) >> cut.at, k - cut.at));
      SharedWire<kPub> wire = g.Give(z, k);
      compiler::OpenedDigits d(g.t, wire, g.t.constant(0), plan);
      compiler::Borrow borrow(d, cut.at, Stages::kTwo);
      EXPECT_EQ(g.Run(compiler::Slice(d, cut.at, k, k - cut.at, &borrow, nullptr)), want) << cut.at;
    }
  }
}

TEST(Slice, Exhaustive) {
  for (int begin = 0; begin < 8; ++begin)
    for (int end = begin + 1; end <= 8; ++end)
      for (Stages stages : kAllStages)
        for (int ring : {1, end - begin, end - begin + 1, 12}) {
          bool wider = ring > end - begin;
          if ((wider && end == 8) || (begin == 0 && !wider)) continue;
          Rig g;
          Ints z = Range(0, 256, 4);
          Slice gate{begin, end, ring, 37, stages};
          EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(z, 8))), gate.Spec(z, 8)) << begin << " " << end << " " << ring;
          EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(8, true));
        }
}

}  // namespace
}  // namespace suf::gates
