// The door of libFuzzer: runs the one target that this program holds.
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto target = suf::fuzz::Targets().begin()->second;
  suf::fuzz::Quietly([&] { target(suf::View(data, size)); });
  return 0;
}
