// The libFuzzer entry point of a program that holds one target.
#include "fuzz/fuzz.hpp"

// Short stacks of allocations, a small quarantine and no fake stack: twice the executions. A finding is looked at again
// with ASAN_OPTIONS of one's own, which go before these.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=3:quarantine_size_mb=16:detect_stack_use_after_return=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto target = suf::fuzz::Targets().begin()->second;
  suf::fuzz::Quietly([&] { target(suf::View(data, size)); });
  return 0;
}
