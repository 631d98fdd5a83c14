// The interface of a variant's matrix products. B is packed into panels of `columns` columns, unit after unit. A unit
// has `depth` consecutive k; entries beyond K and N are zero. A is read in place, or packed into rows of units:
// `planes` packed rows per row.
#pragma once
#include <cstddef>
#include <cstdint>

namespace suf::ring::internal {

enum GemmKind { kU16, kU32, kU32Small, kU64, kU64Mod52, kF32, kGemmKinds };

// A part of one product: rows [m0, m1) and panels [p0, p1).
struct GemmTask {
  const uint8_t* a;  // first packed row
  size_t a_stride;   // bytes between packed rows
  const uint8_t* panels;
  void* c;
  size_t ldc, columns, units;  // columns: N; units: those of K
  bool accumulate;
  uint64_t mask;
  size_t m0, m1, p0, p1;
};

struct GemmKernel {
  const char* name;
  // Columns of a panel, depth of a unit, packed rows per row, rows per block, bytes of a panel's unit.
  size_t columns, depth, planes, rows, unit_bytes;
  bool packs_a;  // A cannot be read in place
  // Packs panels [p0, p1) of B. Element (k, n) of B is at b[k * k_stride + n * n_stride].
  void (*pack_b)(const void* b, size_t k_stride, size_t n_stride, size_t K, size_t N, size_t p0, size_t p1,
                 uint8_t* out);
  // Packs rows [m0, m1) of A to `out`, in units of 4 or 8 bytes, with out_stride bytes between packed rows.
  void (*pack_a)(const void* a, size_t lda, size_t K, size_t m0, size_t m1, uint8_t* out, size_t out_stride);
  void (*run)(const GemmTask& task);
  // Computes C[M, N] (+)= A B^T for few rows of A or B, from operands in place. Null if the kernel has none.
  void (*dots)(const void* a, size_t lda, size_t M, const void* b, size_t ldb, size_t N, size_t K, void* c, size_t ldc,
               bool accumulate, uint64_t mask);
};

}  // namespace suf::ring::internal

namespace suf::ring {
namespace portable {
extern const internal::GemmKernel kGemm[internal::kGemmKinds];
}
namespace avx2 {
extern const internal::GemmKernel kGemm[internal::kGemmKinds];
}
namespace avx512 {
extern const internal::GemmKernel kGemm[internal::kGemmKinds];
}
}  // namespace suf::ring
