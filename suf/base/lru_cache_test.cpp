#include "suf/base/lru_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>

#include "suf/base/error.hpp"

namespace suf {
namespace {

using Numbers = LruCache<int, int>;

// Returns the value 10 key of `bytes` bytes, and counts the calls.
auto Making(int key, uint64_t bytes, int* calls) {
  return [=] {
    ++*calls;
    return Numbers::SizedValue(std::make_shared<const int>(10 * key), bytes);
  };
}

TEST(LruCache, DropsTheValueThatWasNotUsedForLongest) {
  Numbers cache(300);
  int calls = 0;
  for (const int key : {1, 2, 3}) EXPECT_EQ(*cache.Get(key, Making(key, 100, &calls)), 10 * key);
  EXPECT_EQ(*cache.Get(1, Making(1, 100, &calls)), 10);
  EXPECT_EQ(calls, 3);
  (void)cache.Get(4, Making(4, 100, &calls));  // drops 2
  EXPECT_EQ(cache.bytes(), 300u);
  for (const int key : {1, 3, 4}) (void)cache.Get(key, Making(key, 100, &calls));
  EXPECT_EQ(calls, 4);
  (void)cache.Get(2, Making(2, 100, &calls));
  EXPECT_EQ(calls, 5);
}

TEST(LruCache, KeepsAValueInUseBeyondTheLimit) {
  Numbers cache(100);
  int calls = 0;
  {
    const auto one = cache.Get(1, Making(1, 80, &calls)), two = cache.Get(2, Making(2, 80, &calls));
    EXPECT_EQ(cache.Get(1, Making(1, 80, &calls)), one);
    EXPECT_EQ(cache.Get(2, Making(2, 80, &calls)), two);
    EXPECT_EQ(cache.bytes(), 160u);
    EXPECT_EQ(calls, 2);
  }
  (void)cache.Get(3, Making(3, 20, &calls));  // nothing is in use: 1 goes
  EXPECT_EQ(cache.bytes(), 100u);
  EXPECT_EQ(cache.size(), 2u);
  cache.SetLimit(20);
  EXPECT_EQ(cache.size(), 1u);
  cache.SetLimit(0);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(*cache.Get(5, Making(5, 1000, &calls)), 50) << "a value larger than the limit is made";
}

// While one thread makes a value, a thread with another key goes on. One with the same key gets this value.
TEST(LruCache, MakesAValueOnceAndDelaysNoOther) {
  Numbers cache(1000);
  std::latch inside(1), over(1);
  int slow = 0, other = 0, never = 0;
  std::jthread maker([&] {
    (void)cache.Get(1, [&] {
      inside.count_down();
      over.wait();
      return Making(1, 10, &slow)();
    });
  });
  inside.wait();
  EXPECT_EQ(*cache.Get(2, Making(2, 10, &other)), 20);
  EXPECT_EQ(cache.size(), 1u);
  cache.SetLimit(0);  // drops 2; a value that is being made is in use
  EXPECT_EQ(cache.size(), 0u);
  cache.SetLimit(1000);
  std::jthread waiter([&] { EXPECT_EQ(*cache.Get(1, Making(1, 10, &never)), 10); });
  over.count_down();
  waiter.join();
  maker.join();
  EXPECT_EQ(slow, 1);
  EXPECT_EQ(never, 0);
}

TEST(LruCache, AFailureIsNotKept) {
  Numbers cache(1000);
  for (int i = 0; i < 2; ++i)
    EXPECT_THROW((void)cache.Get(1, []() -> Numbers::SizedValue { throw Error(Cause::kInput, "no"); }), Error);
  EXPECT_EQ(cache.size(), 0u);
  int calls = 0;
  EXPECT_EQ(*cache.Get(1, Making(1, 10, &calls)), 10);
  EXPECT_EQ(calls, 1);
}

// Eight threads fail and succeed with few keys in a small cache. Each gets the value of its key.
TEST(LruCache, ManyThreads) {
  Numbers cache(50);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          const int key = (i * 7 + t * 3) % 11;
          int calls = 0;
          try {
            wrong += *cache.Get(key, [&]() -> Numbers::SizedValue {
              if (i % 5 == 0) throw Error(Cause::kInput, "no");
              return Making(key, 10, &calls)();
            }) != 10 * key;
          } catch (const Error&) {
            wrong += i % 5 != 0;
          }
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  cache.SetLimit(0);
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace suf
