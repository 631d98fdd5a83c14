// The half-tree, once for all variants: AesHash is the variant's, the rest is arithmetic on pairs of quadwords.
// Included inside a variant's namespace: no guard, no include of its own.
namespace {

using internal::Seed;

// Walk: the variant's; takes the seed node[i] of `count` keys straight down at most `levels` levels along path[i] (bit
// 0 is the last level's) and returns the levels walked.
inline int Walk(const uint8_t* tile_key, const uint8_t* cw, size_t key_bytes, const uint64_t* path, int levels,
                size_t count, Seed* node);

// CtMask: all ones where the low bit of x is set; the barrier keeps compilers from turning it back into a branch.
inline Seed CtMask(uint64_t x) {
  Seed m = -(Seed{x, x} & 1);
  asm("" : "+x"(m));
  return m;
}
// Control: the mask of a seed's control bit, its lowest.
inline Seed Control(Seed s) {
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
  Seed s = LoadSeed(p);
  return (s & Seed{~uint64_t{1}, ~uint64_t{0}}) | Seed{uint64_t(party), 0};
}
inline void HashSeeds(const uint8_t* tile_key, const Seed* in, Seed* out, size_t n) {
  AesHash(tile_key, reinterpret_cast<const uint8_t*>(in), reinterpret_cast<uint8_t*>(out), n);
}
// Tweak: w_0 = 0, w_1 = 2; the low bit, which is the control bit, stays.
inline Seed Tweak(Seed s, uint64_t leaf) {
  return s ^ Seed { leaf << 1, 0 };
}

void DpfGenTile(const uint8_t* tile_key, int n, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1,
                size_t count, uint8_t* cw) {
  const int depth = n - 8;
  const size_t key_bytes = DpfKeyBytes(n);
  Seed seeds[2 * kDpfTile], x[2 * kDpfTile], h[2 * kDpfTile];
  Seed *s0 = seeds, *s1 = seeds + count, *h0 = h, *h1 = h + count;
  for (size_t i = 0; i < count; ++i) s0[i] = Root(root0 + 16 * i, 0), s1[i] = Root(root1 + 16 * i, 1);
  for (int d = 0; d < depth; ++d) {
    HashSeeds(tile_key, seeds, h, 2 * count);
    for (size_t i = 0; i < count; ++i) {
      const Seed right = CtMask(alpha[i] >> (n - 1 - d)), t0 = Control(s0[i]), t1 = Control(s1[i]);
      // CW = H(s_0) ^ H(s_1) ^ (1 - alpha_d) Delta; children H(s) and H(s) ^ s, corrected where the control bit is set
      const Seed c = h0[i] ^ h1[i] ^ (~right & (s0[i] ^ s1[i]));
      s0[i] = h0[i] ^ (right & s0[i]) ^ (t0 & c);
      s1[i] = h1[i] ^ (right & s1[i]) ^ (t1 & c);
      __builtin_memcpy(cw + i * key_bytes + 16 * size_t(d), &c, 16);
    }
  }
  for (uint64_t leaf = 0; leaf < 2; ++leaf) {
    for (size_t i = 0; i < 2 * count; ++i) x[i] = Tweak(seeds[i], leaf);
    HashSeeds(tile_key, x, h, 2 * count);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t one = uint64_t{1} << (alpha[i] & 63);
      const Seed high = CtMask(alpha[i] >> 6) ^ Seed { ~uint64_t{0}, 0 }, here = CtMask((alpha[i] >> 7) ^ leaf ^ 1);
      const Seed c = h0[i] ^ h1[i] ^ (here & high & Seed{one, one});
      __builtin_memcpy(cw + i * key_bytes + 16 * (size_t(depth) + leaf), &c, 16);
    }
  }
  Wipe(seeds, sizeof seeds), Wipe(x, sizeof x), Wipe(h, sizeof h);
}

// Word: quadword k of blocks in a row.
inline uint64_t Word(const Seed* s, size_t k) { return s[k / 2][k % 2]; }

// Nodes of a tile at one level, key after key. Positions are taken without the reduction mod 2^n, so that a window is
// one range of nodes at every level; where it wraps around, level 0 holds the root twice.
struct Range {
  uint64_t first, last;  // leaf blocks of 128 bits
  uint64_t First(int above) const { return first >> 1 >> above; }
  size_t Count(int above) const { return size_t((last >> 1 >> above) - First(above)) + 1; }
};

// DpfPointTile: the window of length 1, where the position may be a secret: one path a key, selections by masks.
void DpfPointTile(const uint8_t* tile_key, int n, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
                  size_t count, uint64_t* out) {
  const int depth = n - 8;
  const size_t key_bytes = DpfKeyBytes(n);
  Seed node[kDpfTile], h[kDpfTile];
  uint64_t path[kDpfTile];
  for (size_t i = 0; i < count; ++i) {
    node[i] = Root(root + 16 * i, party), path[i] = (x[i] & (~uint64_t{0} >> (64 - n))) >> 8;
  }
  for (int d = depth ? Walk(tile_key, cw, key_bytes, path, depth, count, node) : 0; d < depth; ++d) {
    HashSeeds(tile_key, node, h, count);
    for (size_t i = 0; i < count; ++i) {
      const Seed c = LoadSeed(cw + i * key_bytes + 16 * size_t(d)), right = CtMask(path[i] >> (depth - 1 - d));
      node[i] = h[i] ^ (right & node[i]) ^ (Control(node[i]) & c);
    }
  }
  for (size_t i = 0; i < count; ++i) node[i] = Tweak(node[i], x[i] >> 7 & 1);
  HashSeeds(tile_key, node, h, count);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* leaves = cw + i * key_bytes + 16 * size_t(depth);
    const Seed left = LoadSeed(leaves), second = CtMask(x[i] >> 7), high = CtMask(x[i] >> 6);
    const Seed share = h[i] ^ (Control(node[i]) & (left ^ (second & (left ^ LoadSeed(leaves + 16)))));
    uint64_t word = (share[0] ^ (high[0] & (share[0] ^ share[1]))) >> (x[i] & 63);
    asm("" : "+r"(word));  // a shift, where compilers like a bit test, which valgrind takes for a load
    out[i] = word & 1;
  }
  Wipe(node, sizeof node), Wipe(h, sizeof h), Wipe(path, sizeof path);
}

void DpfWindowTile(const uint8_t* tile_key, int n, int party, const uint8_t* root, const uint8_t* cw,
                   const uint64_t* lo, size_t count, int m, Seed* scratch, uint64_t* out) {
  const int depth = n - 8;
  const size_t key_bytes = DpfKeyBytes(n), blocks = internal::LeafBlocks(m), room = kDpfTile * (blocks + 2);
  Seed *node = scratch, *next = scratch + room, *h = scratch + 2 * room;
  Range range[kDpfTile];
  uint64_t path[kDpfTile];
  size_t nodes = 0;
  int straight = depth;  // levels where each key has one node
  for (size_t i = 0; i < count; ++i) {
    const uint64_t at = lo[i] & (~uint64_t{0} >> (64 - n));
    range[i] = {at >> 7, (at >> 7) + blocks - 1};
    while (straight > 0 && range[i].Count(depth - straight) > 1) --straight;
    for (size_t j = range[i].Count(depth); j; --j) node[nodes++] = Root(root + 16 * i, party);
  }
  for (size_t i = 0; i < count; ++i) path[i] = range[i].First(depth - straight);
  for (int d = straight ? Walk(tile_key, cw, key_bytes, path, straight, count, node) : 0; d < depth; ++d) {
    HashSeeds(tile_key, node, h, nodes);
    const int above = depth - d - 1;  // levels below the children
    size_t child = 0, parent = 0;
    for (size_t i = 0; i < count; ++i) {
      const Seed c = LoadSeed(cw + i * key_bytes + 16 * size_t(d));
      const uint64_t base = range[i].First(above + 1), first = range[i].First(above);
      for (size_t j = 0, kids = range[i].Count(above); j < kids; ++j) {
        const size_t p = parent + size_t(((first + j) >> 1) - base);
        next[child++] = h[p] ^ (CtMask(first + j) & node[p]) ^ (Control(node[p]) & c);
      }
      parent += range[i].Count(above + 1);
    }
    Seed* t = node;
    node = next, next = t, nodes = child;
  }
  size_t first_node = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t b = 0; b < blocks; ++b) {
      const uint64_t block = range[i].first + b;
      next[i * blocks + b] = Tweak(node[first_node + size_t((block >> 1) - range[i].First(0))], block & 1);
    }
    first_node += range[i].Count(0);
  }
  HashSeeds(tile_key, next, h, count * blocks);
  const size_t words = size_t(m + 63) / 64;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* leaves = cw + i * key_bytes + 16 * size_t(depth);
    Seed* share = h + i * blocks;
    for (size_t b = 0; b < blocks; ++b) {
      const Seed c = LoadSeed(leaves + 16 * ((range[i].first + b) & 1));
      share[b] ^= Control(next[i * blocks + b]) & c;
    }
    auto word = [&](size_t k) { return k < 2 * blocks ? Word(share, k) : 0; };
    const size_t skip = size_t(lo[i] & 127) / 64, shift = size_t(lo[i]) & 63;
    for (size_t q = 0; q < words; ++q) {
      const size_t w = skip + q;
      uint64_t x = word(w) >> shift | word(w + 1) << 1 << (63 - shift);
      if (q + 1 == words && m % 64) x &= ~uint64_t{0} >> (64 - m % 64);
      out[i * words + q] = x;
    }
  }
}

}  // namespace
