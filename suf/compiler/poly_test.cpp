// Polynomials in opened bits between two parties. Results are checked on every assignment, and key bits against the
// closed forms.
#include "suf/compiler/poly.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "suf/pfss/lint.hpp"
#include "suf/reference/clear.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::compiler {
namespace {

// An opened string of m bits of P1, with every assignment as an element. The mask of the wire z is a dealer's factor.
struct Rig {
  Trace t;
  run::Inputs inputs[3];
  SharedWire<kPub> bits;
  Wire<kPub> z;
  int64_t n;
  static constexpr int kFactor = 64;

  explicit Rig(int m) : n(int64_t{1} << m) {
    std::vector<uint64_t> x(static_cast<size_t>(n)), zeros(x.size());
    std::iota(x.begin(), x.end(), 0);
    inputs[1].Set("x", x);
    inputs[1].Set("z", zeros);
    auto other = t.input<pfss::kP1>("z", {n}, kFactor, 0);
    z = t.give<1>(other, kFactor, "z");
    pfss::Own<1> mine = Bits(t.input<pfss::kP1>("x", {n}, 32, 0), m);
    pfss::Own<0> none = Bits(Broadcast(t.constant(0), {n}), m);
    bits = t.open(Sh{none, mine}, "bits");
  }
  // Returns the result of P1. Sets `factor` to z's mask, and the costs.
  std::vector<uint64_t> Run(const Sh& y) {
    pfss::Own<1> zero = Broadcast(t.constant(0), {n});
    t.reveal<0>({z.hat, zero});
    t.reveal<1>(y);
    t.close();
    pfss::Schedule s(t);
    pfss::LintReport lint = pfss::Lint(s);
    EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
    key = s.key_bits(0) + s.key_bits(1);
    flights = s.flights();
    auto clear = reference::MakeClear();
    pfss::BundleSecrets secrets{{Secret(Hash{1, 2}), Secret(Hash{3, 4})}, Hash{5}};
    auto run =
        run::RunPair({s, {clear.get(), clear.get(), clear.get()}, {&inputs[0], &inputs[1], &inputs[2]}, secrets});
    factor = run.result[0];
    return run.result[1];
  }
  std::vector<uint64_t> factor;
  int64_t key = 0;
  int flights = 0;
};

bool Holds(const BitProduct& p, uint64_t x) {
  bool all = true;
  for (int i : p) all = all && x >> i & 1;
  return all;
}
uint64_t MeaningX(const std::vector<BitProduct>& products, bool constant, uint64_t x) {
  uint64_t y = constant;
  for (const BitProduct& p : products) y ^= Holds(p, x);
  return y;
}
uint64_t MeaningA(const WeightedProducts& products, uint64_t x) {
  uint64_t y = 0;
  for (auto& [c, p] : products) y += Holds(p, x) ? uint64_t(c) : 0;
  return y;
}

void ExpectX(int m, const std::vector<BitProduct>& products, bool constant) {
  SCOPED_TRACE(testing::Message() << m << " bits, " << products.size() << " products");
  Rig rig(m);
  auto y = rig.Run(PolynomialX(rig.t, SplitBitsX(rig.bits), products, constant));
  ASSERT_EQ(y.size(), size_t(rig.n));
  for (size_t x = 0; x < y.size(); ++x) ASSERT_EQ(y[x], MeaningX(products, constant, x)) << x;
  EXPECT_EQ(rig.key, rig.n * MonomialsX(products));
}

void ExpectA(int m, const WeightedProducts& products, int k, bool times) {
  SCOPED_TRACE(testing::Message() << m << " bits, " << products.size() << " products, ring " << k);
  Rig rig(m);
  const std::vector<OpenedBit> bits = SplitBits(rig.bits);
  OwedWord sum = PolynomialA(rig.t, bits, products, k, times ? std::optional<Sec>(Lift(rig.z.r) * 3) : std::nullopt);
  EXPECT_EQ(sum.y.bits(), k);
  const int64_t owed = sum.owed ? k : 0;
  auto y = rig.Run(DealOwed(rig.t, sum));
  ASSERT_EQ(y.size(), size_t(rig.n));
  for (size_t x = 0; x < y.size(); ++x)
    ASSERT_EQ(y[x], (MeaningA(products, x) * (times ? 3 * rig.factor[x] : 1)) & ring::Mask(k)) << x;
  EXPECT_EQ(rig.key, rig.n * (WordsA(products, k, times) + owed));
}

TEST(Poly, EveryShapeX) {
  for (bool constant : {false, true}) {
    ExpectX(1, {}, constant);
    ExpectX(1, {{0}}, constant);
    ExpectX(2, {{0, 1}}, constant);
    ExpectX(2, {{}}, constant);
    ExpectX(3, {{0, 1}, {1, 0}}, constant);                    // they cancel
    ExpectX(3, {{2, 2, 0, 2}, {0, 2}, {1, 1}, {}}, constant);  // t_1 xor 1
    ExpectX(6, {{0, 1, 2, 3, 4, 5}}, constant);
    ExpectX(6, {{0}, {1}, {2}, {3}, {4}, {5}}, constant);
  }
  EXPECT_EQ(MonomialsX({}), 0);
  EXPECT_EQ(MonomialsX({{0}, {3}}), 0);
  EXPECT_EQ(MonomialsX({{0, 1}}), 1);
  EXPECT_EQ(MonomialsX({{0, 1}, {1, 0, 0}}), 0);
  EXPECT_EQ(MonomialsX({{0, 1, 2}, {1, 2}}), 4);
  EXPECT_EQ(MonomialsX({{0, 1, 2, 3, 4, 5}}), 64 - 7);
}

TEST(Poly, EveryShapeA) {
  for (bool times : {false, true})
    for (int k : {1, 8, 33, 64}) {
      ExpectA(1, {}, k, times);
      ExpectA(1, {{5, {}}}, k, times);
      ExpectA(1, {{-3, {0}}}, k, times);
      ExpectA(2, {{1, {0, 1}}, {7, {}}}, k, times);
      ExpectA(2, {{4, {0, 1}}, {-4, {1, 0, 1}}}, k, times);  // they cancel
      ExpectA(3, {{6, {0, 2}}, {-8, {1}}, {2, {2, 0}}, {int64_t{1} << 40, {0, 1, 2}}}, k, times);
      ExpectA(6, {{-1, {0, 1, 2, 3, 4, 5}}, {3, {5}}}, k, times);
    }
  EXPECT_EQ(WordsA({}, 20), 0);
  EXPECT_EQ(WordsA({{5, {}}}, 20, true), 0);  // owed
  EXPECT_EQ(WordsA({{1, {0}}}, 20), 20);
  EXPECT_EQ(WordsA({{1, {0}}}, 20, true), 40);  // including the factor itself
  EXPECT_EQ(WordsA({{-8, {0}}}, 20), 17);
  EXPECT_EQ(WordsA({{4, {0, 1}}, {1, {0}}}, 20), 20 + 18 + 18);
  EXPECT_EQ(WordsA({{1 << 20, {0, 1}}}, 20), 0);
}

TEST(Poly, Random) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 60; ++round) {
    const int m = 1 + int(rng() % 6), k = 1 + int(rng() % 64);
    std::vector<BitProduct> products(rng() % 12);
    WeightedProducts weighted;
    for (BitProduct& p : products) {
      p.resize(rng() % 5);
      for (int& i : p) i = int(rng() % uint64_t(m));
      weighted.push_back({int64_t(rng()) >> (rng() % 64), p});
    }
    ExpectX(m, products, rng() & 1);
    ExpectA(m, weighted, k, round % 3 == 0);
  }
}

// Two polynomials on the same bits share monomials, in the arithmetic world at the wider ring.
TEST(Poly, MonomialsAreSharedOnce) {
  const std::vector<BitProduct> f{{0, 1, 2}, {3}}, g{{2, 1, 0}, {2, 3}};
  Rig x(4);
  const OpenedBits opened = SplitBitsX(x.bits);
  Sh a = PolynomialX(x.t, opened, f, false);
  Sh b = PolynomialX(x.t, opened, g, true);
  auto y = x.Run(a + b);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], MeaningX(f, false, i) ^ MeaningX(g, true, i));
  std::vector<BitProduct> both{{0, 1, 2}, {2, 3}};
  EXPECT_EQ(x.key, 16 * MonomialsX(both));
  EXPECT_LT(MonomialsX(both), MonomialsX(f) + MonomialsX(g));
  WeightedProducts u{{1, {0, 1}}}, v{{3, {1, 0}}, {1, {0, 2}}};
  Rig z(3);
  const std::vector<OpenedBit> bits = SplitBits(z.bits);
  Sh wide = DealOwed(z.t, PolynomialA(z.t, bits, u, 40));
  Sh narrow = DealOwed(z.t, PolynomialA(z.t, bits, v, 9));
  auto sum = z.Run(Low(wide, 9) + narrow);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], (MeaningA(u, i) + MeaningA(v, i)) & 511);
  // monomials 0, 1 and 0 1 at 40 bits; 2 and 0 2 at 9 bits
  EXPECT_EQ(z.key, 8 * (3 * 40 + 2 * 9));
  EXPECT_LT(z.key, 8 * (WordsA(u, 40) + WordsA(v, 9)));
}

// A string takes one message in each direction and is opened once.
TEST(Poly, OneFlightAndOneMessage) {
  Rig rig(5);
  rig.Run(PolynomialX(rig.t, SplitBitsX(rig.bits), {{0, 1}, {2, 3, 4}}, false));
  pfss::Schedule s(rig.t);
  int64_t sent = 0;
  for (auto& f : s.frames())
    for (auto& part : f.parts)
      if (rig.t.name(rig.t.node(part.node).label) == "bits") sent += part.bytes;
  EXPECT_EQ(sent, 2 * (32 * 5 / 8));
  EXPECT_EQ(rig.flights, 2);
}

// Sums without shares have constants, public values or owed words, or are empty. They are revealed or opened, in rings
// of several sizes.
TEST(Words, EndWithoutAShare) {
  for (int k : {1, 9, 32, 64})
    for (bool open : {false, true})
      for (int what = 0; what < 8; ++what) {
        SCOPED_TRACE(testing::Message() << "ring " << k << ", " << what << (open ? ", opened" : ""));
        Rig rig(2);
        WordSum sum(rig.t, k);
        if (what & 1) sum.Add({-1, 3, {}, {}, {}});  // -8
        if (what & 2) sum.Add({1, 0, Lift(rig.z.hat), {}, {}});
        if (what & 4) sum.Add({-1, 0, {}, Lift(rig.z.r), {}});
        OwedWord owing = sum.Done({rig.n});
        EXPECT_EQ(owing.y.bits(), k);
        EXPECT_EQ(owing.y.shape(), pfss::Shape{rig.n});
        EXPECT_EQ(owing.owed.has_value(), bool(what & 4));
        Sh y = DealOwed(rig.t, owing);
        if (open) {
          SharedWire<kPub> w = OpenShared(rig.t, owing, "again");
          y = -Sh(w.s) + w.hat;
        }
        auto got = rig.Run(y);
        ASSERT_EQ(got.size(), size_t(rig.n));
        for (size_t i = 0; i < got.size(); ++i) {
          uint64_t want = (what & 1 ? -8 : 0) + (what & 2 ? rig.factor[i] : 0) - (what & 4 ? rig.factor[i] : 0);
          EXPECT_EQ(got[i], want & ring::Mask(k)) << i;
        }
      }
}

// The shape is the broadcast of the summands' shapes or, without summands, that of the caller.
TEST(Words, TakeTheShapeOfTheirSummands) {
  for (int k : {7, 64}) {
    Rig rig(3);
    WordSum sum(rig.t, k), none(rig.t, k);
    sum.Add({1, 0, Reshape(Lift(rig.z.hat), {1, 8}), {}, {}});
    sum.Add({1, 0, {}, Reshape(Lift(rig.z.r), {8, 1}), {}});
    EXPECT_EQ(sum.Done().y.shape(), (pfss::Shape{8, 8}));
    OwedWord nothing = none.Done();
    EXPECT_EQ(nothing.y.shape(), pfss::Shape{});
    SharedWire<kPub> w = rig.t.open(nothing.y, "nothing");
    for (uint64_t v : rig.Run(-Sh(w.s) + w.hat)) EXPECT_EQ(v, 0u);
  }
}

}  // namespace
}  // namespace suf::compiler
