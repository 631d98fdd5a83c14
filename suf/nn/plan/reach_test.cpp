#include "suf/nn/plan/reach.hpp"

#include <cmath>

#include "suf/nn/ops/rig_test.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {
namespace {

TEST(Reach, MostAndBox) {
  const RowBound box = BoxOf({3, 5, 1}), ball{3, 4, {}, {}, {}}, both = BoxOf({3, 5, 1}, 4);
  EXPECT_EQ(box.most(), 5);
  EXPECT_EQ(ball.most(), 4);
  EXPECT_EQ(both.most(), 4);
  EXPECT_EQ(box.Box(), (Reals{3, 5, 1}));
  EXPECT_EQ(ball.Box(), (Reals{4, 4, 4}));
}

// Every row of a reach, scaled and rounded, is in the scaled reach.
TEST(Reach, ScaledIsSound) {
  for (const RowBound& r : {BoxOf({6, 2}), BoxOf({6, 6}, 6.5), RowBound{2, 6.5, {}, {}, {}}}) {
    const RowBound up = r.Scaled(4), down = r.Scaled(0.25, 0.5);
    for (const Ints& x : RowsOf(r)) {
      ExpectWithin({{1, 2}, {4 * x[0], 4 * x[1]}}, up);
      ExpectWithin({{1, 2}, {ring::RoundShift(x[0], 2), ring::RoundShift(x[1], 2)}}, down);
    }
    EXPECT_DOUBLE_EQ(up.length, 4 * r.length);
    EXPECT_DOUBLE_EQ(down.length, r.length / 4 + std::sqrt(0.5));
  }
}

// Images scale with their radius. Rounding adds noise to images, and nothing if there is no image.
TEST(Reach, ScaledImages) {
  RowBound r{4, 8, {}, {{2, 0, 4, 1, 8}}, {{1, 2}}};
  const RowBound s = r.Scaled(0.5, 0.5);
  ASSERT_EQ(s.images.size(), 1u);
  EXPECT_TRUE(s.images[0].radius == 4 && s.images[0].node == 2 && s.images[0].column == 1);
  ASSERT_EQ(s.noise.size(), 2u);
  EXPECT_TRUE(s.noise[0].each == 0.5 && s.noise[0].width == 2);
  EXPECT_TRUE(s.noise[1].each == 0.5 && s.noise[1].width == 4);
  EXPECT_EQ(r.Scaled(2).noise.size(), 1u);
  r.images.clear();
  r.noise.clear();
  EXPECT_TRUE(r.Scaled(0.5, 0.5).noise.empty());
}

}  // namespace
}  // namespace suf::nn
