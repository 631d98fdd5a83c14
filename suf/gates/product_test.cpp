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
      EXPECT_EQ(g.key_bits(), 2 * 3 * 4 * k);  // the word that reveals the result; none for the product
    }
}

// Every pair of 4-bit words, elementwise.
TEST(Product, Exhaustive) {
  Ints x, y, want;
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < 16; ++b) x.push_back(a), y.push_back(b), want.push_back(Number(uint64_t(a * b), 4));
  Rig g;
  SharedWire<kPub> wx = g.Both(x, 4);
  SharedWire<kPub> wy = g.Both(y, 4);
  Wire<kPub> w = compiler::OpenDefined(g.t, Product(wx, wy, [](auto a, auto b) { return a * b; }), "product");
  pfss::Dealt r = g.t.deal(w.r, 4);
  EXPECT_EQ(g.Run(-Sh(r) + w.hat), want);
}

}  // namespace
}  // namespace suf::gates
