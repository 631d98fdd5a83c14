#include "suf/backends/internal/strips.hpp"

#include "suf/backends/internal/variants.hpp"

namespace suf::backends::internal {

const Strips& StripsFor(ring::Variant v) {
  using Get = const Strips& (*)();
  static constexpr Get kTable[3] = {portable::Get, avx2::Get, avx512::Get};
  return ring::Pick(kTable, v)();
}

}  // namespace suf::backends::internal
