// The helper bits of ReluARS: functions of x, beside the borrow and the wrap of its mask, which are none.
#include "suf/compiler/bits.hpp"
#include "suf/gates/relu.hpp"
#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

// Adds an opened bit times 2^shift.
void AddBit(compiler::WordSum* sum, const Wire<kPub>& bit, int shift) {
  const compiler::OpenedBit b = compiler::SplitBits(bit)[0];
  sum->Add({1, shift, b.hat, {}, {}});
  sum->Add({1, shift, b.sign, b.rho, {}});
}

// Every x of 4 and 7 bits, under 16 masks each, with every shift. One result has y and all three bits.
TEST(ReluARS, HelperBitsAreFunctionsOfX) {
  const int ring = 40, at_t = 20, at_d = 21, at_w = 22;
  for (int k : {4, 7})
    for (int s = 1; s <= k - 2; ++s)
      for (Stages stages : {Stages::kTwo, Stages::kThree}) {
        Rig g;
        const ReluARS gate{s, ring, stages};
        const ReluARS::HelperRequest all{true, true, true};
        ASSERT_TRUE(gate.Applies(k, all));
        const Ints x = Range(0, 1 << k, 16);
        const ReluARS::HelpedShares made = gate.BuildHelped(g.t, g.Give(x, k), all);
        compiler::WordSum sum(g.t, ring);
        sum.Add(made.y.y);
        AddBit(&sum, *made.w, at_w);
        AddBit(&sum, compiler::OpenDefined(g.t, *made.t, "t"), at_t);
        AddBit(&sum, compiler::OpenDefined(g.t, *made.d, "d"), at_d);
        Ints want;
        const Ints y = gate.Spec(x, k);
        const ReluARS::HelperBits bits = gate.HelperSpec(x, k);
        for (size_t i = 0; i < x.size(); ++i) {
          const int64_t number = Number(uint64_t(x[i]), k), u = number + (1 << (s - 1));
          EXPECT_EQ(bits.t[i], number >> (s - 1) & 1);
          EXPECT_EQ(bits.d[i], u >= 1 << (k - 1));
          EXPECT_EQ(bits.w[i], u >= 0 && !bits.d[i]);
          EXPECT_EQ(number >> s, (Number(uint64_t(u), k) >> s) - bits.t[i] + (bits.d[i] << (k - s)));
          want.push_back(y[i] + (bits.t[i] << at_t) + (bits.d[i] << at_d) + (bits.w[i] << at_w));
        }
        EXPECT_EQ(g.Run(sum.Done()), want) << k << " " << s;
        // the masks of t and d are words of the sum; that of w is one of y
        const int64_t words = ring - at_t + ring - at_d;
        EXPECT_EQ(g.key_bits(), int64_t(x.size()) * (gate.HelpedKeyBits(k, all) + words)) << k << " " << s;
        if (stages == Stages::kTwo) {
          EXPECT_EQ(g.flights(), 4);
        }
      }
}

TEST(ReluARS, AHelperBitThatIsNotRequestedTakesNoKey) {
  for (int s : {1, 12}) {
    const ReluARS gate{s, 20, Stages::kTwo};
    const int64_t plain = gate.KeyBits(32), with_t = gate.HelpedKeyBits(32, {true, true, false}),
                  with_all = gate.HelpedKeyBits(32, {true, true, true});
    EXPECT_EQ(gate.HelpedKeyBits(32, {true, false, false}), plain);
    EXPECT_EQ(with_t == plain, s == 1);  // the bit below a shift of 1 has no borrow
    EXPECT_GT(with_all, with_t);
  }
}

// For one x, the borrow and the wrap of x + 2^(s-1) under a mask take both values. So a party that learns h and one of
// them learns a comparison of x with a random number.
TEST(ReluARS, TheBorrowAndTheWrapOfAMaskAreNoFunctionsOfX) {
  const int k = 6, whole = 1 << k;
  for (int s = 1; s <= k - 2; ++s)
    for (int u = 1; u < whole; ++u) {
      int borrows = 0, wraps = 0;
      for (int r = 0; r < whole; ++r) {
        const int h = (u + r) % whole;
        borrows += h % (1 << s) < r % (1 << s);
        wraps += h < r;
      }
      EXPECT_EQ(wraps, u);
      EXPECT_EQ(borrows, (u % (1 << s)) << (k - s));
    }
}

}  // namespace
}  // namespace suf::gates
