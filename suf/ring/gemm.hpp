// Matrix products over Z_{2^bits}: C[M, N] (+)= A[M, K] B[K, N], row-major, with leading dimensions in elements. T is
// uint16_t, uint32_t or uint64_t; float is the yardstick of the benchmark. Every variant gives the same words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "suf/exec/pool.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::ring {

namespace internal {
struct GemmKernel;
}

// A right operand, packed once into panels of columns for one kernel. Read-only afterwards; any thread may use it.
template <class T>
class PackedOperand {
 public:
  PackedOperand() = default;
  size_t depth() const { return depth_; }      // K
  size_t columns() const { return columns_; }  // N
  Isa variant() const { return variant_; }
  const char* kernel() const;  // "u32", "u32 x i16", "u64", "u64 mod 2^52", ..

 private:
  template <class U>
  friend struct GemmAccess;
  struct AlignedDeleter {
    size_t bytes = 0;
    void operator()(uint8_t* p) const;  // wipes the panels
  };
  std::unique_ptr<uint8_t[], AlignedDeleter> panels_;
  const internal::GemmKernel* kernel_ = nullptr;
  size_t depth_ = 0, columns_ = 0;
  int bits_ = 0;
  Isa variant_ = Isa::kPortable;
};

// Packs B[K, N]. Results are reduced modulo 2^bits, 1 <= bits <= 8 sizeof(T). The 52-bit multiplier serves bits <= 52.
// If every uint32_t entry is a signed 16-bit number, the kernel with half-width products is used. This choice, and so
// the time of a product, reveals whether all of B is small (a plan's property, SECURITY.md).
template <class T>
PackedOperand<T> Prepare(const T* b, size_t K, size_t N, size_t ldb, int bits = 8 * sizeof(T), Isa v = Best());

// Computes C[M, N] = A[M, K] B, or adds to C if `accumulate`. C must not overlap A.
template <class T>
void Multiply(const T* a, size_t lda, size_t M, const PackedOperand<T>& b, T* c, size_t ldc, bool accumulate,
              exec::Pool& pool);

// The order of B in memory: B[k, n] at b[k ldb + n], or at b[n ldb + k].
enum class MatrixOrder { kPlain, kTransposed };

// Computes the product with a B that is used once, and packs B on the fly.
template <class T>
void Gemm(size_t M, size_t N, size_t K, const T* a, size_t lda, const T* b, size_t ldb, MatrixOrder layout, T* c,
          size_t ldc, bool accumulate, exec::Pool& pool, int bits = 8 * sizeof(T), Isa v = Best());

}  // namespace suf::ring
