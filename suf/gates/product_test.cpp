#include "suf/gates/product.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

TEST(Product, NoKeyAndOneRound) {
  for (int k : {1, 8, 31, 32, 33, 63, 64})
    for (bool transpose : {false, true}) {
      Rig g;
      Ints x = Some(INT64_MIN, INT64_MAX, 2 * 3 * 5, 1), y = Some(INT64_MIN, INT64_MAX, 2 * 5 * 4, 2);
      MatmulProduct gate{transpose};
      SharedWire<kPub> wx = g.Both(x, k, {2, 3, 5});
      SharedWire<kPub> wy = g.Both(y, k, transpose ? pfss::Shape{2, 4, 5} : pfss::Shape{2, 5, 4});
      EXPECT_EQ(g.Run(gate.Build(g.t, wx, wy)), gate.Spec(x, y, 3, 5, 4, k)) << k;
      EXPECT_EQ(g.key_bits(), 2 * 3 * 4 * k);  // for the reveal; the product itself takes none
    }
}

// Every pair of numbers in the gaps of rings of 2 to 6 bits, under 8 masks each, into narrower and wider rings.
TEST(Multiply, Exhaustive) {
  for (auto [k, m] : {std::pair{5, 6}, {6, 5}, {2, 4}, {4, 4}})
    for (int ring : {1, 4, 5, 7, 9, 11, 12, 33, 64}) {
      Ints x, y;
      for (int copy = 0; copy < 8; ++copy)
        for (int a = -(1 << (k - 2)); a < 1 << (k - 2); ++a)
          for (int b = -(1 << (m - 2)); b < 1 << (m - 2); ++b) {
            x.push_back(a);
            y.push_back(b);
          }
      Rig g;
      Multiply gate{ring};
      SharedWire<kPub> wx = g.Give(x, k);
      SharedWire<kPub> wy = g.Give(y, m);
      Ints got = g.Run(gate.Build(g.t, wx, wy));
      EXPECT_EQ(got, gate.Spec(x, y)) << k << " " << m << " " << ring;
      for (size_t i = 0; i < got.size() && ring >= k + m - 2; ++i) EXPECT_EQ(got[i], x[i] * y[i]);
      EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(k, m, true));
      EXPECT_EQ(g.flights(), 2);
    }
}

TEST(Multiply, WideRingsAndDefinedMask) {
  for (auto [k, m] : {std::pair{31, 33}, {32, 32}, {33, 31}, {40, 20}, {63, 3}, {63, 63}}) {
    Rig g;
    int64_t a = int64_t{1} << (k - 2), b = int64_t{1} << (m - 2);
    Ints x = Some(-a, a - 1, 300, 1), y = Some(-b, b - 1, 300, 2);
    Multiply gate{64};
    SharedWire<kPub> wx = g.Give(x, k);
    SharedWire<kPub> wy = g.Both(y, m);
    Wire<kPub> z = compiler::OpenDefined(g.t, gate.Build(g.t, wx, wy), "product");
    pfss::Dealt r = g.t.deal(z.r, 64);
    EXPECT_EQ(g.Run(-Sh(r) + z.hat), gate.Spec(x, y)) << k << " " << m;
    EXPECT_EQ(g.key_bits(), int64_t(x.size()) * (gate.KeyBits(k, m, false) + 64));
    EXPECT_EQ(g.sent("product"), 2 * int64_t(x.size()) * 64);
  }
}

// Every pair of numbers in the gaps of 5 and 6 bits, as rows of eight numbers with one factor.
TEST(RowProduct, Exhaustive) {
  for (auto [k, m] : {std::pair{5, 6}, {6, 5}, {5, 5}})
    for (int ring : {1, 5, 7, 11, 12, 33, 64}) {
      Ints x, s;
      for (int copy = 0; copy < 8; ++copy)
        for (int b = -(1 << (m - 2)); b < 1 << (m - 2); ++b)
          for (int a = -(1 << (k - 2)); a < 1 << (k - 2); ++a) {
            if ((a + (1 << (k - 2))) % 8 == 0) s.push_back(b);
            x.push_back(a);
          }
      Rig g;
      RowProduct gate{ring};
      const int64_t rows = int64_t(s.size());
      SharedWire<kPub> wx = g.Give(x, k, {rows, 8});
      SharedWire<kPub> ws = g.Give(s, m);
      Ints got = g.Run(gate.Build(g.t, wx, ws));
      EXPECT_EQ(got, gate.Spec(x, s)) << k << " " << m << " " << ring;
      for (size_t i = 0; i < got.size() && ring >= k + m - 2; ++i) EXPECT_EQ(got[i], x[i] * s[i / 8]);
      EXPECT_EQ(g.key_bits(), rows * gate.KeyBits(k, m, 8, true));
      EXPECT_EQ(g.flights(), 2);
    }
}

TEST(RowProduct, WideRings) {
  for (auto [k, m] : {std::pair{31, 33}, {32, 32}, {33, 31}, {63, 63}}) {
    Rig g;
    const int64_t a = int64_t{1} << (k - 2), b = int64_t{1} << (m - 2);
    Ints x = Some(-a, a - 1, 60 * 5, 1), s = Some(-b, b - 1, 60, 2);
    SharedWire<kPub> wx = g.Both(x, k, {6, 10, 5});
    SharedWire<kPub> ws = g.Both(s, m, {6, 10});
    RowProduct gate{64};
    EXPECT_EQ(g.Run(gate.Build(g.t, wx, ws)), gate.Spec(x, s)) << k << " " << m;
    EXPECT_EQ(g.key_bits(), 60 * gate.KeyBits(k, m, 5, true));
  }
}

// Every pair of 4-bit words.
TEST(Product, Exhaustive) {
  Ints x, y, want;
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < 16; ++b) {
      x.push_back(a);
      y.push_back(b);
      want.push_back(Number(uint64_t(a * b), 4));
    }
  Rig g;
  SharedWire<kPub> wx = g.Both(x, 4);
  SharedWire<kPub> wy = g.Both(y, 4);
  Wire<kPub> w = compiler::OpenDefined(g.t, Product(wx, wy, [](auto a, auto b) { return a * b; }), "product");
  pfss::Dealt r = g.t.deal(w.r, 4);
  EXPECT_EQ(g.Run(-Sh(r) + w.hat), want);
}

}  // namespace
}  // namespace suf::gates
