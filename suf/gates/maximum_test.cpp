#include "suf/gates/maximum.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

// Every row of 3 numbers of 3 bits, every floor.
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

TEST(Maximum, LongRows) {
  for (int row : {1, 7, 32, 63}) {
    Rig g;
    Ints x = Some(0, 127, size_t(6 * row + (row == 1)), 5);
    x.resize(size_t(6 * row));
    Maximum gate{40, 6};
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 7, {2, 3, row}))), gate.Spec(x, 7, row));
  }
}

}  // namespace
}  // namespace suf::gates
