#include "suf/base/stack.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace suf {
namespace {

constexpr uintptr_t kOwnFrames = 8 << 10;  // bytes below the caller that this function and the system's need
constexpr int kDropLocked = 24;            // MADV_DONTNEED_LOCKED, which older headers lack

}  // namespace

void ReleaseUnusedStack() noexcept {
  pthread_attr_t all;
  if (getpid() == gettid() || pthread_getattr_np(pthread_self(), &all)) return;
  void* lowest = nullptr;
  size_t bytes = 0;
  const bool known = !pthread_attr_getstack(&all, &lowest, &bytes);
  pthread_attr_destroy(&all);
  const auto low = reinterpret_cast<uintptr_t>(lowest), page = uintptr_t(sysconf(_SC_PAGESIZE)),
             here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!known || here < low + kOwnFrames || here >= low + bytes) return;
  const uintptr_t begin = (low + page - 1) / page * page, end = (here - kOwnFrames) / page * page;
  if (begin >= end) return;
  auto* const unused = reinterpret_cast<void*>(begin);
  // locked memory needs its own order; a system without it keeps the pages
  if (madvise(unused, end - begin, MADV_DONTNEED)) (void)madvise(unused, end - begin, kDropLocked);
}

}  // namespace suf
