// Working memory of the kernels, wiped at the end.
#pragma once
#include <vector>

#include "suf/base/bytes.hpp"

namespace suf::fss::internal {

struct alignas(64) CacheLine {
  uint8_t b[64];
};

template <class T>
struct Scratch {
  explicit Scratch(size_t n) : words(n) {}
  ~Scratch() { Wipe(words.data(), words.size() * sizeof(T)); }
  std::vector<T> words;
};

}  // namespace suf::fss::internal
