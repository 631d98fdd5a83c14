// Secrets for valgrind's memcheck (Langley's ctgrind). A secret is memory marked undefined. Then every branch and every
// address that depends on it is reported. Undefinedness follows values through arithmetic and copies.
#pragma once
#include <valgrind/memcheck.h>

#include <string>
#include <vector>

#include "suf/ring/cpu.hpp"

namespace suf::ct {

inline void Hide(const void* p, size_t bytes) { (void)VALGRIND_MAKE_MEM_UNDEFINED(p, bytes); }
inline void Show(const void* p, size_t bytes) { (void)VALGRIND_MAKE_MEM_DEFINED(p, bytes); }
template <class C>
void Hide(const C& c) {
  Hide(c.data(), c.size() * sizeof *c.data());
}
template <class C>
void Show(const C& c) {
  Show(c.data(), c.size() * sizeof *c.data());
}

// The number of bytes with an undefined bit.
inline size_t Hidden(const void* p, size_t bytes) {
  std::vector<uint8_t> v(bytes);
  SUF_CHECK(VALGRIND_GET_VBITS(p, v.data(), bytes) == 1);
  size_t hidden = 0;
  for (uint8_t b : v) hidden += b != 0;
  return hidden;
}
template <class C>
size_t Hidden(const C& c) {
  return Hidden(c.data(), c.size() * sizeof *c.data());
}

// Runs the dealer and both parties of a tiny encoder on a backend. With `far`, the plan has the fewest flights; its
// rows are DCFs, some with a payload. With `blind`, messages are not marked public, which must be reported.
// (inference.cpp)
void Inference(const std::string& backend, bool far, bool blind);
// Runs the dealer and both parties of a trace with operations on bit strings and tables' reads by lists.
void Strings(const std::string& backend);

}  // namespace suf::ct
