#include "suf/exec/pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
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

// The first part fails after another one has, and its exception is rethrown.
TEST(Pool, TheLowestRangesErrorIsTold) {
  Pool pool(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> failed{0};
    try {
      pool.For(4, 1, [&](size_t a, size_t) {
        while (a == 0 && !failed) std::this_thread::yield();
        ++failed;
        throw std::runtime_error(std::to_string(a));
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "0") << "round " << round;
    }
  }
}

// A link copies frames under a lock. Kernels that send while they run wait for this lock.
TEST(Pool, ACopyWaitsForNoRange) {
  std::mutex m;
  std::atomic<bool> begun{false};
  std::unique_lock l(m);
  std::thread range([&] {
    Default().For(2, 1, [&](size_t, size_t) {
      begun = true;
      std::lock_guard waits(m);
    });
  });
  while (!begun) std::this_thread::yield();
  std::vector<uint8_t> from(size_t{3} << 20), to(from.size());
  std::iota(from.begin(), from.end(), uint8_t{7});
  Copy(from, to.data());
  l.unlock();
  range.join();
  EXPECT_EQ(from, to);
}

// A range gets one thread per grain, also if threads sleep, and after any previous range. Each grain waits for all
// others.
TEST(Pool, ARangeHasAThreadAGrain) {
  Pool pool(7);
  std::mt19937 rng(4);
  for (int round = 0; round < 200; ++round) {
    if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const int grains = 1 + int(rng() % 7);
    std::atomic<int> begun{0};
    pool.For(size_t(grains), 1, [&](size_t a, size_t b) {
      EXPECT_EQ(b - a, 1u);
      ++begun;
      while (begun < grains) std::this_thread::yield();
    });
    ASSERT_EQ(begun, grains) << "round " << round;
  }
}

// Plain words, for the thread sanitizer. The range sees the caller's writes, and the caller sees those of the range.
// Each range has at least two threads, and the pool has two callers.
TEST(Pool, RangesAreOrderedWithTheirCallers) {
  Pool pool(3);
  auto caller = [&](uint64_t salt) {
    std::vector<uint64_t> words(64);
    for (uint64_t round = 1; round <= 300; ++round) {
      std::iota(words.begin(), words.end(), salt * round);
      std::atomic<int> begun{0};
      pool.For(words.size(), round % 9 + 1, [&](size_t a, size_t b) {
        begun.fetch_add(1, std::memory_order_relaxed);  // orders nothing
        while (begun.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
        for (size_t i = a; i < b; ++i) words[i] *= 3;
      });
      for (size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], 3 * (salt * round + i)) << "round " << round;
    }
  };
  std::thread other([&] { caller(1000); });
  caller(7);
  other.join();
  for (int i = 0; i < 50; ++i) {  // a pool ends at any moment after its last range
    int sum = 0;
    Pool brief(2);
    brief.For(4, 2, [&](size_t a, size_t) {
      if (a == 0) sum = 1;  // one writer
    });
    EXPECT_EQ(sum, 1);
  }
}

// A pool ends while a worker of its last range still wakes others. That range gives worker 1 three others to wake, and
// the end gives it one more.
TEST(Pool, EndsBeforeALateWorker) {
  auto ends = [] {
    for (int round = 0; round < 500; ++round) {
      Pool pool(9);
      std::this_thread::sleep_for(std::chrono::microseconds(400));  // all workers sleep
      pool.For(8, 1, [](size_t, size_t) {});
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < 6; ++i) all.emplace_back(ends);
  for (std::thread& t : all) t.join();
}

}  // namespace
}  // namespace suf::exec
