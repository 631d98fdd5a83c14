// Digit plans have the fewest key bits, and closed forms equal the key bits of the trace. Tests of gates check the
// results of lowerings.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "suf/compiler/digits.hpp"
#include "suf/func/fit.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::compiler {
namespace {

Wire<kPub> Input(Trace& t, int k, int64_t n = 3) {
  pfss::Own<1> x = t.input<pfss::kP1>("x", {n}, 64, 0);
  return t.give<1>(x, k, "x");
}
struct Cost {
  int64_t key;
  int flights;
};
Cost CostOf(Trace& t, const Sh& y) {
  t.reveal<1>(y);
  t.close();
  pfss::Schedule s(t);
  pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
  return {s.key_bits(0) + s.key_bits(1), s.flights()};
}

// Returns the fewest key bits among all splits of the cuts into digits, in every order.
int64_t Lightest(const std::vector<Cut>& cuts, Stages stages) {
  int64_t least = INT64_MAX;
  std::vector<int> now;
  std::function<void(int)> extend = [&](int at) {
    if (at == cuts.back().at) {
      least = std::min(least, DigitsKeyBits({now, {}}, cuts, stages));
      return;
    }
    int next = 0;
    for (const Cut& c : cuts)
      if (c.at > at && next == 0) next = c.at;
    for (int w = 1; w <= std::min(8, next - at); ++w) {
      now.push_back(w);
      extend(at + w);
      now.pop_back();
    }
  };
  extend(0);
  return least;
}

TEST(PlanDigits, NoOtherSplitIsLighter) {
  for (Stages stages : {Stages::kOne, Stages::kTwo}) {
    for (int cut = 1; cut <= 11; ++cut)
      for (int ring : {1, 16, 64})
        EXPECT_EQ(DigitsKeyBits(PlanDigits({{cut, ring}}, stages), {{cut, ring}}, stages),
                  Lightest({{cut, ring}}, stages))
            << cut << " " << ring;
    for (int first = 1; first <= 5; ++first) {
      std::vector<Cut> cuts{{first, 7}, {first + 4, 33}, {first + 5, 2}};
      EXPECT_EQ(DigitsKeyBits(PlanDigits(cuts, stages), cuts, stages), Lightest(cuts, stages)) << first;
    }
  }
}

// The splits of a layer of the specification: 12 bits at scale 8, and a 44-bit cut in two stages.
TEST(PlanDigits, KnownSplits) {
  EXPECT_EQ(PlanDigits({{12, 16}}, Stages::kOne).widths, (std::vector<int>{6, 6}));
  EXPECT_EQ(PlanDigits({{12, 16}}, Stages::kTwo).widths, (std::vector<int>{3, 3, 3, 3}));
  EXPECT_EQ(PlanDigits({{44, 1}}, Stages::kTwo).widths.size(), 8u);
  EXPECT_THROW(PlanDigits({{64, 64}, {128, 1}}, Stages::kOne), Error);
}

// Emits the largest number of digits, in one stage and in two. One digit more is refused with an error message.
TEST(PlanDigits, AsManyAsTheTraceTakes) {
  for (auto [stages, most] : {std::pair{Stages::kOne, 8}, {Stages::kTwo, 10}}) {
    std::vector<Cut> cuts;
    for (int at = 1; at <= most; ++at) cuts.push_back({at, 3});
    DigitPlan widths = PlanDigits(cuts, stages);
    EXPECT_EQ(widths.widths, std::vector<int>(size_t(most), 1));
    Trace t;
    Wire<kPub> z = Input(t, 24);
    OpenedDigits d(t, z, t.constant(0), widths);
    Borrow c(d, most, stages);
    Cost cost = CostOf(t, c.Share(3));
    EXPECT_EQ(cost.key, 3 * (DigitsKeyBits(widths, {{most, 3}}, stages) + (stages == Stages::kTwo ? 3 : 0)));
    cuts.push_back({most + 1, 3});
    try {
      PlanDigits(cuts, stages);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kRefused);
      EXPECT_NE(std::string(e.what()).find(Str("needs more than ", most, " digits of 8 bits; ")), std::string::npos);
      const char* const remedy = stages == Stages::kOne ? "cut in two stages" : "cut in three stages";
      EXPECT_NE(std::string(e.what()).find(remedy), std::string::npos) << e.what();
    }
  }
  // in a ring of 64 bits the monomials of a tenth digit would cost more than its tables save
  EXPECT_EQ(PlanDigits({{64, 1}}, Stages::kTwo).widths.size(), 9u);
}

TEST(Borrow, KeyBits) {
  for (Stages stages : {Stages::kOne, Stages::kTwo, Stages::kThree})
    for (int cut : {1, 3, 8, 13, 20})
      for (int ring : {1, 9, 64}) {
        Trace t;
        Wire<kPub> z = Input(t, 24);
        OpenedDigits d(t, z, t.constant(77), PlanDigits({{cut, ring}}, stages));
        Borrow c(d, cut, stages);
        Cost cost = CostOf(t, c.Share(ring));
        int64_t want = DigitsKeyBits(PlanDigits({{cut, ring}}, stages), {{cut, ring}}, stages) +
                       (stages != Stages::kOne ? ring : 0);
        EXPECT_EQ(cost.key, 3 * want) << cut << " " << ring;
        EXPECT_EQ(cost.flights, stages == Stages::kOne ? 2 : 4);
      }
}

// Key bits of both parties for a borrow at a cut as a bit, in two stages and in three.
TEST(PlanDigits, ThreeStagesAreLighter) {
  const int want[][3] = {{12, 47, 34}, {31, 307, 118}, {44, 751, 190}, {63, 1901, 324}};
  for (auto [cut, two, three] : want) {
    std::vector<Cut> cuts{{cut, 1}};
    EXPECT_EQ(DigitsKeyBits(PlanDigits(cuts, Stages::kTwo), cuts, Stages::kTwo), two) << cut;
    EXPECT_EQ(DigitsKeyBits(PlanDigits(cuts, Stages::kThree), cuts, Stages::kThree), three) << cut;
  }
}

// Nested cuts share their words at the widest ring, in any order of emission.
TEST(Borrow, NestedCutsShareWords) {
  for (bool swapped : {false, true})
    for (int narrow : {5, 40}) {
      std::vector<Cut> cuts{{6, narrow}, {11, 20}, {17, 9}};
      DigitPlan widths = PlanDigits(cuts, Stages::kOne);
      Trace t;
      Wire<kPub> z = Input(t, 24);
      OpenedDigits d(t, z, t.constant(0), widths);
      std::vector<Sh> shares;
      for (size_t i = 0; i < 3; ++i) {
        const Cut& c = cuts[swapped ? 2 - i : i];
        Borrow b(d, c.at, Stages::kOne);
        shares.push_back(Low(b.Share(c.ring), 1));
      }
      Sh sum = shares[0] + shares[1];
      Cost cost = CostOf(t, sum + shares[2]);
      EXPECT_EQ(cost.key, 3 * DigitsKeyBits(widths, cuts, Stages::kOne));
    }
}

TEST(Borrow, TimesDealsEveryMonomialOnce) {
  DigitPlan widths = PlanDigits({{13, 30}}, Stages::kOne);
  Trace t;
  Wire<kPub> z = Input(t, 24);
  OpenedDigits d(t, z, t.constant(0), widths);
  Borrow c(d, 13, Stages::kOne);
  Sec q = Lift(z.r >> 13);
  Sh a = c.Times(q, 30);
  Sh b = c.Times(q, 12);
  Sh share = c.Share(21);
  Sh sum = Low(a, 12) + b;
  Cost cost = CostOf(t, sum + share);
  int64_t tables = 0;
  for (int w : widths.widths) tables += int64_t{1} << w;
  int words = BorrowWords(int(widths.widths.size()), Stages::kOne);
  EXPECT_EQ(cost.key, 3 * (tables + 30 * (words + 1) + 21 * words));
}

// Public and owed summands and those beyond the ring are not dealt. A factor of which the parties hold shares is free.
TEST(Words, DealsOnlyWhatAPublicValueScales) {
  for (int ring : {20, 40}) {
    Trace t;
    Wire<kPub> x = Input(t, 20);
    Sh y = -Sh(t.deal(x.r, 20)) + x.hat;  // shares of a fresh mask are free
    SharedWire<kPub> w = t.open(y, "w");
    WordSum sum(t, ring);
    Factors number = Centred(w);
    Sec u = Lift(x.r);
    sum.Add(number, {1, 0, {}, u, {}});          // hat u, owed, and g b u 2^20
    if (ring == 20) sum.Add(Masked(w));          // public, and held shares
    sum.Add({1, ring + 1, number[0].p, u, {}});  // beyond the ring
    OwedWord owing = sum.Done();
    ASSERT_TRUE(owing.owed);
    EXPECT_EQ(CostOf(t, DealOwed(t, owing)).key, 3 * (ring + ring + (ring - 20)));
  }
}

}  // namespace
}  // namespace suf::compiler
