// Reads of trees: levels, parities, dense tables and comparison functions, on clear and on every variant of packed.
// Each is compared with its definition for P1's words.
#include "suf/backends/rig_test.hpp"

namespace suf::backends {
namespace {

// Returns the bits of a shared string as shares of numbers, (m, ..) in Z_{2^k}. They are opened, then turned by the
// mask's share.
Sh Words(Fixture& f, const Sh& bits, int k, const char* label) {
  auto o = f.t.open(bits, label);
  auto hat = Lift(Unbits(o.hat));
  return Low(Sh(f.t.deal(Lift(Unbits(o.r)), k)) * (1 - hat * 2) + hat, k);
}

// Returns P1's words in Z_{2^k}, all below `most`.
SharedWire<kPub> Given(Fixture& f, Shape shape, int k, uint64_t most) {
  auto x = f.t.input<kP1>("x", shape, k, 0);
  auto& words = f.given["x"] = f.Random(Size(shape), k);
  for (uint64_t& w : words) w %= most;
  f.inputs[1].Set("x", words);
  return f.t.give<1>(Own<1>(x), k, "x");
}

// Tests `1[x >= a] = 1[x^ < r] ^ 1[(x^ - a) mod 2^n < r] ^ 1[x^ < a] ^ 1` with more keys than two tiles have.
TEST(Trees, ParitiesAreComparisons) {
  for (int n : {8, 13, 33, 64})
    for (int64_t rows : {1, 31, 150}) {
      Fixture f;
      auto x = f.Wire1("x", {rows}, n);
      std::vector<uint64_t> cuts{0};
      for (uint64_t c : {uint64_t{1}, uint64_t{100}, ring::Mask(n), uint64_t{1} << (n - 1), f.rng() & ring::Mask(n)})
        cuts.push_back(c);
      while (n == 33 && cuts.size() < 70) cuts.push_back(f.rng() & ring::Mask(n));
      const int64_t m = int64_t(cuts.size()), words = (m + 63) / 64;
      auto tree = f.t.tree(Sec(x.r));
      auto steps = f.t.parity(tree, x.hat, cuts);
      std::vector<uint64_t> masks(size_t((m - 1) * words));
      for (int64_t j = 1; j < m; ++j) {
        masks[size_t((j - 1) * words)] |= 1;
        masks[size_t((j - 1) * words + j / 64)] |= uint64_t{1} << (j % 64);
      }
      auto all = f.t.constant(masks, {m - 1, words});
      auto a = Mix(steps.a, all);
      auto b = Mix(steps.b, all);
      auto less = Less(x.hat, {cuts.begin() + 1, cuts.end()});
      f.t.reveal<1>(Words(f, Sh{a, b} + less, 8, "steps"));
      SCOPED_TRACE(testing::Message() << n << " bits, " << rows << " rows");
      auto run = Compare(f);
      ASSERT_EQ(run.result[1].size(), size_t((m - 1) * rows));
      for (int64_t j = 1; j < m; ++j)
        for (int64_t i = 0; i < rows; ++i)
          ASSERT_EQ(run.result[1][size_t((j - 1) * rows + i)], f.given["x"][size_t(i)] < cuts[size_t(j)])
              << i << " " << j;
    }
}

// If x is below 2^(w+2), the window of width 8 that ends at x^ >> w holds r >> w. That is as far down as x and a carry
// go.
TEST(Trees, EveryLevelHoldsTheMask) {
  for (int n : {9, 16, 40, 64})
    for (int w : {0, 1, 5, 7, 8, 11, 36}) {
      if (w + 4 > n) continue;
      Fixture f;
      auto x = Given(f, {67}, n, uint64_t{1} << (w + 2));
      auto tree = f.t.tree(Sec(x.r));
      auto window = f.t.window(tree, (w ? x.hat >> w : Pub(x.hat)) - 7, 8, w);
      auto list = f.t.constant({7, 6, 5, 4, 3, 2, 1, 0}, {8});
      auto bits = Words(f, window, 16, "window");
      auto value = Sum(bits * Reshape(Pub(list), {8, 1}), 0);
      // The parties' sums differ by the distance, with a sign that the dealer's copy of P0's bit gives.
      auto sign = Lift(f.t.point_of_p0(tree, w ? Sec(x.r) >> w : Sec(x.r), w)) * 2 - 1;
      auto da = Dot(window.a, list, 0);
      auto db = Dot(window.b, list, 0);
      auto far = f.t.open(Low(Sh{da, -db}, 16), "distance");
      Sh again = Sh(f.t.deal(sign, 16)) * far.hat - Sh(f.t.deal(sign * Lift(far.r), 16));
      f.t.reveal<1>(Low(Sum(bits, 0) + (value << 4) + (again << 8), 16));
      SCOPED_TRACE(testing::Message() << n << " bits, level " << w);
      auto run = Compare(f);
      for (size_t i = 0; i < 67; ++i) {
        const uint64_t at = f.given["x"][i] >> w, got = run.result[1][i];
        ASSERT_EQ(got & 15, 1u) << i;
        const uint64_t distance = got >> 4 & 15;
        ASSERT_TRUE(distance == at || (w && distance == at + 1)) << got << " " << at;
        ASSERT_EQ(got >> 8, distance) << i;
      }
    }
}

TEST(Trees, DenseTablesAreLookups) {
  for (int n : {8, 11, 16})
    for (int bits : {1, 9, 64}) {
      Fixture f;
      auto x = f.Wire1("x", {n == 16 ? 5 : 70}, n);
      std::vector<uint64_t> table = f.Random(int64_t{1} << n, 64);
      auto y = f.t.dense(f.t.tree(Sec(x.r)), x.hat, f.t.constant(table, {int64_t{1} << n}), bits);
      f.t.reveal<1>(Words(f, y, 8, "dense"));
      SCOPED_TRACE(testing::Message() << n << " bits to " << bits);
      auto run = Compare(f);
      const auto& in = f.given["x"];
      for (size_t b = 0; b < size_t(bits); ++b)
        for (size_t i = 0; i < in.size(); ++i)
          ASSERT_EQ(run.result[1][b * in.size() + i], table[in[i]] >> b & 1) << i << " " << b;
    }
}

// Computes x 1[x < a] from one key with payload (1, r). As numbers,
//  1[x < a] = 1[(x^ - a) mod 2^n < r] - 1[x^ < r] + 1[x^ < a].
TEST(Trees, ComparisonsCarryPayloads) {
  for (int n : {1, 7, 20, 32, 33, 64})
    for (int64_t rows : {1, 33, 100}) {
      Fixture f;
      auto x = f.Wire1("x", {rows}, n);
      std::vector<uint64_t> cuts{0, 1, ring::Mask(n), uint64_t{1} << (n - 1), f.rng() & ring::Mask(n)};
      const int64_t m = int64_t(cuts.size());
      auto one = Sec(Low(Broadcast(f.t.constant(1), {rows}), n));
      auto key = f.t.comparison(Sec(x.r), Stack<kDealer>({one, Sec(x.r)}), n);
      auto both = f.t.below(key, x.hat, cuts);  // (2, m, rows)
      auto part = [&](auto v, int64_t k) { return Reshape(Between(v, 0, k, k + 1), {m, rows}); };
      auto step = [&](auto v) { return Between(v, 0, 1, m) - Between(v, 0, 0, 1); };
      auto p0 = step(part(both.a, 0));
      auto p1 = step(part(both.b, 0));
      auto q0 = step(part(both.a, 1));
      auto q1 = step(part(both.b, 1));
      auto less = Lift(Unbits(Less(x.hat, {cuts.begin() + 1, cuts.end()})));
      auto y = Low((Sh{p0, p1} + less) * x.hat - (Sh{q0, q1} + Sh(x.s) * less), n);
      f.t.reveal<1>(y);
      SCOPED_TRACE(testing::Message() << n << " bits, " << rows << " rows");
      auto run = Compare(f);
      for (int64_t j = 1; j < m; ++j)
        for (int64_t i = 0; i < rows; ++i) {
          const uint64_t in = f.given["x"][size_t(i)];
          ASSERT_EQ(run.result[1][size_t((j - 1) * rows + i)], in < cuts[size_t(j)] ? in : 0) << i << " " << j;
        }
    }
}

}  // namespace
}  // namespace suf::backends
