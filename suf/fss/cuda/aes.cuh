// AES-128 in device code, by T-tables in dynamic shared memory. Every lane has a bank of its own with its own copy of
// the tables. So lanes never wait for each other, and the time of an access does not depend on its secret address. A
// lane keeps its key schedule in registers. kTables is 4 (128 KiB), or 2 (64 KiB), whose rotations give the other two.
#pragma once
#include "suf/exec/cuda/check.cuh"
#include "suf/fss/cuda/launch.hpp"

namespace suf::fss::cuda {

// Threads per block. A persistent grid has one block per multiprocessor, which leaves 96 registers per thread.
inline constexpr int kThreads = 640;

// 16 bytes, low word first: a block of AES or a seed.
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
// Returns all ones if the low bit of x is set, otherwise zero.
__device__ __forceinline__ uint32_t Spread(uint32_t x) { return 0u - (x & 1); }
// Returns `yes` if the mask is set, otherwise `no`.
__device__ __forceinline__ Quad Choose(uint32_t mask, Quad yes, Quad no) { return no ^ (mask & (yes ^ no)); }

// The first T-table, MixColumns of (S(x), 0, 0, 0), low byte first. The others are its rotations.
struct SboxTimes {
  uint32_t at[256];
};
constexpr SboxTimes MakeSboxTimes() {
  auto twice = [](uint32_t x) { return (x << 1 ^ (x >> 7) * 0x11b) & 0xff; };
  uint32_t power[256] = {}, log[256] = {};
  for (uint32_t i = 0, x = 1; i < 255; ++i, x ^= twice(x)) {
    power[i] = x;
    log[x] = i;
  }  // powers of the generator 3
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

// A key and this lane's tables. Every thread of a block constructs one. The constructors fill the tables together and
// return when the tables are complete.
template <int kTables>
class Aes {
  static_assert(kTables == 2 || kTables == 4);

 public:
  __device__ __forceinline__ Aes() : lane4_(threadIdx.x % 32 * 4) {
    // Row x has 256 bytes: table 0 for all lanes, then table 1. Tables 2 and 3 begin 64 KiB later.
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;  // at least 8
    const uint32_t mine = kSboxTimes.at[(warp + warps * lane) % 256];
    uint32_t* const row = reinterpret_cast<uint32_t*>(aes_tables) + lane;
    for (unsigned i = 0, x = warp; x < 256; ++i, x += warps) {
      const uint32_t t = __shfl_sync(~0u, mine, i);
      row[64 * x] = t;
      row[64 * x + 32] = __byte_perm(t, 0, 0x2103);
      if constexpr (kTables == 4) {
        row[64 * x + 16384] = __byte_perm(t, 0, 0x1032);
        row[64 * x + 16416] = __byte_perm(t, 0, 0x0321);
      }
    }
    __syncthreads();
  }

  // Expands a key.
  __device__ __forceinline__ void SetKey(Quad key) {
    k_[0] = key.x;
    k_[1] = key.y;
    k_[2] = key.z;
    k_[3] = key.w;
    uint32_t rcon = 1;
#pragma unroll
    for (int r = 4; r < 44; r += 4) {
      const uint32_t t = __byte_perm(k_[r - 1], 0, 0x0321);
      k_[r] = k_[r - 4] ^ LastColumn(t, t, t, t) ^ rcon;
      k_[r + 1] = k_[r - 3] ^ k_[r];
      k_[r + 2] = k_[r - 2] ^ k_[r + 1];
      k_[r + 3] = k_[r - 1] ^ k_[r + 2];
      rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
    }
  }
  // Loads 44 words of a key that is expanded already.
  __device__ __forceinline__ void TakeRoundKeys(const uint32_t* from) {
#pragma unroll
    for (int i = 0; i < 44; ++i) k_[i] = from[i];
  }
  // Expands the key of a tile, `AES_{tree key}(le32 program | le32 kind | le64 tile)`.
  __device__ __forceinline__ void SetTileKey(const uint8_t* tree_key, uint32_t program, uint32_t kind, uint64_t tile) {
    const uint32_t* const w = reinterpret_cast<const uint32_t*>(tree_key);
    SetKey({w[0], w[1], w[2], w[3]});
    SetKey(Encrypt({program, kind, uint32_t(tile), uint32_t(tile >> 32)}));
  }

  __device__ __forceinline__ Quad Encrypt(Quad s) const { return Rounds<1>(s ^ Key(0)) ^ Key(10); }
  // Returns `AES(sigma x) ^ sigma x`, `sigma(low | high) = high | low ^ high`.
  __device__ __forceinline__ Quad Hash(Quad x) const {
    const Quad s = {x.z, x.w, x.x ^ x.z, x.y ^ x.w};
    return Rounds<1>(s ^ Key(0)) ^ Key(10) ^ s;
  }

  // Returns the first round of blocks (a, b, c, counter) without the counter's bytes.
  __device__ __forceinline__ Quad Counter(uint32_t a, uint32_t b, uint32_t c) const {
    a ^= k_[0];
    b ^= k_[1];
    c ^= k_[2];
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
  // Returns an entry of table 0 or 1 (or of 2 or 3, 64 KiB later) at byte kByte of s. One permutation makes the address
  // (byte << 8 | 4 lane).
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
  // Returns a column of a round, from the four columns of its diagonal.
  __device__ __forceinline__ uint32_t Column(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key) const {
    const uint32_t low = Entry<0, 0>(a) ^ Entry<1, 1>(b) ^ key;
    if constexpr (kTables == 4) return low ^ Entry<2, 2>(c) ^ Entry<3, 3>(d);
    return low ^ __byte_perm(Entry<0, 2>(c) ^ Entry<1, 3>(d), 0, 0x1032);
  }
  // Returns a column of the last round, which applies S alone. S is in bytes 1 and 2 of table 0 and 2 and 3 of table 1.
  __device__ __forceinline__ uint32_t LastColumn(uint32_t a, uint32_t b, uint32_t c, uint32_t d) const {
    const uint32_t low = __byte_perm(Entry<0, 0>(a), Entry<0, 1>(b), 0x0051);
    const uint32_t high = __byte_perm(Entry<0, 2>(c), Entry<1, 3>(d), 0x0072);
    return __byte_perm(low, high, 0x5410);
  }
  // Performs the rounds from kFrom on, without adding the last key. The state already has the key of the round before.
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

// Returns this warp's number. It counts across blocks first, so that a few tasks are spread over the multiprocessors.
__device__ __forceinline__ uint64_t ThisWarp() { return uint64_t(threadIdx.x / 32) * gridDim.x + blockIdx.x; }
// Returns the number of warps in the grid.
__device__ __forceinline__ uint64_t Warps() { return uint64_t(blockDim.x / 32) * gridDim.x; }

// Launches one of a kernel's two variants, in blocks of `threads`.
template <class... Parameters, class... Arguments>
void Launch(const char* name, void (*four)(Parameters...), void (*two)(Parameters...), int threads, uint64_t warps,
            StreamHandle s, Arguments... arguments) {
  const LaunchGrid grid(warps);
  const auto kernel = grid.tables == 4 ? four : two;
  exec::cuda::AllowShared(kernel, TableBytes(grid.tables));
  kernel<<<grid.blocks, threads, TableBytes(grid.tables), s>>>(arguments...);
  exec::cuda::CheckLaunch(name);
}

}  // namespace suf::fss::cuda
