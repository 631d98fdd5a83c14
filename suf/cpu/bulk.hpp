// Helpers of bulk.cpp, tables.cpp and trees.cpp.
#pragma once
#include "suf/cpu/executor.hpp"
#include "suf/cpu/variants.hpp"

namespace suf::cpu {

inline constexpr size_t kGrain = 1024;  // elements that justify a thread

// Calls f(T{}) with the word type of an element size.
template <class F>
void By(int element, F f) {
  switch (element) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      SUF_CHECK(false);
  }
}

template <class T>
T* As(uint8_t* p) {
  return reinterpret_cast<T*>(p);
}
template <class T>
const T* As(const uint8_t* p) {
  return reinterpret_cast<const T*>(p);
}

inline int Log2(int bits) {
  int w = 0;
  while ((1 << w) < bits) ++w;
  return w;
}

}  // namespace suf::cpu
