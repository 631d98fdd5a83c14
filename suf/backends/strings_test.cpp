// Compares operations on bit strings and on lists of one-hot tables between clear and every variant of packed. Both are
// compared with the definitions written here.
#include "suf/backends/rig_test.hpp"

namespace suf::backends {
namespace {

constexpr int kRings[] = {1, 4, 8, 9, 10, 31, 32, 33, 63, 64};
constexpr int kStrings[] = {1, 7, 8, 9, 63, 64, 65, 200};

// P1's words x under its mask r. P0 learns x + r, from which the test computes r.
struct MaskedFixture : Fixture {
  int k;
  SharedWire<kPub> x;
  MaskedFixture(Shape shape, int bits) : k(bits), x(Wire1("x", std::move(shape), bits)) {}

  // Reveals y to P1; then hat, r and y are known.
  void Run(const Sh& y) {
    t.reveal<0>(Public(x.hat));
    t.reveal<1>(y);
    auto run = Compare(*this);
    hat = run.result[0];
    got = run.result[1];
    for (size_t i = 0; i < hat.size(); ++i) r.push_back((hat[i] - given.at("x")[i]) & ring::Mask(k));
  }
  // Returns a public value as shares.
  Sh Public(Pub v) {
    auto zero = Low(Broadcast(t.constant(0), v.shape()), v.bits());
    return {v, zero};
  }
  std::vector<uint64_t> hat, r, got;
};

std::vector<uint64_t> Thresholds(Fixture& f, int m, int k) {
  std::vector<uint64_t> b = f.Random(m, k);
  const uint64_t edges[] = {0, 1, uint64_t{1} << (k - 1), k < 64 ? uint64_t{1} << k : ~uint64_t{0}};
  for (size_t j = 0; j < b.size() && j < 4; ++j) b[b.size() - 1 - j] = edges[j];
  return b;
}

// Takes Less of a public and of a secret value apart. Their sum is the XOR, whether the string was dealt or each of its
// bits as a word.
TEST(Strings, LessAndUnbits) {
  for (int k : kRings)
    for (int m : kStrings) {
      SCOPED_TRACE(testing::Message() << k << " bits, " << m << " thresholds");
      const int64_t n = m % 2 ? 37 : 40;  // planes that end within a byte, or do not
      MaskedFixture f({n}, k);
      auto b = Thresholds(f, m, k);
      Sh bits = Map(Sh(f.t.deal(Less(Sec(f.x.r), b))), [](auto v) { return Unbits(v); });
      Sh words = f.t.deal(Unbits(Less(Sec(f.x.r), b)), 1);
      Sh both = bits + Unbits(Less(f.x.hat, b)), same = words + Unbits(Less(f.x.hat, b));
      f.Run({Stack<kP0>({both.a, same.a}), Stack<kP1>({both.b, same.b})});
      ASSERT_EQ(f.got.size(), size_t(2 * n * m));
      for (size_t j = 0; j < size_t(2 * m); ++j)
        for (size_t i = 0; i < size_t(n); ++i) {
          const uint64_t at = b[j % size_t(m)];
          ASSERT_EQ(f.got[j * size_t(n) + i], uint64_t((f.r[i] < at) ^ (f.hat[i] < at))) << i << " " << j;
        }
    }
}

// Computes l parities of a string of m bits. Some masks are zero, one is a splat.
TEST(Strings, Mix) {
  for (int m : kStrings)
    for (int l : {1, 8, 9, 64, 65, 130}) {
      SCOPED_TRACE(testing::Message() << m << " bits to " << l);
      MaskedFixture f({41}, 16);
      auto b = Thresholds(f, m, 16);
      const int64_t words = (m + 63) / 64;
      std::vector<uint64_t> masks = f.Random(l * words, 64);
      for (size_t j = 0; j < masks.size(); j += 5) masks[j] = 0;
      Sh y = Map(Sh(f.t.deal(Less(Sec(f.x.r), b))), [&](auto v) {
        auto mixed = Mix(v, f.t.constant(masks, {l, words}));
        auto all = Mix(v, f.t.constant({~uint64_t{0}}, {2, words}));
        auto sum = Sum(Lift(Unbits(all)), 0);  // twice the same
        return Low(Low(sum, 1) + Unbits(mixed), 1);
      });
      f.Run(y);
      for (size_t j = 0; j < size_t(l); ++j)
        for (size_t i = 0; i < 41; ++i) {
          uint64_t want = 0;
          for (size_t q = 0; q < size_t(m); ++q)
            want ^= (f.r[i] < b[q]) & masks[j * size_t(words) + q / 64] >> (q % 64) & 1;
          ASSERT_EQ(f.got[j * 41 + i], want) << i << " " << j;
        }
    }
}

// Reads a one-hot table at the mask: above many places, and a function's values at the wire itself.
TEST(Strings, AboveAndDense) {
  for (int w = 1; w <= 10; ++w)
    for (int m : kStrings) {
      SCOPED_TRACE(testing::Message() << "width " << w << ", " << m << " bits");
      MaskedFixture f({70}, w);
      auto b = f.Random(m, w);
      const int l = std::min(m, 64);
      auto list = f.Random(int64_t{1} << w, 64);
      auto table = f.t.constant(list, {int64_t{1} << w});
      Sh hot = f.t.deal(Hot(Sec(f.x.r)));
      Sh above = Map(hot, [&](auto v) { return Unbits(Above(v, f.x.hat, b)); });
      Sh dense = Map(hot, [&](auto v) { return Unbits(Dense(v, f.x.hat, table, l)); });
      f.Run({Stack<kP0>({Between(above.a, 0, 0, l), dense.a}), Stack<kP1>({Between(above.b, 0, 0, l), dense.b})});
      for (size_t j = 0; j < size_t(l); ++j)
        for (size_t i = 0; i < 70; ++i) {
          ASSERT_EQ(f.got[j * 70 + i], uint64_t(f.r[i] > ((f.hat[i] - b[j]) & ring::Mask(w)))) << i << " " << j;
          ASSERT_EQ(f.got[(size_t(l) + j) * 70 + i], list[f.given["x"][i]] >> j & 1) << i << " " << j;
        }
    }
}

// Reads a one-hot table at a string's mask from the opened string: the entry at the string, times P0's sign.
TEST(Strings, SelectX) {
  for (int w = 1; w <= 10; ++w)
    for (int ring : {8, 20, 33, 64})
      for (int64_t columns : {1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << "width " << w << ", ring " << ring << ", " << columns << " columns");
        MaskedFixture f({66}, 12);
        const int64_t size = int64_t{1} << w;
        auto list = f.Random(columns * size, ring);
        auto s = f.t.open(Sh(f.t.deal(Bits(Lift(Sec(f.x.r)), w))), "index");
        auto hot = f.t.deal(Hot(Low(Lift(s.r), w)));
        Sh y = Map(Sh(hot), [&](auto v) { return SelectX(v, s.hat, f.t.constant(list, {columns, size})); });
        f.Run(Low(Sh{y.a, -y.b}, ring));
        for (size_t i = 0; i < 66; ++i) {
          std::vector<uint64_t> want, minus, got;
          for (size_t c = 0; c < size_t(columns); ++c) {
            want.push_back(list[c * size_t(size) + (f.r[i] & ring::Mask(w))]);
            minus.push_back(-want.back() & ring::Mask(ring));
            got.push_back(f.got[c * 66 + i]);
          }
          ASSERT_TRUE(got == want || got == minus) << i;
        }
      }
}

TEST(Strings, Turn) {
  for (int n : {1, 2, 3, 8, 9, 13, 16})
    for (int ring : {1, 8, 9, 31, 33, 64}) {
      SCOPED_TRACE(testing::Message() << n << " bits, ring " << ring);
      const size_t rows = n > 9 ? 2 : 21, size = size_t{1} << n;
      MaskedFixture f({int64_t(rows)}, n);
      auto list = f.Random(int64_t(size), 64);
      f.Run(f.t.deal(Turn(Sec(f.x.r), f.t.constant(list, {int64_t(size)})), ring));
      ASSERT_EQ(f.got.size(), rows * size);
      for (size_t i = 0; i < rows; ++i)
        for (size_t u = 0; u < size; ++u)
          ASSERT_EQ(f.got[i * size + u], list[(u - f.r[i]) & (size - 1)] & ring::Mask(ring)) << i << " " << u;
    }
}

// Tests strings that are longer than a group's registers: thousands of bits taken apart and mixed, over several strips.
// It also tests the longest strings possible.
TEST(Strings, Long) {
  for (auto [m, rows] : {std::pair<int, int64_t>{64, 3000}, {65, 300}, {4096, 150}, {65536, 9}}) {
    SCOPED_TRACE(m);
    MaskedFixture f({rows}, 20);
    auto b = Thresholds(f, m, 20);
    Sh bits = f.t.deal(Less(Sec(f.x.r), b));
    auto o = f.t.open(bits, "string");
    std::vector<uint64_t> odd{0x5555555555555555};
    Sh apart = Map(bits, [](auto v) { return Unbits(v); });
    Sh masks = Map(Sh(o.s), [](auto v) { return Unbits(v); });
    Sh sum = apart + masks + Unbits(o.hat);  // zero
    Sh mixed = Map(bits, [&](auto v) { return Unbits(Mix(v, f.t.constant(odd, {1, (m + 63) / 64}))); });
    f.Run({Stack<kP0>({At(sum.a, m - 1), At(sum.a, m / 2), At(mixed.a, 0), At(apart.a, m / 3)}),
           Stack<kP1>({At(sum.b, m - 1), At(sum.b, m / 2), At(mixed.b, 0), At(apart.b, m / 3)})});
    for (size_t i = 0; i < size_t(rows); ++i) {
      uint64_t parity = 0;
      for (size_t j = 0; j < size_t(m); j += 2) parity ^= f.r[i] < b[j];
      EXPECT_EQ(f.got[i], 0u);
      EXPECT_EQ(f.got[size_t(rows) + i], 0u);
      EXPECT_EQ(f.got[2 * size_t(rows) + i], parity);
      EXPECT_EQ(f.got[3 * size_t(rows) + i], uint64_t(f.r[i] < b[size_t(m) / 3]));
    }
  }
}

}  // namespace
}  // namespace suf::backends
