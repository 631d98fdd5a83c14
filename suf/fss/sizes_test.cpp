#include "suf/fss/sizes.hpp"

#include <gtest/gtest.h>

namespace suf::fss {
namespace {

// Counts the blocks of a window of m points at level w that begins at lo, node by node. Counted are the leaf blocks
// that cover the window at any offset in the first of them. Each expanded node above them counts as well.
int64_t Blocks(int n, int64_t m, int w, uint64_t lo) {
  const bool inner = w >= 8;
  const int depth = n - (inner ? w : 8);
  const uint64_t leaves = inner ? 0 : (uint64_t(m << w) + 126) / 128 + 1;
  const uint64_t first = inner ? lo : (lo << w) >> 8, block = (lo << w) >> 7;
  const uint64_t last = inner ? lo + uint64_t(m) - 1 : (block + leaves - 1) >> 1;
  int64_t opened = int64_t(leaves);
  for (int d = 0; d < depth; ++d) opened += int64_t((last >> (depth - d)) - (first >> (depth - d))) + 1;
  return opened;
}

TEST(Sizes, BlocksOfARangeAreTheMeanOverItsPlaces) {
  for (int n : {8, 9, 11, 13, 16})
    for (int w : {0, 1, 5, 7, 8, 9, 11})
      for (int64_t m : {2, 3, 17, 64, 129, 201, 1000, 5000}) {
        if (w >= n || m > int64_t{1} << (n - w)) continue;
        int64_t sum = 0;
        const uint64_t places = uint64_t{1} << (n - w);
        for (uint64_t lo = 0; lo < places; ++lo) sum += Blocks(n, m, w, lo);
        const double mean = double(sum) / double(places);
        EXPECT_NEAR(double(DpfRangeBlocks(n, m, w)), mean, 1.001) << n << " " << w << " " << m;
      }
}

TEST(Sizes, KnownBlocks) {
  EXPECT_EQ(DpfPathBlocks(64), 57);
  EXPECT_EQ(DpfPathBlocks(64, 7), 57);
  EXPECT_EQ(DpfPathBlocks(64, 40), 24);
  EXPECT_EQ(DpfWindowBlocks(64, 1), 57);
  EXPECT_EQ(DpfGenBlocks(64), 116);
  EXPECT_EQ(DpfDomainBlocks(16), 767);
  EXPECT_EQ(DpfDomainBlocks(8), 2);
  EXPECT_EQ(DcfEvalBlocks(64, 1, 64), 129);
  EXPECT_EQ(DcfEvalBlocks(64, 2, 64), 129);
  EXPECT_EQ(DcfEvalBlocks(64, 3, 64), 2 * 64 + 64 + 2);
  EXPECT_EQ(DcfEvalBlocks(32, 5, 32), 2 * 32 + 32 + 2);
  EXPECT_EQ(DcfGenBlocks(64, 1, 64), 6 * 64 + 2);
  EXPECT_EQ(DcfGenBlocks(64, 2, 64), 8 * 64 + 2);
  EXPECT_EQ(DcfGenBlocks(12, 2, 20), 6 * 12 + 2);
  EXPECT_EQ(DcfGenBlocks(12, 3, 33), 12 * 12 + 4);
  EXPECT_EQ(DcfEvalBlocks(64, 1, 64, DcfScheme::kMyl7), 4 * 64);
  EXPECT_EQ(DcfGenBlocks(64, 3, 20, DcfScheme::kMyl7), 3 * 8 * 64);
  EXPECT_EQ(DcfKeyBits(64, 1, 64, DcfScheme::kMyl7), 64u * 193 + 64);
  EXPECT_EQ(DcfKeyBits(10, 3, 7, DcfScheme::kMyl7), 3u * (10 * 193 + 64));  // independent of the ring
  EXPECT_EQ(DcfRootBits(3), 128);
  EXPECT_EQ(DcfRootBits(3, DcfScheme::kMyl7), 3 * 128);
}

}  // namespace
}  // namespace suf::fss
