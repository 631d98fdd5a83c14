// The comparison tree of dcf.hpp on a device. A thread follows one key, in key generation for both parties. A walk
// handles up to kChunk blocks of the payload. A wider payload takes several walks, so that sums stay in registers.
#include "suf/fss/cuda/aes.cuh"

namespace suf::fss::cuda {
namespace {

constexpr uint32_t kDcf = 1;  // the kind in the tile keys
constexpr uint64_t kTile = kDcfTile;
constexpr int kChunk = 2;
constexpr int kEvalThreads = 512;  // sums of values take up to 128 registers
constexpr int kGenThreads = 384;   // two parties take up to 168 registers and hash side by side

// The places of a payload in hashes (as in dcf_kernels.hpp) and in a key.
struct Shape {
  int n, words, bits, slots, blocks, chunks;
  bool narrow, shared;
  uint64_t key_words;
  explicit Shape(const DeviceKeyBatch& b)
      : n(b.n),
        words(b.words),
        bits(b.bits),
        slots(DcfSlots(b.bits)),
        blocks(DcfValueBlocks(b.words, b.bits)),
        chunks((blocks + kChunk - 1) / kChunk),
        narrow(b.bits <= 32),
        shared(2 * b.words <= slots),
        key_words(ElementBytes(int(DcfKeyBits(b.n, b.words, b.bits))) / 8) {}
  __device__ __forceinline__ uint32_t ValueAt(int d, int word) const {
    return 130 * uint32_t(n) + (uint32_t(d) * uint32_t(words) + uint32_t(word)) * uint32_t(bits);
  }
  // Returns the tweak of block q of a child's value. The children themselves have tweaks 0 and 1.
  __device__ __forceinline__ uint32_t Tweak(int q, uint32_t right) const {
    return 2 + uint32_t(q) + (shared ? 0 : right & uint32_t(blocks));
  }
};

// Adds slot by slot: slots have 32 bits if `wide` is 0, 64 if it is 1.
__device__ __forceinline__ Quad Plus(Quad a, Quad b, uint32_t wide) {
  const uint32_t x = a.x + b.x, z = a.z + b.z;
  return {x, a.y + b.y + (x < a.x ? wide : 0), z, a.w + b.w + (z < a.z ? wide : 0)};
}
// Subtracts slot by slot.
__device__ __forceinline__ Quad Minus(Quad a, Quad b, uint32_t wide) {
  return {a.x - b.x, a.y - b.y - (a.x < b.x ? wide : 0), a.z - b.z, a.w - b.w - (a.z < b.z ? wide : 0)};
}
// Returns -x if the mask is set, otherwise x.
__device__ __forceinline__ Quad Turn(Quad x, uint32_t mask, uint32_t wide) {
  const Quad all = {mask, mask, mask, mask};
  return Minus(x ^ all, all, wide);
}
__device__ __forceinline__ Quad Swapped(Quad a) { return {a.z, a.w, a.x, a.y}; }
// Writes a word to an empty slot of a block.
__device__ __forceinline__ void AddSlot(Quad* block, int slot, uint64_t word, bool narrow) {
  const uint32_t low = uint32_t(word), high = uint32_t(word >> 32);
  if (narrow) {
    block->x |= slot == 0 ? low : 0;
    block->y |= slot == 1 ? low : 0;
    block->z |= slot == 2 ? low : 0;
    block->w |= slot == 3 ? low : 0;
  } else {
    block->x |= slot == 0 ? low : 0;
    block->y |= slot == 0 ? high : 0;
    block->z |= slot == 1 ? low : 0;
    block->w |= slot == 1 ? high : 0;
  }
}
// Returns the word of a slot.
__device__ __forceinline__ uint64_t Slot(Quad block, int slot, bool narrow) {
  const uint64_t low = block.x | uint64_t(block.y) << 32, high = block.z | uint64_t(block.w) << 32;
  if (narrow) return (slot & 2 ? high : low) >> (slot & 1 ? 32 : 0) & 0xffffffff;
  return slot ? high : low;
}

// The bits of a number below 2^n as masks, the top bit first.
struct Path {
  uint64_t high, low;
  __device__ __forceinline__ Path(uint64_t h, uint64_t l, int n) {
    const int s = n > 64 ? 128 - n : 64 - n;
    high = n <= 64 ? l << s : s ? h << s | l >> (64 - s) : h;
    low = n <= 64 ? 0 : l << s;
  }
  __device__ __forceinline__ uint32_t Next() {
    const uint32_t bit = 0u - uint32_t(high >> 63);
    high = high << 1 | low >> 63;
    low <<= 1;
    return bit;
  }
};

__device__ __forceinline__ uint64_t LowOnes(int n) { return n < 64 ? ~(~uint64_t{0} << n) : ~uint64_t{0}; }

// Reads words of up to 64 bits of a key at ascending places. The current word stays in a register.
struct BitReader {
  const uint64_t* from;
  uint32_t at = ~0u;
  uint64_t word = 0;
  // Returns `len` bits from bit `place` on; bits above them are arbitrary.
  __device__ __forceinline__ uint64_t Take(uint32_t place, int len) {
    const uint32_t shift = place % 64;
    if (place / 64 != at) {
      at = place / 64;
      word = from[at];
    }
    uint64_t x = word >> shift;
    if (shift + uint32_t(len) > 64) {
      word = from[++at];
      x |= word << (64 - shift);
    }
    return x;
  }
};
// Writes words of up to 64 bits to a key at ascending places. The current word stays in a register. Words up to `mixed`
// have been written before and are combined by OR.
struct BitWriter {
  uint64_t* to;
  uint32_t mixed, at;
  uint64_t word = 0;
  __device__ __forceinline__ void Put(uint32_t place, uint64_t x, int len) {
    const uint32_t shift = place % 64;
    if (place / 64 != at) {
      Flush();
      at = place / 64;
      word = 0;
    }
    word |= x << shift;
    if (shift + uint32_t(len) > 64) {
      Flush();
      ++at;
      word = x >> (64 - shift);
    }
  }
  __device__ __forceinline__ void Flush() const { to[at] = at <= mixed ? to[at] | word : word; }
};
// Reads a key's seeds in turn, each by one load of 16 bytes. Keys may be 8-byte aligned.
struct SeedReader {
  const uint4* next;
  bool odd;
  uint2 before{};  // the low half of an odd key's next seed
  __device__ __forceinline__ explicit SeedReader(const uint64_t* key)
      : odd(reinterpret_cast<uintptr_t>(key) % 16 != 0) {
    if (odd) before = *reinterpret_cast<const uint2*>(key);
    next = reinterpret_cast<const uint4*>(key + (odd ? 1 : 0));
  }
  __device__ __forceinline__ Quad Take() {
    const uint4 v = *next++;
    const Quad s = odd ? Quad{before.x, before.y, v.x, v.y} : Quad{v.x, v.y, v.z, v.w};
    before = {v.z, v.w};
    return s;
  }
};

__device__ __forceinline__ Quad Root(const uint4* roots, uint64_t i, int party) {
  Quad s = Load(roots + i);
  s.x = (s.x & ~1u) | uint32_t(party);
  return s;
}
// Returns the input of a hash: a seed without its control bit, and a tweak.
__device__ __forceinline__ Quad Tweaked(Quad s, uint32_t tweak) { return {(s.x & ~1u) ^ tweak, s.y, s.z, s.w}; }

template <int kTables>
__global__ void __launch_bounds__(kGenThreads, 1)
    DcfGenKernel(DeviceKeyBatch b, Shape f, const uint64_t* alpha, const uint64_t* beta, const uint4* root0,
                 const uint4* root1, uint64_t* keys) {
  Aes<kTables> aes;
  const uint32_t wide = f.narrow ? 0 : 1;
  const uint64_t mask = LowOnes(f.bits);
  for (uint64_t i = ThisWarp() * 32 + threadIdx.x % 32; i < b.count; i += Warps() * 32) {
    aes.SetTileKey(b.tree_key, b.program, kDcf, b.first_tile + i / kTile);
    uint64_t* const key = keys + i * f.key_words;
    const uint32_t controls_at = 2 * uint32_t(f.n), values_at = f.ValueAt(0, 0) / 64;  // words
    const uint32_t mixed = f.chunks > 1 ? uint32_t(f.key_words) : values_at;           // words written in parts
    for (uint32_t k = controls_at; k <= mixed && k < f.key_words; ++k) key[k] = 0;
    uint64_t controls = 0;
    for (int begin = 0; begin < f.blocks; begin += kChunk) {
      const int end = begin + kChunk < f.blocks ? begin + kChunk : f.blocks;
      Path path(f.n > 64 ? alpha[2 * i + 1] : 0, alpha[f.n > 64 ? 2 * i : i], f.n);
      Quad s0 = Root(root0, i, 0), s1 = Root(root1, i, 1), sums[kChunk] = {};
      BitWriter values{key, mixed, f.ValueAt(0, begin * f.slots) / 64};
#pragma unroll 1
      for (int d = 0; d <= f.n; ++d) {
        const bool leaf = d == f.n;
        const uint32_t a = path.Next(), t0 = Spread(s0.x), t1 = Spread(s1.x);  // the leaf has no bit
#pragma unroll 1
        for (int q = begin; q <= end; ++q) {
          const bool child = q == end;
          if (child && leaf) break;
          Quad left0{}, left1{}, right0{}, right1{};
#pragma unroll 1
          for (uint32_t side = 0; side < (leaf || (f.shared && !child) ? 1 : 2); ++side) {
            const uint32_t tweak = child ? side : f.Tweak(q, 0 - side);
            right0 = aes.Hash(Tweaked(s0, tweak));
            right1 = aes.Hash(Tweaked(s1, tweak));
            if (side == 0) {
              left0 = right0;
              left1 = right1;
            }
          }
          if (f.shared && !child) {
            right0 = Swapped(left0);
            right1 = Swapped(left1);
          }
          if (child) {
            // s_CW = s0^Lose ^ s1^Lose; tL_CW = tL0 ^ tL1 ^ alpha_d ^ 1, tR_CW = tR0 ^ tR1 ^ alpha_d
            const Quad left = left0 ^ left1, right = right0 ^ right1;
            Quad word = Choose(a, left, right);
            word.x &= ~1u;
            const uint32_t tl = ~(left.x ^ a) & 1, tr = (right.x ^ a) & 1;
            if (begin == 0) {
              key[2 * d] = word.x | uint64_t(word.y) << 32;
              key[2 * d + 1] = word.z | uint64_t(word.w) << 32;
              controls |= uint64_t(tl | tr << 1) << 2 * (d % 32);
              if (d % 32 == 31 || d + 1 == f.n) {
                key[controls_at + uint32_t(d) / 32] |= controls;
                controls = 0;
              }
            }
            word.x |= (a & tr) | (~a & tl);
            s0 = Choose(a, right0, left0) ^ (t0 & word);
            s1 = Choose(a, right1, left1) ^ (t1 & word);
            continue;
          }
          // V_CW = (-1)^t1 (v1^Lose - v0^Lose - V_alpha + beta if Lose = L)
          // V_alpha += v0^Keep - v1^Keep + (-1)^t1 V_CW
          // CW^(n+1) = (-1)^t1 (s1 - s0 - V_alpha)
          const int words = f.words - q * f.slots < f.slots ? f.words - q * f.slots : f.slots;
          Quad payload{};
          for (int k = 0; k < words; ++k) {
            AddSlot(&payload, k, beta[uint64_t(q * f.slots + k) * b.count + i], f.narrow);
          }
          const uint32_t keep = leaf ? ~0u : a;
          const Quad lose0 = Choose(keep, left0, right0), lose1 = Choose(keep, left1, right1);
          const Quad sum = q == begin ? sums[0] : sums[1];
          const Quad more = Plus(Minus(lose1, lose0, wide), (leaf ? 0 : a) & payload, wide);
          const Quad value = Turn(Minus(more, sum, wide), t1, wide);
          const Quad kept = Minus(lose0 ^ left0 ^ right0, lose1 ^ left1 ^ right1, wide);
          const Quad next = Plus(more, kept, wide);
          if (q == begin) {
            sums[0] = next;
          } else {
            sums[1] = next;
          }
          for (int k = 0; k < words; ++k) {
            values.Put(f.ValueAt(d, q * f.slots + k), Slot(value, k, f.narrow) & mask, f.bits);
          }
        }
      }
      values.Flush();
    }
  }
}

template <int kTables>
__global__ void __launch_bounds__(kEvalThreads, 1)
    DcfEvalKernel(DeviceKeyBatch b, Shape f, int party, const uint4* roots, const uint64_t* keys, const uint64_t* x,
                  const uint64_t* thresholds, int m, uint64_t* out) {
  Aes<kTables> aes;
  const uint32_t wide = f.narrow ? 0 : 1;
  const uint64_t mask = LowOnes(f.bits), rows = (b.count + 31) / 32;
  for (uint64_t task = ThisWarp(); task < rows * uint64_t(m) * uint64_t(f.chunks); task += Warps()) {
    const uint64_t i = task % rows * 32 + threadIdx.x % 32;
    const int j = int(task / rows % uint64_t(m)), begin = int(task / rows / uint64_t(m)) * kChunk;
    const int end = begin + kChunk < f.blocks ? begin + kChunk : f.blocks;
    if (i >= b.count) continue;
    aes.SetTileKey(b.tree_key, b.program, kDcf, b.first_tile + i / kTile);
    const uint64_t* const key = keys + i * f.key_words;
    const uint64_t number = f.n > 64 ? 2 : 1, at = x[number * i], less = thresholds[number * uint64_t(j)];
    const uint64_t high = f.n > 64 ? x[2 * i + 1] - thresholds[2 * j + 1] - (at < less ? 1 : 0) : 0;
    Path path(high, at - less, f.n);
    Quad s = Root(roots, i, party), sums[kChunk] = {};
    SeedReader seeds(key);
    BitReader values{key};
    uint64_t controls = 0;
#pragma unroll 1
    for (int d = 0; d <= f.n; ++d) {
      const bool leaf = d == f.n;
      const uint32_t right = leaf ? 0 : path.Next(), control = Spread(s.x);
      Quad child = s;
#pragma unroll 1
      for (int q = begin; q <= end; ++q) {
        Quad word{};  // the correction word
        if (q == end) {
          if (leaf) break;
          if (d % 32 == 0) controls = key[2 * f.n + d / 32];
          word = seeds.Take();
          word.x |= uint32_t(controls >> (right & 1)) & 1;
          controls >>= 2;
        } else {
          for (int k = 0; k < f.slots && q * f.slots + k < f.words; ++k) {
            AddSlot(&word, k, values.Take(f.ValueAt(d, q * f.slots + k), f.bits), f.narrow);
          }
        }
        Quad h = aes.Hash(Tweaked(s, q == end ? right & 1 : f.Tweak(q, right)));
        if (q == end) {
          child = h ^ (control & word);
          continue;
        }
        h = Choose(f.shared ? right : 0, Swapped(h), h);
        const Quad more = Plus(h, control & word, wide);
        if (q == begin) {
          sums[0] = Plus(sums[0], more, wide);
        } else {
          sums[1] = Plus(sums[1], more, wide);
        }
      }
      s = child;
    }
    for (int q = begin; q < end; ++q) {
      const Quad sum = Turn(q == begin ? sums[0] : sums[1], 0u - uint32_t(party), wide);
      for (int k = 0; k < f.slots && q * f.slots + k < f.words; ++k) {
        const uint64_t word = uint64_t(q * f.slots + k);
        out[(word * uint64_t(m) + uint64_t(j)) * b.count + i] = Slot(sum, k, f.narrow) & mask;
      }
    }
  }
}

void Check(const DeviceKeyBatch& b, const void* key, const void* root0, const void* root1) {
  SUF_CHECK(b.n >= 1 && b.n <= 128 && b.words >= 1 && b.bits >= 1 && b.bits <= 64);
  SUF_CHECK(Aligned(key, 8) && Aligned(root0, 16) && Aligned(root1, 16) && Aligned(b.tree_key, 4));
}

}  // namespace

void DcfGen(const DeviceKeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0,
            const uint8_t* root1, uint8_t* key, StreamHandle s) {
  Check(b, key, root0, root1);
  if (b.count == 0) return;
  Launch("DcfGenKernel", DcfGenKernel<4>, DcfGenKernel<2>, kGenThreads, (b.count + 31) / 32, s, b, Shape(b), alpha,
         beta, reinterpret_cast<const uint4*>(root0), reinterpret_cast<const uint4*>(root1),
         reinterpret_cast<uint64_t*>(key));
}

void DcfEval(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
             const uint64_t* thresholds, int m, uint64_t* out, StreamHandle s) {
  Check(b, key, root, root);
  SUF_CHECK((party == 0 || party == 1) && m >= 1);
  if (b.count == 0) return;
  const Shape shape(b);
  Launch("DcfEvalKernel", DcfEvalKernel<4>, DcfEvalKernel<2>, kEvalThreads,
         (b.count + 31) / 32 * uint64_t(m) * uint64_t(shape.chunks), s, b, shape, party,
         reinterpret_cast<const uint4*>(root), reinterpret_cast<const uint64_t*>(key), x, thresholds, m, out);
}

}  // namespace suf::fss::cuda
