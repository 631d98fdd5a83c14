// The half-tree of dpf.hpp on a device. A thread follows a key or a part of its domain, with all seeds in registers.
// The tests compare it with dpf.hpp and with its known answers.
#include "suf/fss/cuda/aes.cuh"

namespace suf::fss::cuda {
namespace {

constexpr uint32_t kDpf = 0;  // the kind in the tile keys
constexpr uint64_t kTile = kDpfTile;

__device__ __forceinline__ uint64_t LowOnes(int n) { return n < 64 ? ~(~uint64_t{0} << n) : ~uint64_t{0}; }

// The words of key i. The words of a tile's keys lie level by level.
struct Key {
  const uint4* first;
  uint32_t stride;
  __device__ __forceinline__ Key(const DeviceKeyBatch& b, const uint8_t* keys, uint64_t i) {
    const uint64_t tile = i / kTile * kTile, rest = b.count - tile;
    first = reinterpret_cast<const uint4*>(keys) + tile * uint64_t(b.n - 6) + (i - tile);
    stride = uint32_t(rest < kTile ? rest : kTile);
  }
  __device__ __forceinline__ Quad Word(int d) const { return Load(first + uint32_t(d) * stride); }
};

__device__ __forceinline__ uint64_t NumberAt(const DeviceNumbers& x, uint64_t i) {
  const auto at = [&](auto one) { return uint64_t(static_cast<const decltype(one)*>(x.data)[i]); };
  const uint64_t whole = x.bytes == 8   ? at(uint64_t{})
                         : x.bytes == 4 ? at(uint32_t{})
                         : x.bytes == 2 ? at(uint16_t{})
                                        : at(uint8_t{});
  return whole & LowOnes(x.bits);
}
// Writes word i of the results; a result that is a single word may be narrower.
__device__ __forceinline__ void Give(const DeviceResults& out, uint64_t i, uint64_t word) {
  const auto at = [&](auto one) { static_cast<decltype(one)*>(out.data)[i] = decltype(one)(word); };
  out.bytes == 8 ? at(uint64_t{}) : out.bytes == 4 ? at(uint32_t{}) : out.bytes == 2 ? at(uint16_t{}) : at(uint8_t{});
}

__device__ __forceinline__ Quad Root(const uint4* roots, uint64_t i, int party) {
  Quad s = Load(roots + i);
  s.x = (s.x & ~1u) | uint32_t(party);
  return s;
}

template <int kTables>
__device__ __forceinline__ void SetTileKey(Aes<kTables>& aes, const DeviceKeyBatch& b, uint64_t i) {
  aes.SetTileKey(b.tree_key, b.program, kDpf, b.first_tile + i / kTile);
}

// ---- Keys

template <int kTables>
__global__ void __launch_bounds__(kThreads, 1)
    DpfGenKernel(DeviceKeyBatch b, DeviceNumbers alpha, const uint4* root0, const uint4* root1, uint8_t* keys) {
  Aes<kTables> aes;
  const int depth = b.n - 8;
  for (uint64_t i = ThisWarp() * 32 + threadIdx.x % 32; i < b.count; i += Warps() * 32) {
    SetTileKey(aes, b, i);
    const Key key(b, keys, i);
    const uint64_t a = NumberAt(alpha, i);
    Quad s = Root(root0, i, 0), other = Root(root1, i, 1);
    const Quad delta = s ^ other;  // the difference of seeds and control bits on alpha's path, at every level
    uint64_t path = a << (64 - b.n);
#pragma unroll 1
    for (int d = 0; d <= depth + 1; ++d, path <<= 1) {
      const uint32_t leaf = d < depth ? 0 : ~0u, half = uint32_t(d - depth);
      // The children are H(s) and H(s) ^ s, the leaves H(s ^ 2 half). Inner words add Delta if alpha goes left, leaf
      // words the bit of alpha.
      Quad in = s, twin = other;
      in.x ^= leaf & half << 1;
      twin.x ^= leaf & half << 1;
      const Quad h = aes.Hash(in), sum = h ^ aes.Hash(twin);
      const uint32_t right = Spread(uint32_t(path >> 63)), here = leaf & ~Spread(uint32_t(a >> 7) ^ half);
      const uint32_t bit = 1u << (a % 32), q = uint32_t(a >> 5) % 4;
      const Quad hot = {here & (q == 0 ? bit : 0), here & (q == 1 ? bit : 0), here & (q == 2 ? bit : 0),
                        here & (q == 3 ? bit : 0)};
      const Quad word = sum ^ hot ^ ((~right & ~leaf) & delta);
      Store(const_cast<uint4*>(key.first) + uint32_t(d) * key.stride, word);
      s = Choose(leaf, s, h ^ (right & s) ^ (Spread(s.x) & word));
      other = s ^ delta;
    }
  }
}

// ---- Comparisons

// The number of keys that keep all multiprocessors busy with one key per thread.
constexpr size_t kManyKeys = size_t{1} << 17;

// Returns the ones of word q of a block up to bit p of the block.
__device__ __forceinline__ uint32_t BelowOrAt(int p, int q) {
  const int last = p - 32 * q;
  return last >= 31 ? ~0u : last < 0 ? 0 : (2u << last) - 1;
}

// Gives each lane a key or, if `across` is set, a threshold.
template <int kTables>
__global__ void __launch_bounds__(kThreads, 1)
    DpfParityKernel(DeviceKeyBatch b, int party, const uint4* roots, const uint8_t* keys, DeviceNumbers x,
                    const uint64_t* thresholds, int m, bool across, DeviceResults out) {
  Aes<kTables> aes;
  const unsigned lane = threadIdx.x % 32;
  const int depth = b.n - 8;
  const uint64_t groups = across ? uint64_t(m + 31) / 32 : 1, tasks = across ? b.count * groups : (b.count + 31) / 32;
  for (uint64_t task = ThisWarp(); task < tasks; task += Warps()) {
    const uint64_t mine = across ? task / groups : task * 32 + lane;
    const uint64_t i = mine < b.count ? mine : b.count - 1;
    const int group = int(task % groups), first = across ? group * 32 + int(lane) : 0;
    SetTileKey(aes, b, i);
    const Key key(b, keys, i);
    const uint64_t at = NumberAt(x, i);
    uint64_t bits = 0;
    for (int j = 0; j < (across ? 1 : m); ++j) {
      const uint64_t p = at - thresholds[first + j < m ? first + j : m - 1];
      // The sum of dpf_core.hpp: the control bits of the nodes at which the path turns, and the leaf's bits.
      Quad s = Root(roots, i, party);
      uint64_t path = p << (64 - b.n);
      uint32_t sum = uint32_t(party), right = 0;
#pragma unroll 1
      for (int d = 0; d <= depth; ++d, path <<= 1) {
        const uint32_t leaf = d < depth ? 0 : ~0u, before = right, control = Spread(s.x);
        right = Spread(uint32_t(path >> 63));  // at the leaf: the half
        const Quad word = key.Word(d + int(leaf & right & 1));
        sum ^= s.x & (right ^ before);
        Quad in = s;
        in.x ^= leaf & right & 2;
        s = aes.Hash(in) ^ (control & word) ^ ((right & ~leaf) & s);
      }
      const int last = int(p % 128);
      sum ^= uint32_t(__popc((s.x & (BelowOrAt(last, 0) ^ right)) ^ (s.y & (BelowOrAt(last, 1) ^ right)) ^
                             (s.z & (BelowOrAt(last, 2) ^ right)) ^ (s.w & (BelowOrAt(last, 3) ^ right))));
      bits |= uint64_t(sum & 1) << (j % 64);
      if (across || (j % 64 < 63 && j + 1 < m)) continue;
      if (mine < b.count) Give(out, mine * (uint64_t(m + 63) / 64) + unsigned(j) / 64, bits);
      bits = 0;
    }
    if (!across) continue;
    const uint32_t word = __ballot_sync(~0u, (bits & 1) != 0 && first < m);
    if (lane == 0) {
      uint32_t* const to = static_cast<uint32_t*>(out.data) + mine * ((groups + 1) / 2 * 2) + unsigned(group);
      to[0] = word;
      if (unsigned(group) + 1 == groups && groups % 2) to[1] = 0;
    }
  }
}

// ---- Ranges

constexpr int kWalkThreads = 512;  // kept nodes take registers

// Visits the nodes first, first + 1, .., last of one depth of a key, mod 2^depth. At depth n - 8 it also makes their
// leaf blocks, from half `half` of the first node on. Every step hashes once, so threads do not wait for each other
// although their nodes differ. A walk to the left keeps the right children of the lowest levels. It also keeps the seed
// at which it parts from the path to the last node, for all nodes between.
template <int kTables>
class Walker {
 public:
  __device__ __forceinline__ Walker(const Key& key, Quad root, int depth, uint64_t first, uint64_t last, uint32_t half)
      : key_(key), depth_(depth), node_(first), last_(last), half_(half), s_(root), kept_(root) {}
  __device__ __forceinline__ bool AtNode() const { return d_ == depth_; }
  __device__ __forceinline__ uint32_t Control() const { return s_.x & 1; }
  // Moves on to the next node.
  __device__ __forceinline__ void Next() {
    ++node_;
    s_ = kept_;
    d_ = kept_at_;
#pragma unroll
    for (int h = 0; h < kRights; ++h) {
      if ((node_ & ((2u << h) - 1)) == 1u << h && h < depth_) {
        s_ = rights_[h];
        d_ = depth_ - h;
      }
    }
  }
  // Takes a step; returns whether *block is now a leaf block.
  __device__ __forceinline__ bool Step(const Aes<kTables>& aes, Quad* block) {
    const bool leaf = AtNode();
    const uint64_t parts = node_ ^ last_;
    const int up = parts ? 64 - __clzll((long long)parts) : 0;  // levels above the node at which the paths part
    const int down = depth_ - 1 - d_;                           // levels from the children to the node
    const uint32_t right = leaf ? 0 - half_ : Spread(uint32_t(node_ >> (leaf ? 0 : down)));
    Quad word = key_.Word(d_);
    if (leaf) word = Choose(right, key_.Word(depth_ + 1), word);  // both are read, because a single point may be secret
    if (!leaf && (up < depth_ ? up : depth_) == down + 1) {
      kept_ = s_;
      kept_at_ = d_;
    }
    Quad in = s_;
    in.x ^= leaf ? right & 2 : 0;
    const Quad child = aes.Hash(in) ^ (Spread(s_.x) & word);
    if (leaf) {
      *block = child;
      half_ ^= 1;
      if (!half_) Next();
      return true;
    }
#pragma unroll
    for (int h = 0; h < kRights; ++h) {
      if (down == h) rights_[h] = Choose(right, rights_[h], child ^ s_);
    }
    s_ = child ^ (right & s_);
    ++d_;
    return false;
  }

 private:
  static constexpr int kRights = 4;
  Key key_;
  int depth_;
  uint64_t node_, last_;
  uint32_t half_;
  int d_ = 0, kept_at_ = 0;  // depths of s_ and kept_
  Quad s_, kept_, rights_[kRights] = {};
};

// Packs appended bits into words of the results; an append has `len` <= `left` bits.
struct Sink {
  DeviceResults out;
  uint64_t to;  // the next word
  uint32_t left;
  uint64_t word = 0;
  uint32_t fill = 0;
  __device__ __forceinline__ void Put(uint64_t x, uint32_t len) {
    x &= LowOnes(int(len));
    left -= len;
    word |= x << fill;
    fill += len;
    if (fill >= 64) {
      Give(out, to++, word);
      fill -= 64;
      word = fill ? x >> (len - fill) : 0;
    }
    if (left == 0 && fill) Give(out, to, word);
  }
};

// Returns the parities of the groups of 2^level bits of a word, packed, level <= 6.
__device__ __forceinline__ uint64_t Parities(uint64_t x, int level) {
  for (int l = 0; l < level; ++l) {
    x = (x ^ x >> 1) & 0x5555555555555555;
    x = (x | x >> 1) & 0x3333333333333333;
    x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
    x = (x | x >> 4) & 0x00ff00ff00ff00ff;
    x = (x | x >> 8) & 0x0000ffff0000ffff;
    x = (x | x >> 16) & 0xffffffff;
  }
  return x;
}

// Returns the words of a window per thread. Many keys are walked with the fewest hashes. Their short trees are cut into
// smaller slices, because the path to a node is short. Few keys are cut until every multiprocessor has walks, because a
// long walk delays the whole launch.
int SliceWords(const DeviceKeyBatch& b, int level, int m) {
  constexpr uint64_t kWalks = uint64_t{1} << 15;
  const int many = (b.n <= 24 ? 32 : 128) >> std::min(level, 8), few = level ? 1 : 2;
  const uint64_t fair = uint64_t((m + 63) / 64) * b.count / kWalks;
  return std::clamp(int(std::min<uint64_t>(fair, 1024)), std::min(few, std::max(many, 1)), std::max(many, 1));
}

template <int kTables>
__global__ void __launch_bounds__(kWalkThreads, 1)
    DpfWindowKernel(DeviceKeyBatch b, int party, const uint4* roots, const uint8_t* keys, int level, DeviceNumbers lo,
                    int m, int slice_words, DeviceResults out) {
  Aes<kTables> aes;
  const bool inner = level >= 8;  // control bits of nodes, not leaf bits
  const int depth = b.n - (inner ? level : 8), cell_bits = inner ? 1 : 128 >> level;  // cell: a node or a leaf block
  const uint32_t words = uint32_t(m + 63) / 64, slices = (words + uint32_t(slice_words) - 1) / uint32_t(slice_words);
  for (uint64_t t = ThisWarp() * 32 + threadIdx.x % 32; t < b.count * slices; t += Warps() * 32) {
    const uint64_t i = t / slices, begin = t % slices * uint64_t(slice_words);
    SetTileKey(aes, b, i);
    const uint64_t at = (NumberAt(lo, i) + 64 * begin) & LowOnes(b.n - level);
    const uint32_t rest = uint32_t(m) - uint32_t(64 * begin), most = 64 * uint32_t(slice_words);
    Sink sink{out, i * words + begin, rest < most ? rest : most};
    uint32_t skip = inner ? 0 : uint32_t(at << level) % 128 >> level;  // bits of the first cell
    const uint64_t cell = inner ? at : at << level >> 7;
    const uint64_t last = cell + (skip + sink.left - 1) / uint32_t(cell_bits);
    Walker<kTables> walker(Key(b, keys, i), Root(roots, i, party), depth, inner ? cell : cell >> 1,
                           inner ? last : last >> 1, inner ? 0 : uint32_t(cell & 1));
    for (;;) {
      while (inner && sink.left && walker.AtNode()) {
        sink.Put(walker.Control(), 1);
        walker.Next();
      }
      if (!sink.left) break;
      Quad block;
      if (!walker.Step(aes, &block)) continue;
      uint64_t low = block.x | uint64_t(block.y) << 32, high = block.z | uint64_t(block.w) << 32;
      if (level == 7) low ^= high;
      low = Parities(low, level < 6 ? level : 6);
      high = Parities(high, level < 6 ? level : 6);
      if (level) {
        low |= level < 7 ? high << (64 >> level) : 0;
        high = 0;
      }
      if (skip) {
        low = skip < 64 ? low >> skip | high << (64 - skip) : high >> (skip - 64);
        high = skip < 64 ? high >> skip : 0;
      }
      const uint32_t cell_left = uint32_t(cell_bits) - skip, some = cell_left < sink.left ? cell_left : sink.left;
      sink.Put(low, some < 64 ? some : 64);
      if (some > 64) sink.Put(high, some - 64);
      skip = 0;
    }
  }
}

// Returns the lanes of a warp that make one key's leaf blocks, four or more each. All lanes then add up each block.
constexpr uint32_t DenseLanes(int n) {
  const uint32_t lanes = n < 10 ? 2 : 1u << (n - 9);
  return lanes < 32 ? lanes : 32;
}

template <int kTables>
__global__ void __launch_bounds__(kWalkThreads, 1)
    DpfDenseKernel(DeviceKeyBatch b, int party, const uint4* roots, const uint8_t* keys, DeviceNumbers x,
                   const uint64_t* table, uint64_t* out) {
  Aes<kTables> aes;
  const unsigned lane = threadIdx.x % 32;
  const uint32_t lanes = DenseLanes(b.n), in_turn = (1u << (b.n - 7)) / lanes, mask = (1u << b.n) - 1;
  const uint64_t together = 32 / lanes;
  for (uint64_t task = ThisWarp(); task * together < b.count; task += Warps()) {
    const uint64_t first = task * together, mine = first + lane / lanes, i = mine < b.count ? mine : b.count - 1;
    SetTileKey(aes, b, i);
    const uint32_t at = uint32_t(NumberAt(x, i)), begin = lane % lanes * in_turn;
    Walker<kTables> walker(Key(b, keys, i), Root(roots, i, party), b.n - 8, begin / 2, (begin + in_turn - 1) / 2,
                           begin % 2);
    uint64_t total = 0, sum = 0;  // of the key with the lane's number; of this lane's columns of one key
    for (uint32_t turn = 0; turn < in_turn; ++turn) {
      Quad block;
      while (!walker.Step(aes, &block)) {
      }
      for (uint32_t from = 0; from < 32; ++from) {
        const uint32_t column = ((from & (lanes - 1)) * in_turn + turn) * 128 + lane;
        const uint32_t to = __shfl_sync(~0u, at, from) - column;
        const uint32_t word[4] = {__shfl_sync(~0u, block.x, from), __shfl_sync(~0u, block.y, from),
                                  __shfl_sync(~0u, block.z, from), __shfl_sync(~0u, block.w, from)};
#pragma unroll
        for (uint32_t q = 0; q < 4; ++q) sum ^= table[(to - 32 * q) & mask] & (0 - uint64_t(word[q] >> lane & 1));
        if ((from + 1) & (lanes - 1) || (lanes == 32 && turn + 1 < in_turn)) continue;
        for (int s = 16; s; s /= 2) sum ^= __shfl_xor_sync(~0u, sum, s);
        if (lane == from / lanes) total ^= sum;
        sum = 0;
      }
    }
    if (lane < together && first + lane < b.count) out[first + lane] = total;
  }
}

const uint4* Blocks(const uint8_t* p) {
  SUF_CHECK(Aligned(p, 16));
  return reinterpret_cast<const uint4*>(p);
}

void Check(const DeviceKeyBatch& b, const uint8_t* key) {
  SUF_CHECK(b.n >= 8 && b.n <= 64 && Aligned(key, 16) && Aligned(b.tree_key, 4));
}

}  // namespace

void DpfGen(const DeviceKeyBatch& b, DeviceNumbers alpha, const uint8_t* root0, const uint8_t* root1, uint8_t* key,
            StreamHandle s) {
  Check(b, key);
  if (b.count == 0) return;
  Launch("DpfGenKernel", DpfGenKernel<4>, DpfGenKernel<2>, kThreads, (b.count + 31) / 32, s, b, alpha, Blocks(root0),
         Blocks(root1), key);
}

void DpfWindow(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, int level, DeviceNumbers lo,
               int m, DeviceResults out, StreamHandle s) {
  Check(b, key);
  SUF_CHECK((party == 0 || party == 1) && level >= 0 && level <= b.n && m >= 1 && m <= 1 << std::min(b.n - level, 20));
  if (b.count == 0) return;
  const int slice = SliceWords(b, level, m);
  const uint64_t slices = uint64_t((m + 63) / 64 + slice - 1) / uint64_t(slice);
  Launch("DpfWindowKernel", DpfWindowKernel<4>, DpfWindowKernel<2>, kWalkThreads, (b.count * slices + 31) / 32, s, b,
         party, Blocks(root), key, level, lo, m, slice, out);
}

void DpfParity(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, DeviceNumbers x,
               const uint64_t* thresholds, int m, DeviceResults out, StreamHandle s) {
  Check(b, key);
  SUF_CHECK((party == 0 || party == 1) && m >= 1);
  if (b.count == 0) return;
  const bool across = m >= 32 && out.bytes == 8 && b.count < kManyKeys;
  const uint64_t warps = across ? b.count * (uint64_t(m + 31) / 32) : (b.count + 31) / 32;
  Launch("DpfParityKernel", DpfParityKernel<4>, DpfParityKernel<2>, kThreads, warps, s, b, party, Blocks(root), key, x,
         thresholds, m, across, out);
}

void DpfDense(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, DeviceNumbers x,
              const uint64_t* table, uint64_t* out, StreamHandle s) {
  Check(b, key);
  SUF_CHECK((party == 0 || party == 1) && b.n <= kDpfDomainBits);
  if (b.count == 0) return;
  const uint64_t together = 32 / DenseLanes(b.n);
  Launch("DpfDenseKernel", DpfDenseKernel<4>, DpfDenseKernel<2>, kWalkThreads, (b.count + together - 1) / together, s,
         b, party, Blocks(root), key, x, table, out);
}

}  // namespace suf::fss::cuda
