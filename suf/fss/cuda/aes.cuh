// AES-128 in device code by T-tables in dynamic shared memory. Every lane has a bank, and in it a table of its own: no
// two lanes ever wait for each other, and no address that depends on a secret can be told from another by its time. The
// key schedule stays in registers, a lane's own. kTables: 4 tables, 128 KiB, or 2 and their halves turned, 64 KiB.
#pragma once
#include "suf/exec/cuda/check.cuh"
#include "suf/fss/cuda/launch.hpp"

namespace suf::fss::cuda {

// kThreads: of a block; a persistent grid has one block a processor, which then has 96 registers a thread.
inline constexpr int kThreads = 640;

// 16 bytes, a block of AES or a seed, low word first.
struct Quad {
  uint32_t x, y, z, w;
};
__device__ __forceinline__ Quad operator^(Quad a, Quad b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }
__device__ __forceinline__ Quad operator&(uint32_t mask, Quad a) {
  return {mask & a.x, mask & a.y, mask & a.z, mask & a.w};
}
__device__ __forceinline__ Quad Load(const uint4* p) {
  const uint4 v = *p;
  return {v.x, v.y, v.z, v.w};
}
__device__ __forceinline__ void Store(uint4* p, Quad a) { *p = make_uint4(a.x, a.y, a.z, a.w); }
// All ones where the low bit of x is set.
__device__ __forceinline__ uint32_t Spread(uint32_t x) { return 0u - (x & 1); }
// Yes where the mask is set, else no.
__device__ __forceinline__ Quad Choose(uint32_t mask, Quad yes, Quad no) { return no ^ (mask & (yes ^ no)); }

// The first T-table, MixColumns of (S(x), 0, 0, 0), low byte first; the others are its rotations.
struct SboxTimes {
  uint32_t at[256];
};
constexpr SboxTimes MakeSboxTimes() {
  auto twice = [](uint32_t x) { return (x << 1 ^ (x >> 7) * 0x11b) & 0xff; };
  uint32_t power[256] = {}, log[256] = {};
  for (uint32_t i = 0, x = 1; i < 255; ++i, x ^= twice(x)) power[i] = x, log[x] = i;  // of the generator 3
  SboxTimes t{};
  for (uint32_t x = 0; x < 256; ++x) {
    uint32_t s = 0x63, inverse = x < 2 ? x : power[255 - log[x]];
    for (int turn = 0; turn < 5; ++turn, inverse = (inverse << 1 | inverse >> 7) & 0xff) s ^= inverse;
    t.at[x] = twice(s) | s << 8 | s << 16 | (twice(s) ^ s) << 24;
  }
  return t;
}
static __device__ const SboxTimes kSboxTimes = MakeSboxTimes();

extern __shared__ __align__(1024) uint8_t aes_tables[];

// Aes: a key and this lane's tables. Every thread of the block makes one, which fills the tables, before any returns.
template <int kTables>
class Aes {
  static_assert(kTables == 2 || kTables == 4);

 public:
  __device__ __forceinline__ Aes() : lane4_(threadIdx.x % 32 * 4) {
    // Row x of 256 bytes: table 0 for all lanes, then table 1; 2 and 3 stand 64 KiB on.
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;  // at least 8
    const uint32_t mine = kSboxTimes.at[(warp + warps * lane) % 256];
    uint32_t* const row = reinterpret_cast<uint32_t*>(aes_tables) + lane;
    for (unsigned i = 0, x = warp; x < 256; ++i, x += warps) {
      const uint32_t t = __shfl_sync(~0u, mine, i);
      row[64 * x] = t, row[64 * x + 32] = __byte_perm(t, 0, 0x2103);
      if constexpr (kTables == 4) {
        row[64 * x + 16384] = __byte_perm(t, 0, 0x1032), row[64 * x + 16416] = __byte_perm(t, 0, 0x0321);
      }
    }
    __syncthreads();
  }

  // Expands a key. TakeRoundKeys: 44 words that are expanded already.
  __device__ __forceinline__ void SetKey(Quad key) {
    k_[0] = key.x, k_[1] = key.y, k_[2] = key.z, k_[3] = key.w;
    uint32_t rcon = 1;
#pragma unroll
    for (int r = 4; r < 44; r += 4) {
      const uint32_t t = __byte_perm(k_[r - 1], 0, 0x0321);
      k_[r] = k_[r - 4] ^ LastColumn(t, t, t, t) ^ rcon;
      k_[r + 1] = k_[r - 3] ^ k_[r], k_[r + 2] = k_[r - 2] ^ k_[r + 1], k_[r + 3] = k_[r - 1] ^ k_[r + 2];
      rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
    }
  }
  __device__ __forceinline__ void TakeRoundKeys(const uint32_t* from) {
#pragma unroll
    for (int i = 0; i < 44; ++i) k_[i] = from[i];
  }
  // AES_{tree key}(le32 program | le32 kind | le64 tile).
  __device__ __forceinline__ void SetTileKey(const uint8_t* tree_key, uint32_t program, uint32_t kind, uint64_t tile) {
    const uint32_t* const w = reinterpret_cast<const uint32_t*>(tree_key);
    SetKey({w[0], w[1], w[2], w[3]});
    SetKey(Encrypt({program, kind, uint32_t(tile), uint32_t(tile >> 32)}));
  }

  __device__ __forceinline__ Quad Encrypt(Quad s) const { return Rounds<1>(s ^ Key(0)) ^ Key(10); }
  // AES(sigma x) ^ sigma x, sigma(low | high) = high | low ^ high.
  __device__ __forceinline__ Quad Hash(Quad x) const {
    const Quad s = {x.z, x.w, x.x ^ x.z, x.y ^ x.w};
    return Rounds<1>(s ^ Key(0)) ^ Key(10) ^ s;
  }

  // Of blocks (a, b, c, counter) the first round but for the counter's bytes.
  __device__ __forceinline__ Quad Counter(uint32_t a, uint32_t b, uint32_t c) const {
    a ^= k_[0], b ^= k_[1], c ^= k_[2];
    return {k_[4] ^ Lookup<0, 0>(a) ^ Lookup<1, 1>(b) ^ Lookup<2, 2>(c),
            k_[5] ^ Lookup<0, 0>(b) ^ Lookup<1, 1>(c) ^ Lookup<3, 3>(a),
            k_[6] ^ Lookup<0, 0>(c) ^ Lookup<2, 2>(a) ^ Lookup<3, 3>(b),
            k_[7] ^ Lookup<1, 1>(a) ^ Lookup<2, 2>(b) ^ Lookup<3, 3>(c)};
  }
  __device__ __forceinline__ Quad EncryptCounter(Quad first, uint32_t counter) const {
    counter ^= k_[3];
    const Quad s = {Lookup<3, 3>(counter), Lookup<2, 2>(counter), Lookup<1, 1>(counter), Lookup<0, 0>(counter)};
    return Rounds<2>(first ^ s) ^ Key(10);
  }

 private:
  __device__ __forceinline__ Quad Key(int r) const { return {k_[4 * r], k_[4 * r + 1], k_[4 * r + 2], k_[4 * r + 3]}; }
  // Entry: of table 0 or 1 (or with 64 KiB on, 2 or 3), at byte kByte of s: (byte << 8 | 4 lane) by one permutation.
  template <int kTable, int kByte>
  __device__ __forceinline__ uint32_t Entry(uint32_t s) const {
    const uint32_t at = __byte_perm(s, lane4_, 0x5504 | kByte << 4);
    return *reinterpret_cast<const uint32_t*>(aes_tables + at + (kTable % 2 * 128 + kTable / 2 * 65536));
  }
  template <int kTable, int kByte>
  __device__ __forceinline__ uint32_t Lookup(uint32_t s) const {
    if constexpr (kTable < kTables) return Entry<kTable, kByte>(s);
    return __byte_perm(Entry<kTable % 2, kByte>(s), 0, 0x1032);
  }
  // Of a round, from the four columns of its diagonal.
  __device__ __forceinline__ uint32_t Column(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key) const {
    const uint32_t low = Entry<0, 0>(a) ^ Entry<1, 1>(b) ^ key;
    if constexpr (kTables == 4) return low ^ Entry<2, 2>(c) ^ Entry<3, 3>(d);
    return low ^ __byte_perm(Entry<0, 2>(c) ^ Entry<1, 3>(d), 0, 0x1032);
  }
  // S alone, which stands in bytes 1 and 2 of table 0 and in bytes 2 and 3 of table 1.
  __device__ __forceinline__ uint32_t LastColumn(uint32_t a, uint32_t b, uint32_t c, uint32_t d) const {
    const uint32_t low = __byte_perm(Entry<0, 0>(a), Entry<0, 1>(b), 0x0051);
    const uint32_t high = __byte_perm(Entry<0, 2>(c), Entry<1, 3>(d), 0x0072);
    return __byte_perm(low, high, 0x5410);
  }
  // Rounds: from round kFrom on, of a state that has its key; without the last key.
  template <int kFrom>
  __device__ __forceinline__ Quad Rounds(Quad s) const {
#pragma unroll
    for (int r = kFrom; r < 10; ++r) {
      s = {Column(s.x, s.y, s.z, s.w, k_[4 * r]), Column(s.y, s.z, s.w, s.x, k_[4 * r + 1]),
           Column(s.z, s.w, s.x, s.y, k_[4 * r + 2]), Column(s.w, s.x, s.y, s.z, k_[4 * r + 3])};
    }
    return {LastColumn(s.x, s.y, s.z, s.w), LastColumn(s.y, s.z, s.w, s.x), LastColumn(s.z, s.w, s.x, s.y),
            LastColumn(s.w, s.x, s.y, s.z)};
  }
  uint32_t lane4_, k_[44];
};

// This warp's number and their count, blocks before the warps of one: a few tasks go to as many processors.
__device__ __forceinline__ uint64_t ThisWarp() { return uint64_t(threadIdx.x / 32) * gridDim.x + blockIdx.x; }
__device__ __forceinline__ uint64_t Warps() { return uint64_t(blockDim.x / 32) * gridDim.x; }

// Launch: one of a kernel's two variants, in blocks of `threads`.
template <class... Parameters, class... Arguments>
void Launch(const char* name, void (*four)(Parameters...), void (*two)(Parameters...), int threads, uint64_t warps,
            Stream s, Arguments... arguments) {
  const Grid grid(warps);
  const auto kernel = grid.tables == 4 ? four : two;
  exec::cuda::AllowShared(kernel, TableBytes(grid.tables));
  kernel<<<grid.blocks, threads, TableBytes(grid.tables), s>>>(arguments...);
  exec::cuda::Launched(name);
}

}  // namespace suf::fss::cuda
