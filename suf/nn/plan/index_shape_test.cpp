#include "suf/nn/plan/index_shape.hpp"

#include <gtest/gtest.h>

namespace suf::nn {
namespace {

TEST(IndexShape, CapacitiesGrowByAQuarter) {
  EXPECT_EQ(CapacityFor(1), 256);
  EXPECT_EQ(CapacityFor(256), 256);
  EXPECT_EQ(CapacityFor(257), 320);
  int64_t last = 256;
  for (int64_t rows = 257; rows < 200'000; rows += 97) {
    const int64_t capacity = CapacityFor(rows);
    EXPECT_GE(capacity, rows);
    EXPECT_LT(double(capacity), 1.26 * double(rows));
    EXPECT_TRUE(capacity == last || capacity == last + last / 4) << rows;
    last = capacity;
  }
}

TEST(IndexShape, RecallIsThatOfRandomBuckets) {
  Search s;
  s.k = 10;
  s.places = 98;
  s.buckets = 1024;
  EXPECT_NEAR(RecallOf(s), 1 - 9 / 2048.0, 1e-12);
  s.places = 1;
  EXPECT_EQ(RecallOf(s), 1);
}

}  // namespace
}  // namespace suf::nn
