#include "suf/base/random_below.hpp"

#include <gtest/gtest.h>

#include <set>

namespace suf {
namespace {

// A number of a small range is missed by 2,000 draws once in more than 2^200.
TEST(RandomBelow, ReachesEachNumberBelowTheLimitAndNoOther) {
  for (uint64_t n = 1; n <= 12; ++n) {
    std::set<uint64_t> seen;
    for (int i = 0; i < 2000; ++i) seen.insert(RandomBelow(n));
    EXPECT_EQ(seen.size(), n);
    EXPECT_LT(*seen.rbegin(), n);
  }
  for (int i = 0; i < 100; ++i) EXPECT_LT(RandomBelow(~uint64_t{0}), ~uint64_t{0});
}

}  // namespace
}  // namespace suf
