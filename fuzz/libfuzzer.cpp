// The libFuzzer entry point of a program that holds one target.
#include <pthread.h>

#include "fuzz/fuzz.hpp"

// Short stacks of allocations, a quarantine of some executions that stays in the cache, memory that is not given back,
// no stacks for signals and no fake ones: three times the executions. A finding is looked at again with ASAN_OPTIONS of
// one's own, which go before these.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=1:quarantine_size_mb=1:allocator_release_to_os_interval_ms=-1:use_sigaltstack=0:"
         "detect_stack_use_after_return=0";
}

// Threads get small stacks: the shadow of one is cleared each time.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  pthread_attr_t small;
  bool set = !pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 512 << 10) &&
             !pthread_setattr_default_np(&small);
  SUF_CHECK(set);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto target = suf::fuzz::Targets().begin()->second;
  suf::fuzz::Quietly([&] { target(suf::View(data, size)); });
  return 0;
}
