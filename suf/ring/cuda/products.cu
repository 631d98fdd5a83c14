// Products of planes of bytes on the tensor cores. A block makes a tile of the result and sums over its part of the
// depth. Planes come to shared memory in stages of 64 bytes of depth. A warp keeps the sums of all diagonals in
// registers. A diagonal is the pairs of limbs of one power of 256.
#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/ring/cuda/products.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Blocks;
using exec::cuda::CheckLaunch;

constexpr int kDeep = 64;  // bytes of depth in a stage of the pipeline

int64_t Ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }

__device__ inline void CopyAsync(uint32_t to, const uint8_t* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ inline void LoadMatrices(uint32_t (&x)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from)
               : "memory");
}
// Adds a b to c, for 16 x 32 unsigned bytes and 32 x 8 bytes, which may be signed.
template <bool kSigned>
__device__ inline void MultiplyAdd(int (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (kSigned)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The depth that one accumulator may sum for products above 32 bits. A diagonal has at most 8 pairs of limbs. A product
// of two unsigned limbs is at most 255^2. One of an unsigned and a signed limb lies in [-128 * 255, 127 * 255]. So a
// sum's size is at most 8 * 4096 * 255^2 = 2130739200 < 2^31. Up to 32 bits, a sum that wraps modulo 2^32 is right at
// any depth.
constexpr int kChunk = 4096;

// How a product is cut. A block makes a tile of rows x columns words, a warp warp_rows x warp_columns of them. 2 or 3
// `stages` are loaded at once. A processor should have `share` blocks. Both numbers are measured.
struct Cut {
  int rows, columns, warp_rows, warp_columns, stages, share;
  constexpr int threads() const { return rows / warp_rows * (columns / warp_columns) * 32; }
};
// The form of a product. Both a and the product have kA limbs. b has kB limbs, whose last one may be signed.
template <int kA_, int kB_, bool kSigned_, Cut kCut_>
struct Form {
  static constexpr int kA = kA_, kB = kB_;
  static constexpr bool kSigned = kSigned_;
  static constexpr Cut kCut = kCut_;
  static constexpr size_t kStage = size_t(kA * kCut.rows + kB * kCut.columns) * kDeep;
  static_assert(2 * kStage <= 99 * 1024);  // the least limit of a block on any device
};

// The parameters of a launch. The depth has `parts` parts, which all add to c if `adds`.
struct Task {
  const uint8_t *a, *b;
  uint8_t* c;
  uint32_t m, n, row_blocks, column_blocks, parts;
  uint64_t pitch, a_batch, b_batch;  // bytes from row to row and from matrix to matrix
  uint32_t stages;
  int c_bytes;
  bool adds;
};

// Returns the place of 16 bytes number c of row r in a stage. The eight rows of an ldmatrix meet no bank twice.
__device__ inline uint32_t Tile(uint32_t r, uint32_t c) { return r * kDeep + ((c ^ (r >> 1 & 3)) << 4); }

// Starts copies of kLines rows of kLimbs planes of a stage. Rows beyond the matrix stay unchanged; their results are
// not stored.
template <int kLimbs, int kLines, int kThreads>
__device__ inline void Fill(uint32_t to, const uint8_t* from, uint32_t first, uint32_t lines, uint64_t pitch) {
  constexpr int kStep = kThreads / 4;
  const uint64_t plane = lines * pitch;
  const uint32_t line = threadIdx.x / 4, c = threadIdx.x % 4;
  if constexpr (kLines % kStep == 0) {
#pragma unroll
    for (int s = 0; s < kLines / kStep; ++s) {
      const uint32_t r = line + uint32_t(s * kStep), at = to + Tile(r, c);
      if (first + r >= lines) continue;
      const uint8_t* p = from + (first + r) * pitch + c * 16;
#pragma unroll
      for (int l = 0; l < kLimbs; ++l, p += plane) CopyAsync(at + uint32_t(l * kLines * kDeep), p);
    }
  } else {
#pragma unroll
    for (int s = 0; s < (kLimbs * kLines + kStep - 1) / kStep; ++s) {
      const uint32_t i = line + uint32_t(s * kStep), l = i / kLines, r = i % kLines;
      if (l < kLimbs && first + r < lines)
        CopyAsync(to + l * (kLines * kDeep) + Tile(r, c), from + l * plane + (first + r) * pitch + c * 16);
    }
  }
}

// Stores a word of c.
__device__ inline void Store(const Task& t, uint8_t* c, uint64_t at, uint64_t v) {
  switch (t.c_bytes) {
    case 1:
      c[at] = uint8_t(v);
      return;
    case 2:
      reinterpret_cast<uint16_t*>(c)[at] = uint16_t(v);
      return;
    case 4: {
      uint32_t* const w = reinterpret_cast<uint32_t*>(c) + at;
      if (t.adds)
        atomicAdd(w, uint32_t(v));
      else
        *w = uint32_t(v);
      return;
    }
    default: {
      auto* const w = reinterpret_cast<unsigned long long*>(c) + at;
      if (t.adds)
        atomicAdd(w, static_cast<unsigned long long>(v));
      else
        *w = v;
    }
  }
}

// Computes a product. Blocks are numbered by column, row, part and matrix, the column first.
template <class F>
__global__ void __launch_bounds__(F::kCut.threads()) Products(const Task t) {
  constexpr Cut kCut = F::kCut;
  constexpr int kA = F::kA, kB = F::kB, kThreads = kCut.threads();
  constexpr int kDown = kCut.rows / kCut.warp_rows;
  constexpr int kFragments = kCut.warp_rows / 16, kPairs = kCut.warp_columns / 16;
  constexpr uint32_t kPlaneA = kCut.rows * kDeep, kPlaneB = kCut.columns * kDeep;
  constexpr uint32_t kStageA = kA * kPlaneA, kStage = F::kStage;
  using Word = std::conditional_t<kA <= 4, uint32_t, uint64_t>;
  extern __shared__ __align__(128) uint8_t memory[];
  const uint32_t shared = uint32_t(__cvta_generic_to_shared(memory));

  uint32_t at = blockIdx.x;
  const uint32_t n0 = at % t.column_blocks * kCut.columns;
  at /= t.column_blocks;
  const uint32_t m0 = at % t.row_blocks * kCut.rows;
  at /= t.row_blocks;
  const uint32_t part = at % t.parts, batch = at / t.parts;
  const uint32_t tiles = uint32_t(t.pitch) / kDeep;
  const uint32_t first = uint32_t(uint64_t(tiles) * part / t.parts);
  const uint32_t count = uint32_t(uint64_t(tiles) * (part + 1) / t.parts) - first;
  const uint8_t* const a = t.a + batch * t.a_batch + uint64_t(first) * kDeep;
  const uint8_t* const b = t.b + batch * t.b_batch + uint64_t(first) * kDeep;

  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t wm = warp % kDown * kCut.warp_rows, wn = warp / kDown * kCut.warp_columns;
  const bool idle = m0 + wm >= t.m || n0 + wn >= t.n;
  const uint32_t lane_a = Tile(wm + lane % 16, lane / 16);
  const uint32_t lane_b = kStageA + Tile(wn + lane % 8 + lane / 16 * 8, lane / 8 % 2);

  const auto fill = [&](uint32_t tile, uint32_t stage) {
    const uint32_t to = shared + stage * kStage;
    Fill<kA, kCut.rows, kThreads>(to, a + uint64_t(tile) * kDeep, m0, t.m, t.pitch);
    Fill<kB, kCut.columns, kThreads>(to + kStageA, b + uint64_t(tile) * kDeep, n0, t.n, t.pitch);
  };
  int sum[kA][kFragments][2 * kPairs][4] = {};
  for (uint32_t s = 0; s + 1 < t.stages; ++s) {
    if (s < count) fill(s, s);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  uint32_t stage = 0, next = t.stages - 1;
  for (uint32_t tile = 0; tile < count; ++tile) {
    if (t.stages > 2)
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (tile + t.stages - 1 < count) fill(tile + t.stages - 1, next);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const uint32_t from = shared + stage * kStage;
    stage = stage + 1 == t.stages ? 0 : stage + 1;
    next = next + 1 == t.stages ? 0 : next + 1;
    if (idle) continue;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t from_a = from + (lane_a ^ half * 32), from_b = from + (lane_b ^ half * 32);
      uint32_t x[kA][kFragments][4];
#pragma unroll
      for (int l = 0; l < kA; ++l)
#pragma unroll
        for (int i = 0; i < kFragments; ++i)
          LoadMatrices(x[l][i], from_a + uint32_t(l) * kPlaneA + uint32_t(i * 16 * kDeep));
#pragma unroll
      for (int j = 0; j < kPairs; ++j)
#pragma unroll
        for (int lb = 0; lb < kB; ++lb) {
          uint32_t y[4];
          LoadMatrices(y, from_b + uint32_t(lb) * kPlaneB + uint32_t(j * 16 * kDeep));
#pragma unroll
          for (int la = 0; la + lb < kA; ++la)
#pragma unroll
            for (int i = 0; i < kFragments; ++i)
              if (F::kSigned && lb == kB - 1) {
                MultiplyAdd<true>(sum[la + lb][i][2 * j], x[la][i], y[0], y[1]);
                MultiplyAdd<true>(sum[la + lb][i][2 * j + 1], x[la][i], y[2], y[3]);
              } else {
                MultiplyAdd<false>(sum[la + lb][i][2 * j], x[la][i], y[0], y[1]);
                MultiplyAdd<false>(sum[la + lb][i][2 * j + 1], x[la][i], y[2], y[3]);
              }
        }
    }
  }

  if (idle) return;
  uint8_t* const c = t.c + uint64_t(batch) * t.m * t.n * uint32_t(t.c_bytes);
#pragma unroll
  for (int e = 0; e < kFragments * kPairs * 8; ++e) {
    const int i = e / 8 / kPairs, j = e / 4 % (2 * kPairs), q = e % 4;
    Word v = 0;
#pragma unroll
    for (int d = 0; d < kA; ++d) v += Word(int64_t(sum[d][i][j][q])) << (8 * d);
    const uint32_t row = m0 + wm + uint32_t(i * 16 + q / 2 * 8) + lane / 4;
    const uint32_t column = n0 + wn + uint32_t(j * 8 + q % 2) + lane % 4 * 2;
    if (row < t.m && column < t.n) Store(t, c, uint64_t(row) * t.n + column, v);
  }
}

constexpr int kNarrow = 256;
__global__ void __launch_bounds__(kNarrow) Narrow(const uint32_t* x, uint64_t n, uint8_t* to, int bytes) {
  const uint64_t i = blockIdx.x * uint64_t{kNarrow} + threadIdx.x;
  if (i >= n) return;
  if (bytes == 1)
    to[i] = uint8_t(x[i]);
  else
    reinterpret_cast<uint16_t*>(to)[i] = uint16_t(x[i]);
}

// Returns a cut that keeps the sums of all diagonals in registers and gives a processor several blocks at once. `wide`
// is for products of 4 limbs that have enough of the larger tiles.
constexpr Cut CutFor(int a, int b, bool wide) {
  if (a <= 2 || (wide && a == 4)) return {64, 64, 32, 32, 3, 3};
  if (a <= 4) return {64, 32, 32, 16, 3, 3};
  if (b <= 2 || a == 5) return {64, 32, 16, 32, 3, 2};
  if (a == 6) return {64, 32, 32, 16, 3, 2};
  return {64, 32, 16, 32, 2, a == 7 ? 2 : 3};
}
int64_t TilesOf(const Cut& cut, const Limbs& a, const Limbs& b) {
  return Ceil(a.rows, cut.rows) * Ceil(b.rows, cut.columns) * int64_t(a.batch);
}

// Returns an attribute of the current device.
int64_t Attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  SUF_CUDA_CHECK(cudaGetDevice(&device));
  SUF_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}
int64_t Processors() { return Attribute(cudaDevAttrMultiProcessorCount); }

// Returns the number of parts of the depth. Each processor gets its share of blocks. Each block gets at least three
// stages, or 12 if the sum of the parts needs a pass of its own. No accumulator overflows.
int64_t PartsOf(const Cut& cut, const Limbs& a, const Limbs& b) {
  const int64_t deep = int64_t(a.pitch()) / kDeep;
  const int64_t most = std::max<int64_t>(1, deep / (a.limbs > 2 ? 3 : 12));
  const int64_t least = a.limbs > 4 ? Ceil(deep, kChunk / kDeep) : 1;
  return std::max(std::clamp<int64_t>(cut.share * Processors() / TilesOf(cut, a, b), 1, most), least);
}

// Whether there are enough of the larger tiles.
bool IsWide(const Limbs& a, const Limbs& b) {
  return 2 * TilesOf(CutFor(a.limbs, b.limbs, true), a, b) >= 3 * Processors();
}

struct Product {
  const Limbs &a, &b;
  const uint8_t *a_planes, *b_planes;
  void* c;
  int c_bytes;
  uint8_t* spare;
  StreamHandle stream;
};

// Runs a product. Several parts add to c, or instead to `spare`.
template <class F>
void Run(const Product& p) {
  constexpr Cut kCut = F::kCut;
  const Limbs &a = p.a, &b = p.b;
  const uint64_t words = a.batch * uint64_t(a.rows) * uint64_t(b.rows);
  const int64_t parts = PartsOf(kCut, a, b);
  const bool adds = parts > 1, narrows = adds && p.c_bytes < 4;
  auto* const to = static_cast<uint8_t*>(narrows ? p.spare : p.c);
  const int64_t row_blocks = Ceil(a.rows, kCut.rows), column_blocks = Ceil(b.rows, kCut.columns);
  const int64_t blocks = row_blocks * column_blocks * parts * int64_t(a.batch);
  SUF_CHECK(blocks < int64_t{1} << 31);
  Task t{};
  t.a = p.a_planes;
  t.b = p.b_planes;
  t.c = to;
  t.m = uint32_t(a.rows);
  t.n = uint32_t(b.rows);
  t.row_blocks = uint32_t(row_blocks);
  t.column_blocks = uint32_t(column_blocks);
  t.parts = uint32_t(parts);
  t.pitch = a.pitch();
  t.a_batch = a.bytes() / a.batch;
  t.b_batch = b.batch > 1 ? b.bytes() / b.batch : 0;
  t.c_bytes = narrows ? 4 : p.c_bytes;
  t.adds = adds;
  const bool three = kCut.stages == 3 && 3 * F::kStage <= size_t(Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  t.stages = three ? 3 : 2;
  const size_t bytes = t.stages * F::kStage;
  exec::cuda::AllowShared(Products<F>, bytes);
  Products<F><<<unsigned(blocks), kCut.threads(), bytes, p.stream>>>(t);
  CheckLaunch("the kernel of a product");
  if (!narrows) return;
  Narrow<<<Blocks(words, kNarrow), kNarrow, 0, p.stream>>>(reinterpret_cast<const uint32_t*>(to), words,
                                                           static_cast<uint8_t*>(p.c), p.c_bytes);
  CheckLaunch("the kernel that narrows");
}

template <int kA, int kB, bool kSigned>
void RunCut(const Product& p) {
  constexpr Cut kWide = CutFor(kA, kB, true), kUsual = CutFor(kA, kB, false);
  if constexpr (kWide.columns != kUsual.columns)
    if (IsWide(p.a, p.b)) return Run<Form<kA, kB, kSigned, kWide>>(p);
  Run<Form<kA, kB, kSigned, kUsual>>(p);
}
template <int kA>
void RunFor(const Product& p) {
  if constexpr (kA > 1)
    if (p.b.is_signed && p.b.limbs == 1) return RunCut<kA, 1, true>(p);
  if constexpr (kA > 2)
    if (p.b.is_signed && p.b.limbs == 2) return RunCut<kA, 2, true>(p);
  SUF_CHECK(p.b.limbs == kA && !p.b.is_signed);
  RunCut<kA, kA, false>(p);
}

}  // namespace

// No atomic addition exists for words of 1 and 2 bytes. Parts add to words of 4 bytes, which are narrowed afterwards.
size_t MultiplySpare(const Limbs& a, const Limbs& b, int c_bytes) {
  return c_bytes < 4 ? a.batch * size_t(a.rows) * size_t(b.rows) * 4 : 0;
}

ZeroRange Sums(const Limbs& a, const Limbs& b, void* c, int c_bytes, uint8_t* spare) {
  const uint64_t words = a.batch * uint64_t(a.rows) * uint64_t(b.rows);
  auto* const to = static_cast<uint8_t*>(c);
  if (!words || !a.depth) return {to, words * uint64_t(c_bytes)};
  if (PartsOf(CutFor(a.limbs, b.limbs, IsWide(a, b)), a, b) == 1) return {};
  return c_bytes < 4 ? ZeroRange{spare, 4 * words} : ZeroRange{to, words * uint64_t(c_bytes)};
}

void Multiply(const Limbs& a, const uint8_t* a_planes, const Limbs& b, const uint8_t* b_planes, int bits, void* c,
              int c_bytes, uint8_t* spare, StreamHandle s) {
  SUF_CHECK(a.depth == b.depth && (b.batch == a.batch || b.batch == 1) && a.limbs == (bits + 7) / 8 && !a.is_signed &&
            bits <= 8 * c_bytes);
  const uint64_t words = a.batch * uint64_t(a.rows) * uint64_t(b.rows);
  if (!words || !a.depth) return;
  const Product p{a, b, a_planes, b_planes, c, c_bytes, spare, s};
  switch (a.limbs) {
    case 1:
      return RunFor<1>(p);
    case 2:
      return RunFor<2>(p);
    case 3:
      return RunFor<3>(p);
    case 4:
      return RunFor<4>(p);
    case 5:
      return RunFor<5>(p);
    case 6:
      return RunFor<6>(p);
    case 7:
      return RunFor<7>(p);
    default:
      return RunFor<8>(p);
  }
}

}  // namespace suf::ring::cuda
