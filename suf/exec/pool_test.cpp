#include "suf/exec/pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace suf::exec {
namespace {

TEST(Pool, CoversEveryIndexOnce) {
  Pool pool(3);
  for (size_t n : {0u, 1u, 7u, 1000u}) {
    std::vector<std::atomic<int>> hit(n);
    pool.For(n, 8, [&](size_t a, size_t b) {
      for (size_t i = a; i < b; ++i) ++hit[i];
    });
    for (auto& h : hit) EXPECT_EQ(h, 1);
  }
}

TEST(Pool, NestsInlineAndRethrows) {
  Pool pool(2);
  std::atomic<int> sum{0};
  pool.For(10, 1, [&](size_t a, size_t b) {
    for (; a < b; ++a) pool.For(3, 1, [&](size_t c, size_t d) { sum += int(d - c); });
  });
  EXPECT_EQ(sum, 30);
  EXPECT_THROW(pool.For(10, 1, [](size_t, size_t) { throw std::runtime_error("x"); }), std::runtime_error);
  pool.For(10, 1, [&](size_t a, size_t b) { sum += int(b - a); });
  EXPECT_EQ(sum, 40);
}

}  // namespace
}  // namespace suf::exec
