#include "suf/gates/maximum.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

// Every row of 3 numbers of 3 bits, with every floor.
TEST(Maximum, Exhaustive) {
  Ints x;
  for (int v = 0; v < 512; ++v)
    for (int j = 0; j < 3; ++j) x.push_back(v >> 3 * j & 7);
  for (int floor = 0; floor < 7; ++floor)
    for (int count_bits : {2, 5}) {
      Rig g;
      Maximum gate{floor, count_bits};
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 3, {512, 3}))), gate.Spec(x, 3, 3)) << floor;
      EXPECT_EQ(g.key_bits(), 512 * gate.KeyBits(3, 3));
      EXPECT_EQ(g.flights(), 2);
      EXPECT_EQ(g.sent("column counts"), 2 * 512 * (7 - floor) * count_bits);
    }
}

// Every triangle of 2 rows of 3-bit numbers and of 3 rows of 2-bit numbers, with every floor. Rows ignore later
// positions, for which nothing is dealt or sent.
TEST(Maximum, ExhaustiveCausal) {
  for (auto [n, k] : {std::pair{2, 3}, {3, 2}}) {
    const int pairs = n * (n + 1) / 2, many = 1 << k * pairs, levels = 1 << k;
    Ints x;
    for (int v = 0; v < many; ++v)
      for (int j = 0; j < pairs; ++j) x.push_back(v >> k * j & (levels - 1));
    for (int floor = 0; floor < levels - 1; ++floor)
      for (int count_bits : {2, 4}) {
        Rig g;
        Maximum gate{floor, count_bits, true};
        Ints got = g.Run(gate.Build(g.t, g.Give(x, k, {many, pairs})));
        EXPECT_EQ(got, gate.Spec(x, k, n)) << n << " " << floor;
        // checks the first rows without Spec
        for (int v = 0; v < many; ++v)
          EXPECT_EQ(Word(got[size_t(v * n)], k), uint64_t(std::max<int64_t>(floor, x[size_t(v * pairs)])));
        EXPECT_EQ(g.key_bits(), many * gate.KeyBits(k, n));
        EXPECT_EQ(gate.KeyBits(k, n),
                  int64_t(pairs) * count_bits * levels + int64_t(n) * (levels - 1 - floor) * k * (1 << count_bits));
        EXPECT_EQ(g.flights(), 2);
        EXPECT_EQ(g.sent("column counts"), 2 * many * n * (levels - 1 - floor) * count_bits);
      }
  }
}

TEST(Maximum, LongCausalRows) {
  for (int n : {1, 7, 32, 63}) {
    Rig g;
    const int pairs = n * (n + 1) / 2;
    Ints x = Some(0, 127, size_t(6 * pairs), uint64_t(n));
    Maximum gate{40, 6, true};
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 7, {2, 3, pairs}))), gate.Spec(x, 7, n)) << n;
    EXPECT_EQ(g.key_bits(), 6 * gate.KeyBits(7, n));
  }
}

TEST(Maximum, RefusesWhatIsNoTriangle) {
  Rig g;
  Maximum gate{0, 3, true};
  EXPECT_THROW((void)gate.Build(g.t, g.Give(Range(0, 4), 2, {1, 4})), Bug);
  Maximum narrow{0, 2, true};  // it counts only to 3
  EXPECT_THROW((void)narrow.Build(g.t, g.Give(Range(0, 10), 4, {1, 10})), Bug);
}

TEST(Maximum, LongRows) {
  for (int row : {1, 7, 32, 63}) {
    Rig g;
    Ints x = Some(0, 127, size_t(6 * row + (row == 1)), 5);
    x.resize(size_t(6 * row));
    Maximum gate{40, 6};
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 7, {2, 3, row}))), gate.Spec(x, 7, row));
  }
}

Maximum Tournament(int64_t floor, compiler::StepSource steps = compiler::StepSource::kParity, bool causal = false) {
  return {floor, 1, causal, Maximum::MaximumForm::kTournament, steps};
}
constexpr compiler::StepSource kSteps[] = {compiler::StepSource::kParity, compiler::StepSource::kDigits,
                                           compiler::StepSource::kBlocks};

// Every row of 3 numbers of 3 bits, with every floor, against the Spec of the histogram.
TEST(Tournament, Exhaustive) {
  Ints x;
  for (int v = 0; v < 512; ++v)
    for (int j = 0; j < 3; ++j) x.push_back(v >> 3 * j & 7);
  for (int floor = 0; floor < 7; ++floor)
    for (compiler::StepSource steps : kSteps) {
      Rig g;
      Maximum gate = Tournament(floor, steps);
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 3, {512, 3}))), (Maximum{floor, 2}.Spec(x, 3, 3))) << floor;
      EXPECT_EQ(g.key_bits(), 512 * gate.KeyBits(3, 3)) << floor << " " << int(steps);
      EXPECT_EQ(g.sent("wide"), 2 * 512 * 3 * 4);
      EXPECT_EQ(g.sent("steps"), 2 * 512 * (floor ? 4 : 3));
      EXPECT_EQ(g.sent("larger"), 2 * 512 * (floor ? 3 : 2) * 4);
    }
}

TEST(Tournament, ExhaustiveCausal) {
  for (auto [n, k] : {std::pair{2, 3}, {3, 2}}) {
    const int pairs = n * (n + 1) / 2, many = 1 << k * pairs, levels = 1 << k;
    Ints x;
    for (int v = 0; v < many; ++v)
      for (int j = 0; j < pairs; ++j) x.push_back(v >> k * j & (levels - 1));
    for (int floor = 0; floor < levels - 1; ++floor) {
      Rig g;
      Maximum gate = Tournament(floor, compiler::StepSource::kParity, true);
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k, {many, pairs}))), gate.Spec(x, k, n)) << n << " " << floor;
      EXPECT_EQ(g.key_bits(), many * gate.KeyBits(k, n)) << n << " " << floor;
    }
  }
}

// Rows of several lengths, of numbers of 7 to 61 bits. Each halving takes two flights.
TEST(Tournament, LongRowsAndWideNumbers) {
  for (auto [row, k] : {std::pair{1, 7}, {2, 30}, {7, 31}, {9, 32}, {32, 7}, {33, 12}, {5, 61}})
    for (int floor : {0, 40}) {
      Rig g;
      const int64_t top = (int64_t{1} << k) - 1;
      Ints x = Some(0, top, size_t(6 * row + (row == 1)), 5);
      x.resize(size_t(6 * row));
      Maximum gate = Tournament(floor, k > 10 ? compiler::StepSource::kBlocks : compiler::StepSource::kParity);
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k, {2, 3, row}))), gate.Spec(x, k, row)) << row << " " << k;
      EXPECT_EQ(g.key_bits(), 6 * gate.KeyBits(k, row)) << row << " " << k << " " << floor;
      EXPECT_TRUE(row != 32 || g.flights() == (floor ? 14 : 12));
    }
  // for 32 numbers of 7 bits, a ninth of the key of the histogram and ten more flights
  EXPECT_EQ(Tournament(0).KeyBits(7, 32), 8812);
  EXPECT_EQ((Maximum{0, 6}.KeyBits(7, 32)), 81472);
}

}  // namespace
}  // namespace suf::gates
