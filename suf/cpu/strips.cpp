#include "suf/cpu/strips.hpp"

#include "suf/cpu/variants.hpp"

namespace suf::cpu {

const StripLoops& LoopsFor(ring::Isa v) {
  using Get = const StripLoops& (*)();
  static constexpr Get kTable[3] = {portable::Get, avx2::Get, avx512::Get};
  return ring::Pick(kTable, v)();
}

}  // namespace suf::cpu
