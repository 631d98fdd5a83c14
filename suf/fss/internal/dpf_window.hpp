// Windows of the half-tree: many nodes per key. Walk of dpf_core.hpp goes to the first fork. Below it whole levels are
// expanded, so that neighbours share their path. `Dpf.LevelsAndParities*` compare both with each other. Included inside
// a variant's namespace after dpf_core.hpp, so it has no guard and no includes of its own.
namespace {

using internal::Seed;

// Returns all ones if the low bit of x is set. The barrier keeps compilers from turning the mask back into a branch.
inline Seed CtMask(uint64_t x) {
  Seed m = -(Seed{x, x} & 1);
  asm("" : "+x"(m));
  return m;
}
inline Seed ControlOf(Seed s) {
  Seed m = -(__builtin_shufflevector(s, s, 0, 0) & 1);
  asm("" : "+x"(m));
  return m;
}
inline Seed LoadSeed(const uint8_t* p) {
  Seed s;
  __builtin_memcpy(&s, p, 16);
  return s;
}
inline Seed Root(const uint8_t* p, int party) {
  return (LoadSeed(p) & Seed{~uint64_t{1}, ~uint64_t{0}}) | Seed{uint64_t(party), 0};
}
inline void HashSeeds(const uint8_t* tile_key, const Seed* in, Seed* out, size_t n) {
  AesHash(tile_key, reinterpret_cast<const uint8_t*>(in), reinterpret_cast<uint8_t*>(out), n);
}

// The nodes of one key's window at each level. Positions are not reduced mod 2^n, so a window is one range of nodes at
// every level. If it wraps around, level 0 holds the root twice.
struct NodeRange {
  uint64_t first, last;  // of the lowest level of nodes
  uint64_t block;        // the first leaf block of 128 bits
  uint64_t First(int above) const { return first >> above; }
  size_t Count(int above) const { return size_t((last >> above) - First(above)) + 1; }
};

// Walks `count` seeds, each along its own path.
inline void WalkStraight(const uint8_t* tile_key, const internal::DpfTile& t, size_t k0, size_t count, int levels,
                         const uint64_t* path, Seed* node) {
  const RoundKeys keys(tile_key);
  for (size_t i = 0; i < count; i += kGroup) {
    const size_t now = count - i < kGroup ? count - i : kGroup;
    const KeyTile group(t.cw, t.keys, k0 + i, now, t.n - 6);
    Points points;
    for (size_t j = 0; j < now; ++j) points.x[j] = path[i + j];
    const PublicBits bits(points.x);
    Blocks seeds(reinterpret_cast<const uint8_t*>(node + i), now);
    Vec s[kWide];
    for (int w = 0; w < kWide; ++w) s[w] = seeds.At(w);
    Walk<false>(keys, group, levels, levels - 1, bits, s, s);
    for (int w = 0; w < kWide; ++w) Store(seeds.b + 16 * kLanes * w, s[w]);
    __builtin_memcpy(node + i, seeds.b, 16 * now);
    Wipe(s, sizeof s);
  }
}

// Returns 64 bits from bit `at` of `end` consecutive quadwords.
inline uint64_t Bits64(const uint64_t* x, size_t at, size_t end) {
  const size_t k = at / 64, shift = at % 64;
  return x[k] >> shift | (k + 1 < end ? x[k + 1] : 0) << 1 << (63 - shift);
}

// Writes the parities of m groups of 2^level bits in the quadwords x[0 .. end). Group j begins at first + (j << level).
inline void WriteParities(uint64_t* x, size_t end, size_t first, int level, size_t m, uint64_t* out) {
  const size_t words = (m + 63) / 64;
  for (size_t q = 0; q < words; ++q) out[q] = 0;
  for (size_t k = 0; k < end && level; ++k) {
    for (int s = 0; s < level && s < 6; ++s) x[k] ^= x[k] >> (1 << s);
  }
  for (size_t k = 0; k + 1 < end && level == 7; k += 2) x[k] ^= x[k + 1];
  if (level == 0) {
    for (size_t q = 0; q < words; ++q) out[q] = Bits64(x, first + 64 * q, end);
    if (m % 64) out[words - 1] &= ~uint64_t{0} >> (64 - m % 64);
    return;
  }
  for (size_t j = 0; j < m; ++j) {
    const size_t at = first + (j << level);
    out[j / 64] |= (x[at / 64] >> (at % 64) & 1) << (j % 64);
  }
}

// Computes the windows of `count` keys from key k0 on.
void WindowOf(const uint8_t* tile_key, const internal::DpfTile& t, size_t k0, size_t count, int level,
              const uint64_t* lo, size_t m, Seed* scratch, uint64_t* out) {
  const bool inner = level >= 8;  // control bits of nodes, not leaf bits
  const int depth = t.n - (inner ? level : 8);
  const size_t blocks = inner ? 0 : internal::LeafBlocks(m << level);
  const size_t room = count * ((inner ? m : blocks) + 2);
  Seed *node = scratch, *next = scratch + room, *h = scratch + 2 * room;
  NodeRange range[kDpfTile];
  uint64_t path[kDpfTile];
  size_t nodes = 0;
  int straight = depth;  // the levels at which each key has one node
  for (size_t i = 0; i < count; ++i) {
    const uint64_t at = lo[i] & LowBits(t.n - level), block = inner ? 0 : at << level >> 7;
    range[i] = inner ? NodeRange{at, at + m - 1, 0} : NodeRange{block >> 1, (block + blocks - 1) >> 1, block};
    while (straight > 0 && range[i].Count(depth - straight) > 1) --straight;
    for (size_t j = range[i].Count(depth); j; --j) node[nodes++] = Root(t.root + 16 * (k0 + i), t.party);
  }
  for (size_t i = 0; i < count; ++i) path[i] = range[i].First(depth - straight);
  if (straight) WalkStraight(tile_key, t, k0, count, straight, path, node);
  for (int d = straight; d < depth; ++d) {
    HashSeeds(tile_key, node, h, nodes);
    const int above = depth - d - 1;  // levels below the children
    size_t child = 0, parent = 0;
    for (size_t i = 0; i < count; ++i) {
      const Seed c = LoadSeed(t.cw + 16 * (size_t(d) * t.keys + k0 + i));
      const uint64_t base = range[i].First(above + 1), first = range[i].First(above);
      for (size_t j = 0, kids = range[i].Count(above); j < kids; ++j) {
        const size_t p = parent + size_t(((first + j) >> 1) - base);
        next[child++] = h[p] ^ (CtMask(first + j) & node[p]) ^ (ControlOf(node[p]) & c);
      }
      parent += range[i].Count(above + 1);
    }
    Seed* other = node;
    node = next;
    next = other;
    nodes = child;
  }
  const size_t words = (m + 63) / 64;
  if (inner) {
    for (size_t i = 0; i < count * words; ++i) out[i] = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < m; ++j) out[i * words + j / 64] |= (node[i * m + j][0] & 1) << (j % 64);
    }
    return;
  }
  size_t first_node = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t b = 0; b < blocks; ++b) {
      const uint64_t block = range[i].block + b;
      next[i * blocks + b] = node[first_node + size_t((block >> 1) - range[i].First(0))] ^ Seed { (block & 1) << 1, 0 };
    }
    first_node += range[i].Count(0);
  }
  HashSeeds(tile_key, next, h, count * blocks);
  for (size_t i = 0; i < count; ++i) {
    Seed* const share = h + i * blocks;
    for (size_t b = 0; b < blocks; ++b) {
      const size_t leaf = size_t(depth) + ((range[i].block + b) & 1);
      share[b] ^= ControlOf(next[i * blocks + b]) & LoadSeed(t.cw + 16 * (leaf * t.keys + k0 + i));
    }
    WriteParities(reinterpret_cast<uint64_t*>(share), 2 * blocks, size_t(lo[i] << level) & 127, level, m,
                  out + i * words);
  }
}

void DpfWindowTile(const uint8_t* tile_key, const internal::DpfTile& t, int level, const uint64_t* lo, size_t m,
                   Seed* scratch, uint64_t* out) {
  const size_t step = internal::WindowKeys(level < 8 ? m << level : m << 7), words = (m + 63) / 64;
  for (size_t k0 = 0; k0 < t.keys; k0 += step) {
    const size_t count = t.keys - k0 < step ? t.keys - k0 : step;
    WindowOf(tile_key, t, k0, count, level, lo + k0, m, scratch, out + k0 * words);
  }
}

constexpr size_t kDenseStep = 4 * sizeof(Vec) / 8;  // words of four vectors

constexpr size_t kFullStep = size_t{kLanes} * kStep;
static_assert(kFullStep <= internal::kFullKeys);

// Expands the whole domains of `count` <= kFullStep keys from key k0 on, one key per lane. All nodes of a level are
// walked together, node after node. So the upper levels with few nodes fill the pipeline as well. A key takes 2^(n-8) -
// 1 + 2^(n-7) AES calls.
void DpfFullTile(const uint8_t* tile_key, const internal::DpfTile& t, size_t k0, size_t count, uint8_t* scratch,
                 uint64_t* out) {
  const RoundKeys keys(tile_key);
  const int depth = t.n - 8;
  int log = 0;  // a node has 2^log vectors, so that a step begins with a node or holds whole ones
  while (kLanes << log < int(count)) ++log;
  const size_t side = size_t{1} << log;
  const size_t nodes = side << depth, words = size_t{4} << depth, bytes = 16 * count;
  Vec *cur = reinterpret_cast<Vec*>(scratch), *next = cur + nodes + 2 * kStep;
  // A block of each key for every node of a step. Each step reads it anew from this memory, which is wiped. If it were
  // kept in registers over all steps, it would be spilled and stay on the stack (tests/machine/memory_test.py).
  struct OfKeys {
    alignas(64) uint8_t b[kStep * sizeof(Vec)] = {};
    ~OfKeys() { Wipe(b, sizeof b); }
    Vec At(size_t w) const { return Load(b + w * sizeof(Vec)); }
  } cw, other;
  auto step = [] { asm volatile("" : : : "memory"); };
  auto load = [&](const uint8_t* from, OfKeys* to) {
    __builtin_memcpy(to->b, from, bytes);
    for (size_t w = side; w < kStep; ++w)
      __builtin_memcpy(to->b + w * sizeof(Vec), to->b + (w & (side - 1)) * sizeof(Vec), sizeof(Vec));
  };
  auto words_of = [&](int level) { return t.cw + 16 * (size_t(level) * t.keys + k0); };
  Vec in[kStep], add[kStep], h[kStep];
  load(t.root + 16 * k0, &cw);
  for (size_t w = 0; w < kStep; ++w) cur[w] = AsRoot(cw.At(w), t.party);
  for (int d = 0; d < depth; ++d) {
    load(words_of(d), &cw);
    for (size_t j = 0; j < side << d; j += kStep) {
      step();
#pragma GCC unroll 8
      for (size_t w = 0; w < kStep; ++w) {
        in[w] = cur[j + w];
        add[w] = Control(in[w]) & cw.At(w);
      }
      Hash(keys, in, add, h);
#pragma GCC unroll 8
      for (size_t w = 0; w < kStep; ++w) {
        Vec* const child = next + 2 * j + w + (w & -side);
        child[0] = h[w];
        child[side] = h[w] ^ in[w];
      }
    }
    Vec* const spare = cur;
    cur = next;
    next = spare;
  }
  // The four leaf blocks of two nodes form one cache line per key.
  constexpr size_t kLines = kStep / 4;
  const Vec tweak = Lanes(2, 0);
  load(words_of(depth), &cw);
  load(words_of(depth + 1), &other);
  for (size_t node = 0; node < size_t{1} << depth; node += 2) {
    for (size_t v = 0; v < side; v += kLines) {
      step();
#pragma GCC unroll 8
      for (size_t w = 0; w < kStep; ++w) {
        const size_t of = v + w / 4;
        const Vec s = cur[(node + w % 4 / 2) * side + of];
        in[w] = w % 2 ? s ^ tweak : s;
        add[w] = Control(s) & (w % 2 ? other : cw).At(of);
      }
      Hash(keys, in, add, h);
#pragma GCC unroll 2
      for (size_t q = 0; q < kLines; ++q) {
        const size_t key = (v + q) * kLanes;
        uint64_t* const to = out + key * words + 4 * node;
        if (depth > 0 && key + kLanes <= count) {
          ScatterLines(h + 4 * q, to, words);
          continue;
        }
        const uint8_t* const lanes = reinterpret_cast<const uint8_t*>(h + 4 * q);
        for (size_t l = 0; key + l < count && l < kLanes; ++l) {
          for (size_t w = 0; w < 4 && 2 * w < words; ++w) {
            __builtin_memcpy(to + l * words + 2 * w, lanes + w * sizeof(Vec) + 16 * l, 16);
          }
        }
      }
    }
  }
  Wipe(in, sizeof in);
  Wipe(add, sizeof add);
  Wipe(h, sizeof h);
}

// Sets out[q] to 64 bits from bit 64 q + shift of the quadwords x[0 .. count].
inline void Shifted(const uint64_t* x, size_t count, unsigned shift, uint64_t* out) {
  constexpr size_t kWords = sizeof(Vec) / 8;
  auto at = [](const uint64_t* p) { return Load(reinterpret_cast<const uint8_t*>(p)); };
  size_t q = 0;
  for (; q + kWords <= count; q += kWords) {
    Store(reinterpret_cast<uint8_t*>(out + q), at(x + q) >> shift | at(x + q + 1) << 1 << (63 - shift));
  }
  for (; q < count; ++q) out[q] = x[q] >> shift | x[q + 1] << 1 << (63 - shift);
}

// Copies a cyclic window of m bits from bit `lo` on. Writes whole words.
void CutWindow(const uint64_t* domain, size_t words, size_t lo, size_t m, uint64_t* out) {
  const size_t first = lo / 64, count = (m + 63) / 64;
  const unsigned shift = lo % 64;
  const size_t straight = words - first - 1 < count ? words - first - 1 : count;  // before the last word of the domain
  Shifted(domain + first, straight, shift, out);
  if (straight < count) {
    out[straight] = domain[words - 1] >> shift | domain[0] << 1 << (63 - shift);
    Shifted(domain, count - straight - 1, shift, out + straight + 1);
  }
  if (m % 64) out[count - 1] &= ~uint64_t{0} >> (64 - m % 64);
}

// Swaps the blocks of s x s bits beside the diagonal of a 64 x 64 bit matrix.
template <int s>
inline void SwapBlocks(uint64_t* x) {
  constexpr uint64_t kMask = ~uint64_t{0} / ((uint64_t{1} << s) + 1);
  for (int base = 0; base < 64; base += 2 * s) {
    for (int i = base; i < base + s; ++i) {
      const uint64_t t = (x[i] >> s ^ x[i + s]) & kMask;
      x[i] ^= t << s;
      x[i + s] ^= t;
    }
  }
}
void Transpose(uint64_t* x) {
  SwapBlocks<32>(x);
  SwapBlocks<16>(x);
  SwapBlocks<8>(x);
  SwapBlocks<4>(x);
  SwapBlocks<2>(x);
  SwapBlocks<1>(x);
}

uint64_t DenseWord(const uint64_t* bits, size_t words, size_t skip, const uint64_t* planes, size_t stride, int count,
                   uint64_t* spare) {
  // The domain is shifted once to the word boundaries of the planes; the planes stay in place.
  const size_t shift = skip % 64, end = (words + internal::kDenseSlack) / kDenseStep * kDenseStep;
  spare[0] = bits[0] << shift;
  for (size_t k = 1; k < words; ++k) spare[k] = bits[k] << shift | bits[k - 1] >> 1 >> (63 - shift);
  spare[words] = bits[words - 1] >> 1 >> (63 - shift);
  for (size_t k = words + 1; k < end; ++k) spare[k] = 0;
  uint64_t all = 0;
  for (int p = 0; p < count; ++p) {
    const uint64_t* const plane = planes + size_t(p) * stride + skip / 64;
    Vec sum[4] = {};
    for (size_t k = 0; k < end; k += kDenseStep) {
#pragma GCC unroll 4
      for (size_t q = 0; q < 4; ++q) {
        const size_t at = k + q * kDenseStep / 4;
        sum[q] ^=
            Load(reinterpret_cast<const uint8_t*>(spare + at)) & Load(reinterpret_cast<const uint8_t*>(plane + at));
      }
    }
    const Vec parity = Parity(sum[0] ^ sum[1] ^ sum[2] ^ sum[3]);
    uint64_t bit = 0;
    for (int l = 0; l < kLanes; ++l) bit ^= parity[2 * l] & 1;
    all |= bit << p;
  }
  return all;
}

}  // namespace
