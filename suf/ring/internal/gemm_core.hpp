// The blocked product of all kernels. A block of R rows times kVectors vectors of columns stays in registers during a
// slice of K. A row's unit is broadcast, a panel's vectors are loaded. A kernel K has:
//     Element T; Unit (broadcast); LaneWord (an element of an accumulator); Vec; Sum (one or more vectors,
//     accumulated); Zero, Load, Store, Broadcast, Step(c, a, b); Pack (kDepth elements to a unit, plane p); kVectors,
//     kMaxRows (rows of C per block), kDepth, kPlanes, kPacksA, kMasks, kName.
//
// Included inside a variant's namespace: no include guard, no includes.
namespace {

using internal::GemmKernel;
using internal::GemmTask;

constexpr size_t kSlice = 384;  // units of K per pass: a slice of a panel stays in the first-level cache

template <class K>
struct Gemm {
  using T = typename K::Element;
  using Unit = typename K::Unit;
  using LaneWord = typename K::LaneWord;
  using Vec = typename K::Vec;
  using Sum = typename K::Sum;
  static constexpr int kLanes = sizeof(Vec) / sizeof(LaneWord), kColumns = kLanes * K::kVectors;

  // Computes tile[R kPlanes][kColumns] = packed rows of A times a slice of a panel.
  template <int R>
  static void Block(const uint8_t* a, size_t stride, const uint8_t* b, size_t units, LaneWord* tile) {
    constexpr int P = R * K::kPlanes, V = K::kVectors;
    Sum s[P][V];
#pragma GCC unroll 16
    for (int r = 0; r < P; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) s[r][v] = K::Zero();
    for (size_t u = 0; u < units; ++u, a += sizeof(Unit), b += V * sizeof(Vec)) {
      Vec w[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) w[v] = K::Load(b + size_t(v) * sizeof(Vec));
#pragma GCC unroll 16
      for (int r = 0; r < P; ++r) {
        const Vec x = K::Broadcast(a + size_t(r) * stride);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) s[r][v] = K::Step(s[r][v], x, w[v]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < P; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) K::Store(tile + r * kColumns + v * kLanes, s[r][v]);
  }

  using BlockFn = void (*)(const uint8_t*, size_t, const uint8_t*, size_t, LaneWord*);
  template <int... R>
  static BlockFn BlockOf(size_t rows, std::integer_sequence<int, R...>) {
    static constexpr BlockFn kBlocks[] = {Block<R + 1>...};
    return kBlocks[rows - 1];
  }

  // Computes C[rows, n] (+)= the tile, with planes joined as sum_p plane_p 2^(16 p), modulo the mask.
  static void Finish(const LaneWord* tile, size_t rows, size_t n, bool add, uint64_t mask, T* c, size_t ldc) {
    for (size_t r = 0; r < rows; ++r, c += ldc, tile += K::kPlanes * kColumns) {
      for (size_t j = 0; j < n; ++j) {
        LaneWord x = tile[j];
        if constexpr (K::kPlanes == 2) x += tile[kColumns + j] << 16;
        T y = T(x);
        if (add) y = T(y + c[j]);
        if constexpr (K::kMasks) y &= T(mask);
        c[j] = y;
      }
    }
  }

  static void Run(const GemmTask& t) {
    alignas(64) LaneWord tile[K::kMaxRows * K::kPlanes * kColumns];
    const size_t rows = t.m1 - t.m0, blocks = (rows + K::kMaxRows - 1) / K::kMaxRows;
    for (size_t u = 0; u < t.units; u += kSlice) {
      const size_t units = t.units - u < kSlice ? t.units - u : kSlice;
      for (size_t p = t.p0; p < t.p1; ++p) {
        const uint8_t* b = t.panels + (p * t.units + u) * K::kVectors * sizeof(Vec);
        const size_t n = t.columns - p * kColumns < size_t(kColumns) ? t.columns - p * kColumns : size_t(kColumns);
        for (size_t i = 0; i < blocks; ++i) {  // blocks of equal height, up to one row
          const size_t m = t.m0 + rows * i / blocks, r = t.m0 + rows * (i + 1) / blocks - m;
          const uint8_t* a = t.a + m * K::kPlanes * t.a_stride + u * sizeof(Unit);
          BlockOf(r, std::make_integer_sequence<int, K::kMaxRows>())(a, t.a_stride, b, units, tile);
          Finish(tile, r, n, t.accumulate || u, t.mask, static_cast<T*>(t.c) + m * t.ldc + p * kColumns, t.ldc);
        }
      }
    }
  }

  static void PackB(const void* from, size_t ks, size_t ns, size_t depth, size_t n, size_t p0, size_t p1, uint8_t* to) {
    const T* b = static_cast<const T*>(from);
    const size_t units = (depth + K::kDepth - 1) / K::kDepth;
    Unit* out = reinterpret_cast<Unit*>(to) + p0 * units * kColumns;
    for (size_t p = p0; p < p1; ++p) {
      const size_t first = p * kColumns, count = n - first < size_t(kColumns) ? n - first : size_t(kColumns);
      for (size_t k = 0; k < depth; k += K::kDepth, out += kColumns) {
        const T* row = b + k * ks + first * ns;
        const bool odd = K::kDepth == 2 && k + 1 == depth;
        if (count < size_t(kColumns)) {  // all columns, a number that compilers know
          for (size_t j = 0; j < size_t(kColumns); ++j) out[j] = Unit(0);
        }
        if (ns == 1 && !odd) {  // the common case, without strides, for the vectoriser
          for (size_t j = 0; j < count; ++j) out[j] = K::Pack(row[j], K::kDepth == 2 ? row[ks + j] : T(0), 0);
        } else {
          for (size_t j = 0; j < count; ++j)
            out[j] = K::Pack(row[j * ns], K::kDepth == 2 && !odd ? row[ks + j * ns] : T(0), 0);
        }
      }
    }
  }

  static void PackA(const void* from, size_t lda, size_t depth, size_t m0, size_t m1, uint8_t* to, size_t stride) {
    const size_t whole = depth / K::kDepth;
    for (size_t m = m0; m < m1; ++m) {
      const T* a = static_cast<const T*>(from) + m * lda;
      for (int p = 0; p < K::kPlanes; ++p) {
        Unit* out = reinterpret_cast<Unit*>(to + (m * K::kPlanes + size_t(p)) * stride);
        for (size_t u = 0; u < whole; ++u) out[u] = K::Pack(a[u * K::kDepth], a[u * K::kDepth + K::kDepth - 1], p);
        if (whole * K::kDepth < depth) out[whole] = K::Pack(a[depth - 1], T(0), p);
      }
    }
  }

  // Multiplies one row of A by one row of B at a time, with vectors along K.
  static void Dots(const void* from_a, size_t lda, size_t M, const void* from_b, size_t ldb, size_t N, size_t depth,
                   void* to, size_t ldc, bool add, uint64_t mask) {
    constexpr size_t kStep = sizeof(Vec) / sizeof(T);
    auto at = [](const T* x, size_t count) {
      Vec v{};
      __builtin_memcpy(&v, x, count * sizeof(T));
      return v;
    };
    for (size_t m = 0; m < M; ++m) {
      for (size_t n = 0; n < N; ++n) {
        const T *a = static_cast<const T*>(from_a) + m * lda, *b = static_cast<const T*>(from_b) + n * ldb;
        Sum s = K::Zero();
        size_t k = 0;
        for (; k + kStep <= depth; k += kStep) s = K::Step(s, at(a + k, kStep), at(b + k, kStep));
        if (k < depth) s = K::Step(s, at(a + k, depth - k), at(b + k, depth - k));
        alignas(64) LaneWord lanes[kLanes];
        LaneWord sum = 0;
        K::Store(lanes, s);
        for (LaneWord x : lanes) sum += x;
        T* const c = static_cast<T*>(to) + m * ldc + n;
        *c = T(T(add ? *c + T(sum) : T(sum)) & T(mask));
      }
    }
  }

  static constexpr GemmKernel Kernel() {
    GemmKernel k{K::kName,   kColumns, K::kDepth, K::kPlanes, K::kMaxRows, K::kVectors * sizeof(Vec),
                 K::kPacksA, PackB,    PackA,     Run,        nullptr};
    if constexpr (K::kMasks && K::kPlanes == 1) k.dots = Dots;
    return k;
  }
};

// The base of kernels with one element per unit.
template <class E>
struct Plain {
  using Element = E;
  using Unit = E;
  using LaneWord = E;
  static constexpr int kDepth = 1, kPlanes = 1;
  static constexpr bool kPacksA = false, kMasks = true;
  static Unit Pack(E x, E, int) { return x; }
};

// The base of kernels with two signed 16-bit numbers per unit, whose products are added in 32 bits.
struct Pairs16 {
  using Element = uint16_t;
  using Unit = uint32_t;
  using LaneWord = uint32_t;
  static constexpr int kDepth = 2, kPlanes = 1;
  static constexpr bool kPacksA = false, kMasks = true;
  static constexpr const char* kName = "u16";
  static Unit Pack(uint16_t x, uint16_t y, int) { return x | uint32_t{y} << 16; }
};

// The base of kernels for x = lo + 2^16 hi with signed lo, one plane each, times signed 16-bit entries of B.
struct PairsSmall {
  using Element = uint32_t;
  using Unit = uint32_t;
  using LaneWord = uint32_t;
  static constexpr int kDepth = 2, kPlanes = 2;
  static constexpr bool kPacksA = true, kMasks = true;
  static constexpr const char* kName = "u32 x i16";
  static Unit Pack(uint32_t x, uint32_t y, int plane) {
    return plane == 0 ? (x & 0xffff) | y << 16 : (x + 0x8000) >> 16 | ((y + 0x8000) & 0xffff0000);
  }
};

}  // namespace
