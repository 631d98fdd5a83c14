#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/ring/cuda/products.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Blocks;
using exec::cuda::Launched;

// ---- limbs

__device__ inline uint64_t WordAt(const void* words, int bytes, bool is_signed, uint64_t i) {
  switch (bytes) {
    case 1:
      return is_signed ? uint64_t(int64_t(static_cast<const int8_t*>(words)[i]))
                       : static_cast<const uint8_t*>(words)[i];
    case 2:
      return is_signed ? uint64_t(int64_t(static_cast<const int16_t*>(words)[i]))
                       : static_cast<const uint16_t*>(words)[i];
    case 4:
      return is_signed ? uint64_t(int64_t(static_cast<const int32_t*>(words)[i]))
                       : static_cast<const uint32_t*>(words)[i];
    default:
      return static_cast<const uint64_t*>(words)[i];
  }
}

struct Source {
  const void* words;
  int bytes;
  bool is_signed, splat;
};

// Quad: limb l of four words, a byte each.
__device__ inline uint32_t Quad(const uint64_t (&x)[4], int l) {
  uint32_t out = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) out |= (uint32_t(x[j] >> (8 * l)) & 255) << (8 * j);
  return out;
}

// A thread four words of a row.
__global__ void __launch_bounds__(256) SplitRows(Source from, Limbs to, uint64_t quads, uint8_t* planes) {
  const uint64_t i = blockIdx.x * 256ull + threadIdx.x;
  if (i >= quads) return;
  const uint32_t pitch = uint32_t(to.pitch()), per_row = pitch / 4;
  const uint64_t row = i / per_row;  // of all matrices
  const uint32_t d = uint32_t(i % per_row) * 4;
  uint64_t x[4];
#pragma unroll
  for (int j = 0; j < 4; ++j)
    x[j] = int(d) + j < to.depth ? WordAt(from.words, from.bytes, from.is_signed,
                                          from.splat ? 0 : row * uint64_t(to.depth) + d + uint32_t(j))
                                 : 0;
  const uint64_t b = row / uint32_t(to.rows), r = row % uint32_t(to.rows);
  for (int l = 0; l < to.limbs; ++l)
    *reinterpret_cast<uint32_t*>(planes + ((b * uint32_t(to.limbs) + uint32_t(l)) * uint32_t(to.rows) + r) * pitch +
                                 d) = Quad(x, l);
}

// A block 64 words of each of 32 rows, which lie the other way round.
__global__ void __launch_bounds__(256) SplitColumns(Source from, Limbs to, uint8_t* planes) {
  __shared__ uint64_t tile[64][33];
  const uint32_t r0 = blockIdx.x * 32, d0 = blockIdx.y * 64, b = blockIdx.z;
  const uint32_t rows = uint32_t(to.rows), depth = uint32_t(to.depth);
  for (uint32_t i = threadIdx.x; i < 64 * 32; i += 256) {
    const uint32_t d = i / 32, r = i % 32;
    uint64_t x = 0;
    if (d0 + d < depth && r0 + r < rows)
      x = WordAt(from.words, from.bytes, from.is_signed,
                 from.splat ? 0 : (uint64_t(b) * depth + d0 + d) * rows + r0 + r);
    tile[d][r] = x;
  }
  __syncthreads();
  const uint32_t pitch = uint32_t(to.pitch());
  for (uint32_t i = threadIdx.x; i < 16 * 32; i += 256) {
    const uint32_t r = i / 16, d = i % 16 * 4;
    if (r0 + r >= rows) continue;
    uint64_t x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = tile[d + uint32_t(j)][r];
    for (int l = 0; l < to.limbs; ++l)
      *reinterpret_cast<uint32_t*>(planes + ((uint64_t(b) * uint32_t(to.limbs) + uint32_t(l)) * rows + r0 + r) * pitch +
                                   d0 + d) = Quad(x, l);
  }
}

// ---- products

__device__ inline void CopyAsync(uint32_t to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;  // the rest is zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ inline void LoadMatrices(uint32_t (&x)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from));
}
template <bool kSigned>
__device__ inline void MultiplyAdd(int (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (kSigned)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

constexpr int kRows = 64, kColumns = 32, kDeep = 64, kStages = 3;
// kChunk: words of depth that one accumulator may sum for products above 32 bits: at most 8 limb products stand on a
// diagonal, each below 255^2, and 8 * 4096 * 255^2 < 2^31. Up to 32 bits a sum that wraps is the right one.
constexpr int kChunk = 4096;

struct Task {
  const uint8_t *a, *b;
  uint8_t* c;
  int m, n;
  uint32_t pitch;
  uint64_t a_batch, b_batch;  // bytes from matrix to matrix
  int parts, c_bytes;
  bool adds;
};

// Tile: where 16 bytes number c of row r lie in a stage, so that the eight rows of an ldmatrix meet no bank twice.
__device__ inline uint32_t Tile(int r, int c) { return uint32_t(r * kDeep + ((c ^ (r >> 1 & 3)) << 4)); }

// kA limbs of a, which are those of the product; kB of b. A warp has kWarpRows x 16 of the block's 64 x 32.
template <int kA, int kB, bool kSigned>
__global__ void __launch_bounds__(kA <= 4 ? 128 : 256) Products(const Task t) {
  constexpr int kWarpRows = kA <= 4 ? 32 : 16, kFragments = kWarpRows / 16;
  constexpr int kThreads = kA <= 4 ? 128 : 256, kDown = kRows / kWarpRows;
  constexpr uint32_t kStageA = kA * kRows * kDeep, kStage = kStageA + kB * kColumns * kDeep;
  extern __shared__ __align__(128) uint8_t memory[];
  const uint32_t shared = uint32_t(__cvta_generic_to_shared(memory));
  const int batch = int(blockIdx.z) / t.parts, part = int(blockIdx.z) % t.parts;
  const uint8_t *const a = t.a + uint64_t(batch) * t.a_batch, *const b = t.b + uint64_t(batch) * t.b_batch;
  const int m0 = int(blockIdx.y) * kRows, n0 = int(blockIdx.x) * kColumns;
  const int tiles = int(t.pitch) / kDeep;
  const int first = int(int64_t(tiles) * part / t.parts), last = int(int64_t(tiles) * (part + 1) / t.parts);
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int wm = warp % kDown * kWarpRows, wn = warp / kDown * 16;

  const auto load = [&](int tile, int stage) {
    const uint32_t to = shared + uint32_t(stage) * kStage;
    for (int i = int(threadIdx.x); i < kA * kRows * 4; i += kThreads) {
      const int c = i % 4, r = i / 4 % kRows, l = i / 4 / kRows;
      const bool there = m0 + r < t.m;
      CopyAsync(
          to + uint32_t(l * kRows * kDeep) + Tile(r, c),
          a + (uint64_t(l) * uint32_t(t.m) + uint32_t(there ? m0 + r : 0)) * t.pitch + uint32_t(tile * kDeep + c * 16),
          there);
    }
    for (int i = int(threadIdx.x); i < kB * kColumns * 4; i += kThreads) {
      const int c = i % 4, r = i / 4 % kColumns, l = i / 4 / kColumns;
      const bool there = n0 + r < t.n;
      CopyAsync(
          to + kStageA + uint32_t(l * kColumns * kDeep) + Tile(r, c),
          b + (uint64_t(l) * uint32_t(t.n) + uint32_t(there ? n0 + r : 0)) * t.pitch + uint32_t(tile * kDeep + c * 16),
          there);
    }
  };

  int sum[kA][kFragments][2][4] = {};
  for (int s = 0; s < kStages - 1; ++s) {
    if (first + s < last) load(first + s, s);
    asm volatile("cp.async.commit_group;");
  }
  for (int tile = first; tile < last; ++tile) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    if (const int next = tile + kStages - 1; next < last) load(next, (next - first) % kStages);
    asm volatile("cp.async.commit_group;");
    const uint32_t from_a = shared + uint32_t((tile - first) % kStages) * kStage, from_b = from_a + kStageA;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t x[kA][kFragments][4];
#pragma unroll
      for (int l = 0; l < kA; ++l)
#pragma unroll
        for (int i = 0; i < kFragments; ++i)
          LoadMatrices(x[l][i],
                       from_a + uint32_t(l * kRows * kDeep) + Tile(wm + i * 16 + lane % 16, half * 2 + lane / 16));
#pragma unroll
      for (int lb = 0; lb < kB; ++lb) {
        uint32_t y[4];
        LoadMatrices(
            y, from_b + uint32_t(lb * kColumns * kDeep) + Tile(wn + lane % 8 + lane / 16 * 8, half * 2 + lane / 8 % 2));
#pragma unroll
        for (int la = 0; la + lb < kA; ++la)
#pragma unroll
          for (int i = 0; i < kFragments; ++i)
            if (kSigned && lb == kB - 1) {
              MultiplyAdd<true>(sum[la + lb][i][0], x[la][i], y[0], y[1]);
              MultiplyAdd<true>(sum[la + lb][i][1], x[la][i], y[2], y[3]);
            } else {
              MultiplyAdd<false>(sum[la + lb][i][0], x[la][i], y[0], y[1]);
              MultiplyAdd<false>(sum[la + lb][i][1], x[la][i], y[2], y[3]);
            }
      }
    }
  }
  uint8_t* const c = t.c + uint64_t(batch) * uint32_t(t.m) * uint32_t(t.n) * uint32_t(t.c_bytes);
#pragma unroll
  for (int i = 0; i < kFragments; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        uint64_t v = 0;
#pragma unroll
        for (int d = 0; d < kA; ++d)
          v += kA <= 4 ? uint64_t(uint32_t(sum[d][i][j][q]) << (8 * d)) : uint64_t(int64_t(sum[d][i][j][q])) << (8 * d);
        const int row = m0 + wm + i * 16 + lane / 4 + q / 2 * 8, column = n0 + wn + j * 8 + lane % 4 * 2 + q % 2;
        if (row >= t.m || column >= t.n) continue;
        const uint64_t at = uint64_t(row) * uint32_t(t.n) + uint32_t(column);
        switch (t.c_bytes) {
          case 1:
            c[at] = uint8_t(v);
            break;
          case 2:
            reinterpret_cast<uint16_t*>(c)[at] = uint16_t(v);
            break;
          case 4:
            if (t.adds)
              atomicAdd(reinterpret_cast<uint32_t*>(c) + at, uint32_t(v));
            else
              reinterpret_cast<uint32_t*>(c)[at] = uint32_t(v);
            break;
          default:
            if (t.adds)
              atomicAdd(reinterpret_cast<unsigned long long*>(c) + at, static_cast<unsigned long long>(v));
            else
              reinterpret_cast<uint64_t*>(c)[at] = v;
        }
      }
}

__global__ void __launch_bounds__(256) Narrow(const uint32_t* x, uint64_t n, uint8_t* to, int bytes) {
  const uint64_t i = blockIdx.x * 256ull + threadIdx.x;
  if (i >= n) return;
  if (bytes == 1)
    to[i] = uint8_t(x[i]);
  else
    reinterpret_cast<uint16_t*>(to)[i] = uint16_t(x[i]);
}

int LimbsFor(int bits) { return (bits + 7) / 8; }
unsigned Ceil(int64_t n, int64_t by) { return unsigned((n + by - 1) / by); }

// PartsOf: into how many parts the depth is cut, so that all processors have some and no accumulator overflows.
int PartsOf(const Limbs& a, const Limbs& b, int bits) {
  constexpr int64_t kWanted = 264;  // blocks: two for each processor of the largest device
  const int64_t tiles = int64_t(a.pitch()) / kDeep;
  const int64_t blocks = int64_t(Ceil(a.rows, kRows)) * Ceil(b.rows, kColumns) * int64_t(a.batch);
  const int64_t most = std::max<int64_t>(1, tiles / 4);
  const int64_t parts = std::clamp<int64_t>((kWanted + blocks / 2) / blocks, 1, most);
  const int64_t least = bits > 32 ? Ceil(tiles, kChunk / kDeep) : 1;
  return int(std::max(parts, least));
}

template <int kA, int kB, bool kSigned>
void Run(const Task& t, dim3 grid, Stream s) {
  constexpr size_t kBytes = size_t(kStages) * (kA * kRows + kB * kColumns) * kDeep;
  const auto kernel = Products<kA, kB, kSigned>;
  exec::cuda::AllowShared(kernel, kBytes);
  kernel<<<grid, kA <= 4 ? 128 : 256, kBytes, s>>>(t);
  Launched("the kernel of a product");
}
template <int kA>
void RunFor(const Limbs& b, const Task& t, dim3 grid, Stream s) {
  if constexpr (kA > 2)
    if (b.is_signed) return Run<kA, 2, true>(t, grid, s);
  SUF_CHECK(b.limbs == kA && !b.is_signed);
  Run<kA, kA, false>(t, grid, s);
}

}  // namespace

Limbs LimbsOf(int bytes, bool is_signed, bool right, int rows, int depth, size_t batch, int bits) {
  const int all = LimbsFor(bits);
  const bool narrow = right && is_signed && bytes == 2 && all > 2;
  return {narrow ? 2 : all, narrow, rows, depth, batch};
}

void Split(const Limbs& to, const void* words, int bytes, bool is_signed, bool splat, bool transposed, uint8_t* planes,
           Stream s) {
  if (!to.rows || !to.batch) return;
  const Source from{words, bytes, is_signed, splat};
  if (!transposed) {
    const uint64_t quads = to.batch * uint64_t(to.rows) * to.pitch() / 4;
    SplitRows<<<Blocks(quads, 256), 256, 0, s>>>(from, to, quads, planes);
  } else {
    const dim3 grid(Ceil(to.rows, 32), unsigned(to.pitch() / 64), unsigned(to.batch));
    SplitColumns<<<grid, 256, 0, s>>>(from, to, planes);
  }
  Launched("the kernel of limbs");
}

size_t MultiplySpare(const Limbs& a, const Limbs& b, int bits, int c_bytes) {
  const size_t words = a.batch * size_t(a.rows) * size_t(b.rows);
  return c_bytes < 4 && PartsOf(a, b, bits) > 1 ? words * 4 : 0;
}

void Multiply(const Limbs& a, const uint8_t* a_planes, const Limbs& b, const uint8_t* b_planes, int bits, void* c,
              int c_bytes, uint8_t* spare, Stream s) {
  SUF_CHECK(a.depth == b.depth && (b.batch == a.batch || b.batch == 1) && a.limbs == LimbsFor(bits) && !a.is_signed &&
            bits <= 8 * c_bytes);
  const uint64_t words = a.batch * uint64_t(a.rows) * uint64_t(b.rows);
  if (!words) return;
  const int parts = PartsOf(a, b, bits);
  const bool adds = parts > 1, narrows = adds && c_bytes < 4;
  auto* const to = static_cast<uint8_t*>(narrows ? spare : c);
  const Task t{a_planes,
               b_planes,
               to,
               a.rows,
               b.rows,
               uint32_t(a.pitch()),
               a.bytes() / a.batch,
               b.batch > 1 ? b.bytes() / b.batch : 0,
               parts,
               narrows ? 4 : c_bytes,
               adds};
  if (adds) exec::cuda::Set(to, 0, words * size_t(t.c_bytes), s);
  const dim3 grid(Ceil(b.rows, kColumns), Ceil(a.rows, kRows), unsigned(a.batch) * unsigned(parts));
  switch (a.limbs) {
    case 1:
      RunFor<1>(b, t, grid, s);
      break;
    case 2:
      RunFor<2>(b, t, grid, s);
      break;
    case 3:
      RunFor<3>(b, t, grid, s);
      break;
    case 4:
      RunFor<4>(b, t, grid, s);
      break;
    case 5:
      RunFor<5>(b, t, grid, s);
      break;
    case 6:
      RunFor<6>(b, t, grid, s);
      break;
    case 7:
      RunFor<7>(b, t, grid, s);
      break;
    default:
      RunFor<8>(b, t, grid, s);
  }
  if (!narrows) return;
  Narrow<<<Blocks(words, 256), 256, 0, s>>>(reinterpret_cast<const uint32_t*>(to), words, static_cast<uint8_t*>(c),
                                            c_bytes);
  Launched("the kernel that narrows");
}

}  // namespace suf::ring::cuda
