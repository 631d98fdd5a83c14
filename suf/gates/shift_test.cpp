#include "suf/gates/shift.hpp"

#include <set>

#include "suf/gates/rig_test.hpp"
#include "suf/gates/trunc.hpp"

namespace suf::gates {
namespace {

// Checks results, key bits, flights and sent bits of a shift.
template <class G>
void Check(const G& gate, const Ints& z, int k, const Ints& want) {
  Rig g;
  Ints got = g.Run(gate.Build(g.t, g.Give(z, k)));
  ASSERT_EQ(got, want) << k << " " << gate.shift << " " << gate.ring << " stages " << int(gate.stages);
  EXPECT_EQ(g.key_bits(), int64_t(z.size()) * gate.KeyBits(k, true));
  EXPECT_EQ(g.flights(), gate.stages == Stages::kOne ? 2 : 4);  // including P1's z and P0's last message
  const bool wide = gate.ring > k - gate.shift;
  const int64_t one = 2 * int64_t(z.size());  // one bit of each party
  if constexpr (std::is_same_v<G, LRS> || std::is_same_v<G, ARS>) {
    EXPECT_EQ(g.sent("carry"), gate.stages == Stages::kOne ? 0 : one * (1 + wide));
  }
  if constexpr (std::is_same_v<G, GapARS> || std::is_same_v<G, SlackARS>) {
    compiler::DigitPlan plan = compiler::PlanDigits({{gate.shift, gate.ring}}, gate.stages);
    const int blocks = int(plan.blocks.size());
    EXPECT_EQ(g.sent("bits"), one * (2 * int(plan.widths.size()) - 1));
    EXPECT_EQ(g.sent("blocks"), blocks ? one * (2 * blocks - 1) : 0);
    EXPECT_EQ(g.sent("carry"), gate.stages == Stages::kOne ? 0 : one);
    EXPECT_EQ(
        g.sent("wrap"), wide && requires { gate.top; } ? one : 0);
  }
}

// Every z of a 6-bit ring, under 16 masks each, with every shift, in one to three stages.
TEST(Shift, FullFormsExhaustive) {
  for (int s = 1; s < 6; ++s)
    for (Stages stages : kAllStages)
      for (int ring : {6 - s, 7 - s, 6, 9, 33, 64}) {
        Ints z = Range(0, 64, 16), logical, arithmetic;
        for (int64_t v : z) {
          int64_t u = (v + (1 << (s - 1))) % 64;
          logical.push_back(Number(uint64_t(u >> s), ring));
          arithmetic.push_back(Number(uint64_t((u < 32 ? u : u - 64) >> s), ring));
        }
        EXPECT_EQ((LRS{s, ring, stages}.Spec(z, 6)), logical);
        EXPECT_EQ((ARS{s, ring, stages}.Spec(z, 6)), arithmetic);
        Check(LRS{s, ring, stages}, z, 6, logical);
        Check(ARS{s, ring, stages}, z, 6, arithmetic);
      }
}

// Every number of the widest range of each form, with several lower ends.
TEST(Shift, GapAndSlackExhaustive) {
  for (int s = 1; s <= 4; ++s)
    for (Stages stages : kAllStages)
      for (int low : {-64, -37, -1, 0, 5})
        for (int ring : {8 - s, 9 - s, 12, 64}) {
          GapARS gap{s, ring, low, stages};
          const int down = low >> s << s, half = 1 << (s - 1);
          Ints z = Range(low, down + 128 - half, 8);
          EXPECT_EQ(gap.Spec(z, 8)[3], Number(uint64_t((z[3] + (1 << (s - 1))) >> s), ring));
          Check(gap, z, 8, gap.Spec(z, 8));
          for (int top : {2, 5}) {
            SlackARS slack{s, ring, low, top, stages};
            z = Range(low, down + 256 - (1 << (8 - top)) - half, 4);
            Check(slack, z, 8, slack.Spec(z, 8));
          }
        }
}

// The limits are nearly tight. Two numbers beyond the range of a form, some mask gives a wrong result.
TEST(Shift, WhatIsOutsideTheCertificateGoesWrong) {
  auto wrong = [](auto gate, int64_t z, int copies) {
    Rig g;
    Ints many(size_t(copies), z);
    return g.Run(gate.Build(g.t, g.Give(many, 8))) != gate.Spec(many, 8);
  };
  EXPECT_FALSE(wrong(GapARS{2, 12, 0}, 125, 4000));
  EXPECT_TRUE(wrong(GapARS{2, 12, 0}, 127, 4000));
  EXPECT_FALSE(wrong(SlackARS{2, 12, 0}, 245, 4000));
  EXPECT_TRUE(wrong(SlackARS{2, 12, 0}, 247, 4000));
}

TEST(Shift, WideRings) {
  for (int k : {31, 32, 33, 63, 64})
    for (int s : {1, 12, k / 2})
      for (Stages stages : {Stages::kTwo, Stages::kThree})
        for (int ring : {k - s, k - s + 1, 64}) {
          if (s == 1 && k == 64 && ring == 64) continue;
          const int64_t half = int64_t(uint64_t{1} << (k - 1)), step = int64_t{1} << s;
          Ints any = Some(INT64_MIN, INT64_MAX, 100, uint64_t(k));
          Check(LRS{s, ring, stages}, any, k, LRS{s, ring, stages}.Spec(any, k));
          Check(ARS{s, ring, stages}, any, k, ARS{s, ring, stages}.Spec(any, k));
          GapARS gap{s, ring, -(int64_t{1} << (k - 2)), stages};
          Ints z = Some(gap.low, (int64_t{1} << (k - 2)) - step, 100, 3);
          Check(gap, z, k, gap.Spec(z, k));
          SlackARS slack{s, ring, half < 0 ? half : -half, 5, stages};
          z = Some(slack.low,
                   int64_t(uint64_t(slack.low) + (uint64_t{1} << (k - 1)) - 1 +
                           ((uint64_t{1} << (k - 1)) - (uint64_t{1} << (k - 5))) - uint64_t(step)),
                   100, 4);
          Check(slack, z, k, slack.Spec(z, k));
        }
}

// The table of a slack form has 2^5 bits, which are 4 bytes.
TEST(Shift, SlackCostsFourBytes) {
  for (int k : {24, 32, 40})
    for (Stages stages : kAllStages)
      EXPECT_EQ((SlackARS{12, k, 0, 5, stages}.KeyBits(k, false)), (GapARS{12, k, 0, stages}.KeyBits(k, false) + 32));
}

TEST(AutoTrunc, PicksByCertificate) {
  auto pick = [](int64_t low, int64_t high, Proof proof, int ring = 12) {
    return AutoTrunc{2, ring, {low, high, proof}}.Pick(8);
  };
  const Proof hard = Proof::kHard, seen = Proof::kCalibrated;
  EXPECT_EQ(pick(-128, 127, seen, 6), ShiftForm::kInside);
  EXPECT_EQ(pick(0, 125, hard), ShiftForm::kUnsigned);
  EXPECT_EQ(pick(0, 126, hard), ShiftForm::kSlack);
  EXPECT_EQ(pick(-62, 61, hard), ShiftForm::kGap);
  EXPECT_EQ(pick(-100, 20, hard), ShiftForm::kGap);
  EXPECT_EQ(pick(-100, 100, hard), ShiftForm::kSlack);
  EXPECT_EQ(pick(-128, 125, hard), ShiftForm::kFull);
  EXPECT_EQ(pick(0, 253, hard), ShiftForm::kFull);
  EXPECT_EQ(pick(0, 100, seen), ShiftForm::kSlack);
  EXPECT_EQ(pick(-62, 61, seen), ShiftForm::kSlack);
  EXPECT_EQ(pick(-100, 100, seen), ShiftForm::kFull);
  for (auto [low, high] : {std::pair{-129, 0}, {-128, 126}, {0, 254}, {-1, 200}})
    EXPECT_THROW((void)pick(low, high, hard), Error) << low;
}

// Every number of some ranges of every form.
TEST(AutoTrunc, Exhaustive) {
  for (auto [low, high] : {std::pair{0, 125}, {0, 100}, {-62, 61}, {-100, 20}, {-100, 100}, {-128, 125}, {0, 253}})
    for (Proof proof : {Proof::kHard, Proof::kCalibrated})
      for (Stages stages : kAllStages)
        for (int ring : {6, 7, 8, 40}) {
          AutoTrunc gate{2, ring, {low, high, proof}, stages};
          Ints z = Range(low, high + 1, 6);
          Check(gate, z, 8, gate.Spec(z, 8));
        }
}

// In random ranges of wide rings every form occurs, and each is exact at both ends of its range.
TEST(AutoTrunc, WideRings) {
  std::mt19937_64 rng(11);
  std::set<ShiftForm> seen;
  for (int k : {31, 32, 33, 48, 63, 64})
    for (int round = 0; round < 24; ++round) {
      const int s = 1 + int(rng() % 16), ring = std::min(64, k - s + int(rng() % 9));
      int64_t a = Number(rng(), k) >> rng() % 3, b = Number(rng(), k) >> rng() % 3;
      if (round % 3 == 0) {
        a = std::abs(a / 2);
        b = std::abs(b / 2);
      }
      const ShiftCertificate range{std::min(a, b), std::max(a, b), round % 2 ? Proof::kHard : Proof::kCalibrated};
      AutoTrunc gate{s, ring, range, round % 4 ? Stages::kTwo : Stages::kThree};
      seen.insert(gate.Pick(k));
      Ints z = Some(range.low, range.high, 60, uint64_t(round));
      Check(gate, z, k, gate.Spec(z, k));
    }
  EXPECT_EQ(seen.size(), 5u);
}

// A truncation of a 24-bit word by 12 into 12 bits, opened under a shared mask. The key of both bundles has tables,
// monomials, and two words: the bit of the borrow and the new mask.
TEST(Trunc, KnownSizes) {
  const int64_t bits[] = {180, 71, 58};  // 22.5, 8.9 and 7.3 bytes
  for (Stages stages : kAllStages) {
    EXPECT_EQ((Trunc{12, 12, stages}.KeyBits(24, true)), bits[int(stages) - 1]);
    Rig g;
    Ints z = Some(0, (1 << 24) - 1, 100);
    OwedWord y = Trunc{12, 12, stages}.Build(g.t, g.Give(z, 24));
    SharedWire<kPub> w = compiler::OpenShared(g.t, y, "y");
    EXPECT_EQ(g.Run(-Sh(w.s) + w.hat), (Trunc{12, 12, stages}.Spec(z, 24)));
    EXPECT_EQ(g.key_bits(), 100 * bits[int(stages) - 1]);
    EXPECT_EQ(g.flights(), stages == Stages::kThree ? 6 : 4);
    EXPECT_EQ(g.sent("y"), 2 * 100 * 12);
  }
}

}  // namespace
}  // namespace suf::gates
