#include "suf/ring/gemm.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "suf/base/bytes.hpp"
#include "suf/ring/internal/gemm_kernels.hpp"
#include "suf/ring/modular.hpp"

namespace suf::ring {

using internal::GemmKernel;

namespace {

constexpr size_t kFew = 4;  // packing pays only for more rows than 1 / kFew of a panel's columns

size_t CeilDiv(size_t a, size_t b) { return (a + b - 1) / b; }

// Returns memory for vectors. Large operands get huge pages, because a product streams them.
uint8_t* AllocateAligned(size_t bytes) {
  const size_t huge = size_t{2} << 20, align = bytes >= huge ? huge : 64;
  void* p = nullptr;
  if (posix_memalign(&p, align, CeilDiv(std::max<size_t>(bytes, 1), align) * align) != 0) throw std::bad_alloc();
  if (align == huge) madvise(p, bytes, MADV_HUGEPAGE);
  return static_cast<uint8_t*>(p);
}

template <class T>
const GemmKernel& KernelFor(Isa v, int bits, bool small) {
  using internal::GemmKind;
  const GemmKernel* const kTables[] = {portable::kGemm, avx2::kGemm, avx512::kGemm};
  GemmKind kind = internal::kF32;
  if constexpr (std::is_same_v<T, uint16_t>) kind = internal::kU16;
  if constexpr (std::is_same_v<T, uint32_t>) kind = small ? internal::kU32Small : internal::kU32;
  if constexpr (std::is_same_v<T, uint64_t>) kind = bits <= 52 ? internal::kU64Mod52 : internal::kU64;
  return Pick(kTables, v)[kind];
}

// Whether every entry, read as signed, is a 16-bit number.
bool FitsInt16(const uint32_t* b, size_t K, size_t N, size_t ldb) {
  uint32_t high = 0;
  for (size_t k = 0; k < K; ++k) {
    for (size_t n = 0; n < N; ++n) high |= (b[k * ldb + n] + 0x8000) >> 16;
  }
  return high == 0;
}

}  // namespace

template <class T>
void PackedOperand<T>::AlignedDeleter::operator()(uint8_t* p) const {
  Wipe(p, bytes);
  std::free(p);
}

template <class T>
const char* PackedOperand<T>::kernel() const {
  return kernel_->name;
}

// Packs an operand with any strides, and multiplies by it.
template <class T>
struct GemmAccess {
  using Panels = std::unique_ptr<uint8_t[], typename PackedOperand<T>::AlignedDeleter>;
  static Panels Room(size_t bytes) { return Panels(AllocateAligned(bytes), {bytes}); }
  static PackedOperand<T> Pack(const T* b, size_t K, size_t N, size_t k_stride, size_t n_stride, int bits, bool small,
                               Isa v, exec::Pool* pool) {
    SUF_CHECK(bits >= 1 && bits <= int(8 * sizeof(T)));
    const GemmKernel& kernel = KernelFor<T>(v, bits, small);
    const size_t units = CeilDiv(K, kernel.depth), panels = CeilDiv(N, kernel.columns);
    PackedOperand<T> p;
    p.panels_ = Room(units * panels * kernel.unit_bytes);
    p.kernel_ = &kernel;
    p.depth_ = K;
    p.columns_ = N;
    p.bits_ = bits;
    p.variant_ = v;
    auto pack = [&](size_t p0, size_t p1) { kernel.pack_b(b, k_stride, n_stride, K, N, p0, p1, p.panels_.get()); };
    if (pool) {
      pool->For(panels, 1, pack);
    } else {
      pack(0, panels);
    }
    return p;
  }

  static void Multiply(const T* a, size_t lda, size_t M, const PackedOperand<T>& b, T* c, size_t ldc, bool accumulate,
                       exec::Pool& pool) {
    SUF_CHECK(b.kernel_ && lda >= b.depth_ && ldc >= b.columns_);
    const size_t K = b.depth_, N = b.columns_;
    if (M == 0 || N == 0) return;
    if (K == 0) {
      for (size_t m = 0; m < M && !accumulate; ++m) std::fill_n(c + m * ldc, N, T(0));
      return;
    }
    const GemmKernel& kernel = *b.kernel_;
    const size_t units = CeilDiv(K, kernel.depth), panels = CeilDiv(N, kernel.columns);
    internal::GemmTask task{reinterpret_cast<const uint8_t*>(a),
                            lda * sizeof(T),
                            b.panels_.get(),
                            c,
                            ldc,
                            N,
                            units,
                            accumulate,
                            Mask(b.bits_),
                            0,
                            M,
                            0,
                            panels};
    Panels packed;
    if (kernel.packs_a || K % kernel.depth) {
      task.a_stride = units * kernel.depth * (sizeof(T) == 8 ? 8 : kernel.planes == 2 ? 2 : sizeof(T));
      packed = Room(M * kernel.planes * task.a_stride);
      pool.For(M, 16, [&](size_t m0, size_t m1) { kernel.pack_a(a, lda, K, m0, m1, packed.get(), task.a_stride); });
      task.a = packed.get();
    }
    // split by panels first, because B is larger; also by rows if the panels are too few for the threads
    const size_t threads = size_t(pool.threads()), blocks = CeilDiv(M, kernel.rows);
    const size_t parts = std::min(blocks, panels >= threads ? 1 : CeilDiv(2 * threads, panels));
    if (parts == 1) {
      pool.For(panels, CeilDiv(panels, 2 * threads), [&](size_t p0, size_t p1) {
        internal::GemmTask t = task;
        t.p0 = p0;
        t.p1 = p1;
        kernel.run(t);
      });
      return;
    }
    pool.For(parts * panels, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        internal::GemmTask t = task;
        t.p0 = i / parts;
        t.p1 = t.p0 + 1;
        t.m0 = M * (i % parts) / parts;
        t.m1 = M * (i % parts + 1) / parts;
        kernel.run(t);
      }
    });
  }
};

template <class T>
PackedOperand<T> Prepare(const T* b, size_t K, size_t N, size_t ldb, int bits, Isa v) {
  SUF_CHECK(ldb >= N);
  bool small = false;
  if constexpr (std::is_same_v<T, uint32_t>) small = FitsInt16(b, K, N, ldb);
  return GemmAccess<T>::Pack(b, K, N, ldb, 1, bits, small, v, nullptr);
}

template <class T>
void Multiply(const T* a, size_t lda, size_t M, const PackedOperand<T>& b, T* c, size_t ldc, bool accumulate,
              exec::Pool& pool) {
  GemmAccess<T>::Multiply(a, lda, M, b, c, ldc, accumulate, pool);
}

template <class T>
void Gemm(size_t M, size_t N, size_t K, const T* a, size_t lda, const T* b, size_t ldb, MatrixOrder layout, T* c,
          size_t ldc, bool accumulate, exec::Pool& pool, int bits, Isa v) {
  const bool plain = layout == MatrixOrder::kPlain;
  SUF_CHECK(ldb >= (plain ? N : K));
  const GemmKernel& kernel = KernelFor<T>(v, bits, false);
  if (!plain && kernel.dots && kFew * std::min(M, N) <= kernel.columns) {
    SUF_CHECK(lda >= K && ldc >= N);
    return kernel.dots(a, lda, M, b, ldb, N, K, c, ldc, accumulate, Mask(bits));
  }
  const PackedOperand<T> p = GemmAccess<T>::Pack(b, K, N, plain ? ldb : 1, plain ? 1 : ldb, bits, false, v, &pool);
  GemmAccess<T>::Multiply(a, lda, M, p, c, ldc, accumulate, pool);
}

#define SUF_INSTANTIATE(T)                                                                                         \
  template class PackedOperand<T>;                                                                                 \
  template PackedOperand<T> Prepare<T>(const T*, size_t, size_t, size_t, int, Isa);                                \
  template void Multiply<T>(const T*, size_t, size_t, const PackedOperand<T>&, T*, size_t, bool, exec::Pool&);     \
  template void Gemm<T>(size_t, size_t, size_t, const T*, size_t, const T*, size_t, MatrixOrder, T*, size_t, bool, \
                        exec::Pool&, int, Isa);
SUF_INSTANTIATE(uint16_t)
SUF_INSTANTIATE(uint32_t)
SUF_INSTANTIATE(uint64_t)
SUF_INSTANTIATE(float)
#undef SUF_INSTANTIATE

}  // namespace suf::ring
