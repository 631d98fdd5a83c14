// The libFuzzer entry point of a program with one target.
#include <pthread.h>

#include "fuzz/fuzz.hpp"

// Options for three times the executions. Allocations keep short stacks, and a small quarantine stays in the cache. No
// memory returns to the system, and there are no signal stacks or fake stacks. To study a finding, set ASAN_OPTIONS; it
// overrides these.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=1:quarantine_size_mb=1:allocator_release_to_os_interval_ms=-1:use_sigaltstack=0:"
         "detect_stack_use_after_return=0";
}

// Gives threads small stacks, because the shadow memory of each stack is cleared every time.
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
