#include "suf/exec/pools.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <latch>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "suf/base/cores.hpp"

namespace suf::exec {
namespace {

int Sum(Pool& pool, int n) {
  std::atomic<int> sum{0};
  pool.For(size_t(n), 1, [&](size_t a, size_t b) { sum += int(b - a); });
  return sum;
}

// A range of one lease waits until a range of another lease has ended. One pool would never end this.
TEST(Pools, ARangeThatWaitsDelaysNoOtherLease) {
  const Pools pools(4);
  const Pools::Lease waits = pools.Take(), goes_on = pools.Take();
  ASSERT_NE(&waits.pool(), &goes_on.pool());
  std::latch inside(1), over(1);
  std::thread first([&] {
    waits.pool().For(64, 1, [&](size_t a, size_t) {
      if (a) return;
      inside.count_down();
      over.wait();
    });
  });
  inside.wait();
  EXPECT_EQ(Sum(goes_on.pool(), 100), 100);
  over.count_down();
  first.join();
}

TEST(Pools, ALeaseHasTheCoresOfOneInference) {
  const int all = Cores();
  const Pools pools(all), two(2);
  const RunningInference one;
  EXPECT_EQ(pools.Take().pool().threads(), all);
  EXPECT_EQ(two.Take().pool().threads(), std::min(all, 2));
  const std::deque<RunningInference> more(3);
  EXPECT_EQ(pools.Take().pool().threads(), std::max(1, all / 4));
}

TEST(Pools, AnIdlePoolServesAgain) {
  const Pools pools(3);
  const Pool* first = nullptr;
  for (int i = 0; i < 5; ++i) {
    const Pools::Lease lease = pools.Take();
    EXPECT_EQ(Sum(lease.pool(), 10), 10);
    if (first) {
      EXPECT_EQ(&lease.pool(), first);
    }
    first = &lease.pool();
  }
  EXPECT_EQ(pools.idle(), 1u);
  const Pools copy = pools;
  EXPECT_EQ(&copy.Take().pool(), first) << "copies share their pools";
}

// After many runs at once their threads go away, but for four pools' worth.
TEST(Pools, KeepsFewIdleThreads) {
  const Pools pools(1);
  {
    std::vector<Pools::Lease> many;
    std::set<const Pool*> different;
    for (int i = 0; i < 20; ++i) different.insert(&many.emplace_back(pools.Take()).pool());
    EXPECT_EQ(different.size(), 20u);
    EXPECT_EQ(pools.idle(), 0u);
  }
  EXPECT_EQ(pools.idle(), 4u);
}

TEST(Pools, OfOnePoolLeaseThatPool) {
  Pool pool(2);
  const Pools pools(pool);
  const Pools::Lease one = pools.Take(), two = pools.Take();
  EXPECT_EQ(&one.pool(), &pool);
  EXPECT_EQ(&two.pool(), &pool);
}

TEST(Pools, ALeaseOutlivesItsSource) {
  std::optional<Pools> pools(std::in_place, 2);
  const Pools::Lease lease = pools->Take();
  pools.reset();
  EXPECT_EQ(Sum(lease.pool(), 10), 10);
}

}  // namespace
}  // namespace suf::exec
