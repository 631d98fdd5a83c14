#include "suf/gates/choose.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

using compiler::Kind;
using compiler::Lowering;
using compiler::StepSource;

Lowering By(Kind kind, StepSource steps) { return {kind, steps, Stages::kOne}; }

// Every bit with every word of 5 bits, under 16 masks each, which are shared or not.
TEST(Select, Exhaustive) {
  for (int ring : {1, 3, 5})
    for (bool held : {false, true}) {
      Rig g;
      Ints v = Range(0, 32, 32), b;
      for (size_t i = 0; i < v.size(); ++i) b.push_back(int64_t(i / 32 % 2));
      compiler::OpenedBit bit = compiler::SplitBits(g.Both(b, 1))[0];
      SharedWire<kPub> given = g.Give(v, 5);
      Wire<kPub> w = given;
      if (!held) {  // under a defined mask
        OwedWord word{compiler::Zeros(g.t, given.shape(), 5) + given.hat, -given.r};
        w = compiler::OpenDefined(g.t, word, "defined");
      }
      Select gate{ring};
      EXPECT_EQ(g.Run(gate.Build(g.t, bit, w)), gate.Spec(b, v));
      EXPECT_EQ(g.key_bits(), int64_t(v.size()) * gate.KeyBits(held));
      EXPECT_EQ(g.flights(), 2);
    }
}

TEST(Select, WideRings) {
  for (int k : {31, 32, 33, 63, 64}) {
    Rig g;
    Ints v = Some(INT64_MIN, INT64_MAX, 200, uint64_t(k)), b = Some(0, 1, 200, 3), want;
    for (size_t i = 0; i < v.size(); ++i) want.push_back(b[i] * Number(uint64_t(v[i]), k));
    compiler::OpenedBit bit = compiler::SplitBits(g.Give(b, 1))[0];
    SharedWire<kPub> w = g.Give(v, k);
    Select gate{k};
    EXPECT_EQ(gate.Spec(b, v), want);
    EXPECT_EQ(g.Run(gate.Build(g.t, bit, w)), want);
    EXPECT_EQ(g.key_bits(), 200 * gate.KeyBits(true));
  }
}

// Every pair of 4-bit numbers in [-4, 4), under 8 masks each.
TEST(ArgmaxBit, Exhaustive) {
  Ints x, y, max, bit;
  for (int copy = 0; copy < 8; ++copy)
    for (int a = -4; a < 4; ++a)
      for (int b = -4; b < 4; ++b) {
        x.push_back(a);
        y.push_back(b);
        max.push_back(std::max(a, b));
        bit.push_back(a >= b);
      }
  for (StepSource steps : kAllSteps) {
    ArgmaxBit gate{4, steps};
    ArgmaxBit::Pair want = gate.Spec(x, y, 4);
    EXPECT_EQ(want.max, max);
    EXPECT_EQ(want.bit, bit);
    for (bool both : {false, true}) {  // the maximum, alone or with the bit as top bit of the ring
      Rig g;
      SharedWire<kPub> wx = g.Give(x, 4);
      SharedWire<kPub> wy = g.Both(y, 4);
      ArgmaxBit::ChosenShares s = gate.Build(g.t, wx, wy);
      Sh sum = compiler::DealOwed(g.t, s.max);
      if (both) sum = sum + compiler::DealOwed(g.t, s.bit) * 8;
      Ints expected;
      for (size_t i = 0; i < x.size(); ++i) expected.push_back(Number(uint64_t(max[i] + (both ? 8 * bit[i] : 0)), 4));
      EXPECT_EQ(g.Run(sum), expected) << int(steps);
      EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(4));
      EXPECT_EQ(g.sent("steps"), 2 * int64_t(x.size()));
    }
  }
}

TEST(ArgmaxBit, WideRings) {
  for (int k : {31, 32, 33, 63, 64}) {
    Rig g;
    const int64_t top = int64_t{1} << (k - 2);
    Ints x = Some(-top, top - 1, 200, 1), y = Some(-top, top - 1, 200, 2), want;
    for (size_t i = 0; i < x.size(); ++i) want.push_back(std::max(x[i], y[i]));
    SharedWire<kPub> wx = g.Give(x, k);
    SharedWire<kPub> wy = g.Give(y, k);
    ArgmaxBit gate{k, StepSource::kBlocks};
    EXPECT_EQ(g.Run(gate.Build(g.t, wx, wy).max), want);
    EXPECT_EQ(g.flights(), 4);
    EXPECT_EQ(g.key_bits(), 200 * gate.KeyBits(k));
  }
}

// Every x of 5 bits with every pair of bounds.
TEST(Clamp, Exhaustive) {
  for (int low = -16; low < 15; ++low)
    for (int high = low + 1; high < 16; ++high)
      for (StepSource steps : kAllSteps) {
        const Kind kind = (low + high) % 2 ? Kind::kOpenSteps : Kind::kIndex;
        if (low == -16 && high == 15) continue;  // these bounds change no x
        Rig g;
        Ints x = Range(-16, 16, 2), want;
        for (int64_t v : x) want.push_back(std::min<int64_t>(std::max<int64_t>(v, low), high));
        Clamp gate{low, high, 5, By(kind, steps)};
        EXPECT_EQ(gate.Spec(x, 5), want);
        ASSERT_EQ(g.Run(gate.Build(g.t, g.Give(x, 5))), want) << low << " " << high << " " << int(steps);
        EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(5)) << low << " " << high << " " << int(steps);
      }
}

TEST(Clamp, WideRings) {
  for (int k : {31, 32, 33, 63, 64})
    for (StepSource steps : {StepSource::kParity, StepSource::kBlocks})
      for (int ring : {k - 5, k, 64}) {
        Rig g;
        Ints x = Some(INT64_MIN, INT64_MAX, 100, uint64_t(k));
        for (int64_t v : {-1001, -1000, -999, 0, 7776, 7777, 7778}) x.push_back(v);
        Clamp gate{-1000, 7777, ring, By(Kind::kOpenSteps, steps)};
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Both(x, k))), gate.Spec(x, k)) << k;
        // at 64 bits shares of the mask replace the dealt word r
        EXPECT_EQ(g.key_bits(), int64_t(x.size()) * (gate.KeyBits(k) - (k == 64 ? ring : 0))) << k << " " << ring;
      }
}

}  // namespace
}  // namespace suf::gates
