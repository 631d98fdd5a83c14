// The table kernels of each variant. Arguments are as in table.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"

namespace suf::fss::internal {

struct TableKernels {
  void (*hot)(int w, const uint16_t* pos, size_t n, uint8_t* out);
  void (*cmp)(int w, const uint8_t* t, const uint16_t* a, size_t n, uint8_t* out);
  void (*point)(int w, const uint8_t* t, const uint16_t* a, size_t n, uint8_t* out);
  void (*rotate)(int w, const uint8_t* t, const uint16_t* lo, int m, size_t n, uint64_t* out);
  // Takes columns reversed and doubled, c[q] = table[(-1 - q) mod 2^w], so that j -> idx - j is contiguous.
  void (*select32)(int w, const uint8_t* t, const uint16_t* idx, const uint32_t* const* columns, int count, size_t n,
                   uint32_t* const* out);
  void (*select64)(int w, const uint8_t* t, const uint16_t* idx, const uint64_t* const* columns, int count, size_t n,
                   uint64_t* const* out);
  void (*selectx32)(int w, const uint8_t* t, const uint16_t* idx, const uint32_t* const* columns, int count, size_t n,
                    uint32_t* const* out);
  void (*selectx64)(int w, const uint8_t* t, const uint16_t* idx, const uint64_t* const* columns, int count, size_t n,
                    uint64_t* const* out);
  void (*above)(int w, const uint8_t* t, const uint16_t* x, const uint16_t* b, size_t m, size_t n, uint64_t* out);
  // Takes a column for each of `bits` bits: `c[q]` is that bit of `table[(-1 - q) mod 2^w]` for q < `max(64, 2^w)`.
  void (*dense)(int w, const uint8_t* t, const uint16_t* x, const uint64_t* columns, int bits, size_t n, uint64_t* out);
  // Takes tables whose first `run` <= m entries are equal.
  void (*dot32)(const uint64_t* bits, size_t stride, int first, int m, int run, const uint32_t* table, size_t n,
                uint32_t* out);
  void (*dot64)(const uint64_t* bits, size_t stride, int first, int m, int run, const uint64_t* table, size_t n,
                uint64_t* out);
  // Requires that no sum exceeds 32 bits.
  void (*dot_narrow)(const uint64_t* bits, size_t stride, int first, int m, int run, const uint32_t* table, size_t n,
                     uint64_t* out);
};

}  // namespace suf::fss::internal

namespace suf::fss {
namespace portable {
extern const internal::TableKernels kTable;
}
namespace avx2 {
extern const internal::TableKernels kTable;
}
namespace avx512 {
extern const internal::TableKernels kTable;
}
}  // namespace suf::fss
