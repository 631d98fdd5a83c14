#include "suf/gates/ranking.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

// Gives places as bits, (planes, ..).
std::optional<Wire<kPub>> Planes(Rig& g, const Ints& place, int planes, pfss::Shape shape) {
  if (!planes) return {};
  Ints bits;
  for (int j = 0; j < planes; ++j)
    for (const int64_t p : place) bits.push_back(p >> j & 1);
  shape.insert(shape.begin(), planes);
  return g.Give(bits, 1, shape);
}

// Returns the number with its place above, as shares in Z_{2^(k + planes)}, so that one result has both.
OwedWord Both(Trace& t, const PlacedWires& x) {
  const int k = x.number.k(), planes = int(x.place->shape()[0]);
  compiler::WordSum sum(t, k + planes);
  const compiler::OwedWord wide = [&] {  // the number in the wider ring has no wrap if it is cut off above
    compiler::WordSum shifted(t, k + planes);
    Pub hat = Lift(x.number.hat);
    pfss::Sec r = Lift(x.number.r);
    shifted.Add({1, planes, hat, {}, {}});
    shifted.Add({-1, planes, {}, r, {}});
    return shifted.Done();
  }();
  sum.Add(wide.y);
  for (int j = 0; j < planes; ++j) {
    const Wire<kPub> plane = pfss::Map(*x.place, [&](auto v) { return At(v, j); });
    Pub hat = Lift(plane.hat);
    pfss::Sec rho = Lift(plane.r);
    Pub sign = 1 - hat * 2;
    sum.Add({1, j, hat, {}, {}});
    sum.Add({1, j, sign, rho, {}});
  }
  OwedWord out = sum.Done();
  out.owed = out.owed ? *out.owed + *wide.owed : *wide.owed;
  return out;
}
Ints Joined(const PlacedInts& x, int k, int planes) {
  Ints out;
  for (size_t i = 0; i < x.number.size(); ++i)
    out.push_back(Number(Word(x.number[i], k) << planes | uint64_t(x.place[i]), k + planes));
  return out;
}

// Returns the key bits that Both takes for each of `count` numbers that are given.
int64_t KeyBitsOfBoth(int k, int planes, int64_t count) {
  Rig g;
  const Wire<kPub> number = g.Give(Ints(size_t(count)), k), place = *Planes(g, Ints(size_t(count)), planes, {count});
  (void)g.Run(Both(g.t, {number, place}));
  return g.key_bits();
}
// P1 gives the first frame and takes the last one, so the number of flights is even.
int Even(int flights) { return (flights + 1) / 2 * 2; }

// Every pair of numbers of 4 bits, and every triple of 3 bits, with every place of 2 bits or none.
TEST(Duel, Exhaustive) {
  for (auto [rows, k] : {std::pair{2, 4}, {3, 3}})
    for (const compiler::StepSource steps : kAllSteps)
      for (const int planes : {0, 2}) {
        const int64_t width = int64_t{1} << rows * k;
        PlacedInts x;
        for (int s = 0; s < rows; ++s)
          for (int64_t v = 0; v < width; ++v) {
            x.number.push_back(v >> k * s & ((1 << k) - 1));
            x.place.push_back((v * 5 + s) >> 1 & 3);
          }
        Rig g;
        const Duel gate{steps};
        const PlacedWires won =
            gate.Build(g.t, {g.Give(x.number, k, {rows, width}), Planes(g, x.place, planes, {rows, width})});
        EXPECT_EQ(g.Run(Both(g.t, won)), Joined(gate.Spec(x, k, rows, planes), k, planes + 1));
        EXPECT_EQ(g.sent("wins"), 2 * width);
        EXPECT_EQ(g.sent("number"), 2 * width * k);
      }
}

// A tournament of numbers of 23 bits to its end gives the largest one and its place.
TEST(Duel, ATournamentFindsTheLargest) {
  for (const int rows : {2, 5, 9, 13})
    for (const compiler::StepSource steps : kAllSteps) {
      const int64_t width = 40;
      const Ints x = Some(-(1 << 20), (1 << 20) - 1, size_t(rows * width), uint64_t(rows));
      Rig g;
      const Duel gate{steps};
      PlacedWires w{g.Give(x, 23, {rows, width}), {}};
      int rounds = 0;
      for (; w.number.shape()[0] > 1; ++rounds) w = gate.Build(g.t, w);
      const Ints got = g.Run(Both(g.t, w));
      for (int64_t b = 0; b < width; ++b) {
        int64_t best = 0;
        for (int64_t s = 1; s < rows; ++s)
          if (x[size_t(s * width + b)] > x[size_t(best * width + b)]) best = s;
        EXPECT_EQ(got[size_t(b)], x[size_t(best * width + b)] * (int64_t{1} << rounds) + best) << rows;
      }
      const int flights[] = {2, 3, 4};
      EXPECT_EQ(g.flights(), Even(1 + rounds * flights[int(steps)])) << int(steps);
    }
}

TEST(Duel, KeyBits) {
  for (const compiler::StepSource steps : kAllSteps)
    for (const int planes : {0, 1, 3}) {
      Rig g;
      const PlacedInts x{Some(-100, 100, 64), Some(0, (1 << planes) - 1, 64)};
      const Duel gate{steps};
      const PlacedWires won = gate.Build(g.t, {g.Give(x.number, 12, {2, 32}), Planes(g, x.place, planes, {2, 32})});
      EXPECT_EQ(g.Run(Both(g.t, won)), Joined(gate.Spec(x, 12, 2, planes), 12, planes + 1));
      EXPECT_EQ(g.key_bits(), 32 * gate.KeyBits(12, planes) + KeyBitsOfBoth(12, planes + 1, 32))
          << int(steps) << planes;
    }
  EXPECT_EQ((Duel{compiler::StepSource::kDigits}.KeyBits(23, 5) - Duel{compiler::StepSource::kDigits}.KeyBits(23, 4)),
            2);
}

// Every row of 4 numbers of 3 bits, and of 3 numbers of 4 bits: all ties, and differences that wrap.
TEST(Ranks, Exhaustive) {
  for (auto [n, k] : {std::pair{4, 3}, {3, 4}, {2, 5}})
    for (const compiler::StepSource steps : kAllSteps) {
      const int many = 1 << n * k;
      Ints x;
      for (int v = 0; v < many; ++v)
        for (int j = 0; j < n; ++j) x.push_back(v >> k * j & ((1 << k) - 1));
      Rig g;
      const Ranks gate{steps, BitsToCount(n), {}};
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k, {many, n}))), gate.Spec(x, k, n)) << n << " " << int(steps);
      EXPECT_EQ(g.key_bits(), many * gate.KeyBits(k, n)) << n << " " << int(steps);
      EXPECT_EQ(g.sent("pairs"), 2 * many * (n * (n - 1) / 2));
      EXPECT_EQ(g.flights(), Even(2 + int(steps)));
    }
}

// Returns the ranks of a row by sorting.
Ints Sorted(const Ints& row) {
  Ints order(row.size()), rank(row.size());
  for (size_t i = 0; i < row.size(); ++i) order[i] = int64_t(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return row[size_t(a)] > row[size_t(b)]; });
  for (size_t i = 0; i < row.size(); ++i) rank[size_t(order[i])] = int64_t(i);
  return rank;
}

// All patterns of ties of up to 6 numbers, as all rows of n numbers out of n. The ranks are those of a sort.
TEST(Ranks, AllPatternsOfTies) {
  for (int n = 2; n <= 6; ++n) {
    int many = 1;
    for (int j = 0; j < n; ++j) many *= n;
    Ints x, want;
    for (int v = 0; v < many; ++v) {
      Ints row;
      for (int j = 0, rest = v; j < n; ++j, rest /= n) row.push_back(rest % n - 2);
      x.insert(x.end(), row.begin(), row.end());
      const Ints rank = Sorted(row);
      want.insert(want.end(), rank.begin(), rank.end());
    }
    Rig g;
    const Ranks gate{compiler::StepSource::kDigits, 8, {}};
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 5, {many, n}))), want) << n;
    EXPECT_EQ(gate.Spec(x, 5, n), want) << n;
  }
}

TEST(Ranks, FloorsComeInTheSameFlights) {
  for (const compiler::StepSource steps : kAllSteps) {
    const Ints x = Range(-16, 16);
    Rig g;
    const Ranks gate{steps, 5, 3};
    const Ranks::RankShares both = gate.BuildBoth(g.t, g.Give(x, 6, {2, 16}));
    const Ints rank = gate.Spec(x, 6, 16), under = gate.SpecUnder(x, 6);
    compiler::WordSum out(g.t, 5);
    out.Add(both.rank.y);
    out.Add({1, 4, both.under->hat, {}, {}});
    out.Add({1, 4, both.under->sign, both.under->rho, {}});
    Ints want;
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(under[i], x[i] < 3);
      want.push_back(Number(uint64_t(rank[i] + 16 * under[i]), 5));
    }
    EXPECT_EQ(g.Run(out.Done()), want);
    EXPECT_EQ(g.flights(), Even(2 + int(steps)));
  }
}

// Every row of 4 numbers of 3 bits without and with places; also rows whose ranks are no permutation.
TEST(TopOfGroup, Exhaustive) {
  for (const auto& [steps, planes, keep] : {std::tuple{compiler::StepSource::kParity, 0, int64_t{3}},
                                            {compiler::StepSource::kDigits, 2, int64_t{1}},
                                            {compiler::StepSource::kBlocks, 2, int64_t{3}}}) {
    const int n = 4, k = 3, many = 1 << n * k;
    PlacedInts x;
    for (int v = 0; v < many; ++v)
      for (int j = 0; j < n; ++j) {
        x.number.push_back(v >> k * j & ((1 << k) - 1));
        x.place.push_back((v + 3 * j) >> 1 & 3);
      }
    Rig g;
    const TopOfGroup gate{steps, keep};
    const PlacedWires top = gate.Build(g.t, {g.Give(x.number, k, {many, n}), Planes(g, x.place, planes, {many, n})});
    EXPECT_EQ(g.Run(Both(g.t, top)), Joined(gate.Spec(x, k, n, planes), k, planes + 2)) << int(steps);
    EXPECT_EQ(g.flights(), Even(5 + int(steps)));
  }
}

TEST(TopOfGroup, LongRowsAndKeyBits) {
  for (auto [n, keep] : {std::pair{7, 3}, {20, 10}, {51, 16}})
    for (const int planes : {0, 5}) {
      const Ints x = Some(-(1 << 20), (1 << 20) - 1, size_t(8 * n), uint64_t(n)), place = Some(0, 31, size_t(8 * n));
      Rig g;
      const TopOfGroup gate{compiler::StepSource::kDigits, keep};
      const PlacedWires top = gate.Build(g.t, {g.Give(x, 23, {8, n}), Planes(g, place, planes, {8, n})});
      const int bits = planes + BitsToCount(n);
      EXPECT_EQ(g.Run(Both(g.t, top)), Joined(gate.Spec({x, place}, 23, n, planes), 23, bits)) << n;
      EXPECT_EQ(g.key_bits(), 8 * gate.KeyBits(23, n, planes) + KeyBitsOfBoth(23, bits, 8 * keep)) << n;
      const PlacedInts spec = gate.Spec({x, place}, 23, n, 0);
      for (int row = 0; row < 8; ++row) {  // the largest ones, without Spec
        Ints own(x.begin() + row * n, x.begin() + (row + 1) * n);
        std::sort(own.rbegin(), own.rend());
        for (int64_t r = 0; r < keep; ++r) EXPECT_EQ(spec.number[size_t(row * keep + r)], own[size_t(r)]);
      }
    }
}

}  // namespace
}  // namespace suf::gates
