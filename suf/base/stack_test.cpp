#include "suf/base/stack.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace suf {
namespace {

// AddressSanitizer would move `some` to the heap.
__attribute__((noinline, no_sanitize("address"))) int TouchStack(int levels) {
  volatile char some[8 << 10];
  for (size_t i = 0; i < sizeof some; i += 512) some[i] = char(i);
  return (levels ? TouchStack(levels - 1) : 0) + some[512];
}

// Returns the KiB of the calling thread's stack that are in memory.
size_t ResidentStack() {
  pthread_attr_t all;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &all)) return 0;
  pthread_attr_getstack(&all, &low, &bytes);
  pthread_attr_destroy(&all);
  const auto page = size_t(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in(bytes / page + 1);
  if (mincore(low, bytes / page * page, in.data())) return 0;
  size_t sum = 0;
  for (unsigned char c : in) sum += c & 1;
  return sum * page / 1024;
}

TEST(Stack, ReleasesWhatDeepCallsTouchedAndKeepsTheRest) {
  std::thread([] {
    volatile int kept = 7;
    const int sum = TouchStack(128);  // 1 MiB
    EXPECT_GE(ResidentStack(), 1024u);
    ReleaseUnusedStack();
    EXPECT_LE(ResidentStack(), 64u);
    EXPECT_GT(ResidentStack(), 0u);
    EXPECT_EQ(kept, 7);
    EXPECT_EQ(TouchStack(128), sum);
  }).join();
  ReleaseUnusedStack();  // nothing happens to the first thread
}

}  // namespace
}  // namespace suf
