// The half-tree, once for all variants, on the variant's vectors of seeds. It has key generation and the evaluations
// that follow one path per key. Words of a tile of r keys lie level by level: word d of key i at 16 (d r + i). The
// definition is testdata/known_answers.py (`Dpf.KnownAnswers`, `Dpf.KnownReads`). Included inside a variant's namespace
// after its lanes, so it has no guard and no includes of its own.
namespace {

// The correction words of kGroup consecutive keys of a tile. A short group is copied, because its unused lanes are read
// as well.
class KeyTile {
 public:
  // Takes `levels` words of each of `count` <= kGroup keys, from key k0 of a tile of `keys` keys.
  KeyTile(const uint8_t* cw, size_t keys, size_t k0, size_t count, int levels) {
    if (count == kGroup) {
      at_ = cw + 16 * k0;
      stride_ = 16 * keys;
      next_tile_ = stride_ * size_t(levels);
      return;
    }
    copied_ = size_t(levels) * 16 * kGroup;
    __builtin_memset(copy_, 0, copied_);
    for (size_t d = 0; d < size_t(levels); ++d) {
      __builtin_memcpy(copy_ + d * 16 * kGroup, cw + 16 * (d * keys + k0), 16 * count);
    }
    at_ = copy_;
    stride_ = 16 * kGroup;
  }
  KeyTile(const KeyTile&) = delete;
  ~KeyTile() { Wipe(copy_, copied_); }
  Vec At(int level, int w) const { return Load(at_ + size_t(level) * stride_ + 16 * kLanes * size_t(w)); }
  // Prefetches the same words of the next tile into the second-level cache. Two tiles exceed the first-level cache.
  void Fetch(int level) const {
    const uint8_t* const p = at_ + next_tile_ + size_t(level) * stride_;
    for (size_t b = 0; b < 16 * kGroup; b += 64) __builtin_prefetch(p + b, 0, 2);
  }

 private:
  const uint8_t* at_;
  size_t stride_, next_tile_ = 0, copied_ = 0;
  alignas(64) uint8_t copy_[58 * 16 * kGroup];
};

// Moves each seed `levels` levels down along its path. Bit top - d of `path` is the step at level d. With kBits, the
// control bits on the way are shifted into `bits` from below, except those of the last nodes.
template <bool kBits, class Path>
inline void Walk(const RoundKeys& keys, const KeyTile& group, int levels, int top, const Path& path,
                 Vec (&seeds)[kWide], Vec (&bits)[kWide]) {
  Vec s[kWide], way[kWide];  // copies that stay in registers
#pragma GCC unroll 16
  for (int w = 0; w < kWide; ++w) {
    s[w] = seeds[w];
    way[w] = Vec{};
  }
  for (int d = 0; d < levels; ++d) {
    group.Fetch(d);
#pragma GCC unroll 16
    for (int part = 0; part < kWide; part += kStep) {  // the work before AES in one part overlaps AES of the other
      Vec in[kStep], add[kStep];
#pragma GCC unroll 16
      for (int i = 0; i < kStep; ++i) {
        const int w = part + i;
        const Vec bit = LowBit(s[w]);
        if constexpr (kBits) way[w] += way[w] + bit;
        // The children are H(s) and H(s) ^ s, corrected if the control bit is set.
        in[i] = s[w];
        add[i] = (Mask(bit) & group.At(d, w)) ^ (path.Mask(w, top - d) & s[w]);
      }
      Hash(keys, in, add, in);
#pragma GCC unroll 16
      for (int i = 0; i < kStep; ++i) s[part + i] = in[i];
    }
  }
#pragma GCC unroll 16
  for (int w = 0; w < kWide; ++w) {
    seeds[w] = s[w];
    if constexpr (kBits) bits[w] = way[w];
  }
}

// Computes the leaf block on each path, in the half that bit 7 of the point selects.
// The tweaks are w_0 = 0 and w_1 = 2; they keep the low bit, which is the control bit.
template <class Bits>
inline void Leaf(const RoundKeys& keys, const KeyTile& group, int depth, const Bits& path, const Vec (&s)[kWide],
                 Vec (&leaf)[kWide]) {
  group.Fetch(depth);
  group.Fetch(depth + 1);
  for (int part = 0; part < kWide; part += kStep) {
    Vec in[kStep], add[kStep];
#pragma GCC unroll 16
    for (int i = 0; i < kStep; ++i) {
      const int w = part + i;
      const Vec right = path.Mask(w, 7), left = group.At(depth, w);
      in[i] = s[w] ^ (right & Lanes(2, 0));
      add[i] = Control(s[w]) & (left ^ (right & (left ^ group.At(depth + 1, w))));
    }
    Hash(keys, in, add, in);
    for (int i = 0; i < kStep; ++i) leaf[part + i] = in[i];
  }
}

// Sets bit 0 of each low half to the parity of its lane.
inline Vec Parity(Vec x) {
  x ^= Swap(x);
  for (int s = 32; s; s /= 2) x ^= x >> s;
  return x;
}

// Returns ones in bits 0 .. x mod 128 of each lane of 128 bits.
inline Vec UpTo(Vec x) {
  const Vec low = ~Vec{} >> (63 - (x & 63)), high = BitMask(x, 6), upper = Lanes(0, ~uint64_t{0});
  return (low & high) | (~upper & (low | high));
}
// Returns the 2^level ones of the aligned group of x mod 128, at their place in its half. It works on words. A vector
// shift by a secret that both halves share compiles to a shift by a register's count. Valgrind takes that for a leak.
inline uint64_t GroupIn64(uint64_t x, int level) {
  if (level >= 6) return ~uint64_t{0};
  const uint64_t size = uint64_t{1} << level;
  return ((uint64_t{1} << size) - 1) << (x & (64 - size));
}
// Keeps `group` in the half that bit 6 of x selects; a group of 128 bits stays in both halves.
inline Vec InHalf(Vec group, Vec x, int level) {
  const Vec upper = Lanes(0, ~uint64_t{0});
  return level == 7 ? group : group & ~(BitMask(x, 6) ^ upper);
}

// ORs bit 0 of each lane, shifted, into out[0], out[step], ..
inline void Put(const Vec (&y)[kWide], size_t count, int shift, size_t step, uint64_t* out) {
  alignas(64) uint64_t bits[2 * kGroup];
  for (int w = 0; w < kWide; ++w) Store(reinterpret_cast<uint8_t*>(bits + 2 * kLanes * w), y[w] & 1);
  for (size_t i = 0; i < count; ++i) out[i * step] |= bits[2 * i] << shift;
  Wipe(bits, sizeof bits);
}

inline uint64_t LowBits(int n) { return n < 64 ? ~(~uint64_t{0} << n) : ~uint64_t{0}; }

// Computes the share bit at position x of level `level`. x may be secret: selection is by masks.
void DpfPointTile(const uint8_t* tile_key, const internal::DpfTile& t, int level, const uint64_t* x, uint64_t* out) {
  const RoundKeys keys(tile_key);
  const int depth = t.n - (level < 8 ? 8 : level), shift = level < 8 ? level : 0;
  for (size_t k0 = 0; k0 < t.keys; k0 += kGroup) {
    const size_t count = t.keys - k0 < kGroup ? t.keys - k0 : kGroup;
    const KeyTile group(t.cw, t.keys, k0, count, t.n - 6);
    Points points, groups;
    for (size_t i = 0; i < count; ++i) {
      points.x[i] = x[k0 + i] << shift;
      groups.x[i] = GroupIn64(points.x[i], shift);
      out[k0 + i] = 0;
    }
    const SecretBits path(points.x);
    Vec s[kWide], y[kWide];
    Roots(t.root + 16 * k0, count, t.party, s);
    Walk<false>(keys, group, depth, level < 8 ? t.n - 1 : depth - 1, path, s, y);
    if (level < 8) {
      Leaf(keys, group, depth, path, s, y);
      for (int w = 0; w < kWide; ++w) s[w] = Parity(y[w] & InHalf(groups.At(w), points.At(w), level));
    }
    Put(s, count, 0, 1, out + k0);
    Wipe(s, sizeof s);
    Wipe(y, sizeof y);
  }
}

// Computes shares of 1[x < alpha] at m public points per key. With t_d the control bit at depth d of x's path, a share
// of "alpha is in the right sibling" is t_d ^ t_(d+1). Over all levels at which x goes left, the sum telescopes to the
// t_d at which the path turns. The leaf block adds the rest. The loop computes 1[alpha <= x], which one party inverts.
void DpfParityTile(const uint8_t* tile_key, const internal::DpfTile& t, const uint64_t* x, int m, uint64_t* out) {
  const RoundKeys keys(tile_key);
  const int depth = t.n - 8;
  const size_t words = size_t(m + 63) / 64;
  for (size_t i = 0; i < t.keys * words; ++i) out[i] = 0;
  for (size_t k0 = 0; k0 < t.keys; k0 += kGroup) {
    const size_t count = t.keys - k0 < kGroup ? t.keys - k0 : kGroup;
    const KeyTile group(t.cw, t.keys, k0, count, t.n - 6);
    Vec root[kWide], s[kWide], bits[kWide], leaf[kWide];
    Roots(t.root + 16 * k0, count, t.party, root);
    for (size_t j = 0; j < size_t(m); ++j) {
      Points points;
      for (size_t i = 0; i < count; ++i) points.x[i] = x[(k0 + i) * size_t(m) + j] & LowBits(t.n);
      const PublicBits path(points.x);
      for (int w = 0; w < kWide; ++w) s[w] = root[w];
      Walk<true>(keys, group, depth, t.n - 1, path, s, bits);
      Leaf(keys, group, depth, path, s, leaf);
      for (int w = 0; w < kWide; ++w) {
        // Bit d from above of x >> 7 ^ x >> 8 says whether the path turns at depth d. Only the low half has it.
        const Vec at = points.At(w), turns = (at >> 7 ^ at >> 8) & Lanes(~uint64_t{0}, 0);
        const Vec below = UpTo(at) ^ path.Mask(w, 7);
        s[w] = Parity((leaf[w] & below) ^ ((bits[w] + bits[w] + LowBit(s[w])) & turns)) ^ Lanes(uint64_t(t.party), 0);
      }
      Put(s, count, int(j % 64), words, out + k0 * words + j / 64);
    }
    Wipe(root, sizeof root);
    Wipe(s, sizeof s);
    Wipe(bits, sizeof bits);
    Wipe(leaf, sizeof leaf);
  }
}

// Key generation of kStep vectors of keys, both parties in step. On alpha's path the parties' seeds and control bits
// differ by Delta at every level. So party 1's seed is party 0's XOR Delta. The vectors form two halves. While one half
// is hashed, the other half's work after its hash runs between the rounds of AES. A hash stores only two blocks. The
// first whitening of a seed also serves as its last one, and rest_ corrects the difference.
class Twins {
 public:
  Twins(const RoundKeys& keys, const Vec* root0, const Vec* root1) : keys_(keys), rest_(Rest(keys)) {
    for (int w = 0; w < kStep; ++w) {
      s_[w] = root0[w];
      delta_[w] = root0[w] ^ root1[w];
      turned_[w] = Sigma(delta_[w]);
      Ready(w, Vec{});
    }
  }
  Twins(const Twins&) = delete;
  ~Twins() {
    Wipe(s_, sizeof s_);
    Wipe(delta_, sizeof delta_);
    Wipe(turned_, sizeof turned_);
    Wipe(x_, sizeof x_);
    Wipe(h_, sizeof h_);
  }

  // Prepares vector w's next hash, of its seeds with a tweak.
  void Ready(int w, Vec tweak) {
    const Vec x = First(keys_, Sigma(s_[w] ^ tweak));
    Zero(x_, w) = x;
    One(x_, w) = x ^ turned_[w];
  }
  // Hashes a half and calls between(w) for each vector w of the other half.
  template <class F>
  void HashHalf(int half, F between) {
    Rounds(keys_, x_[half], x_[half], h_[half], [&](int r) {
      if (r % 2 && r / 2 < kHalfStep) between((1 - half) * kHalfStep + r / 2);
    });
  }
  // Returns H(s_0) ^ H(s_1).
  Vec Both(int w) { return Zero(h_, w) ^ One(h_, w); }
  // Moves vector w down a level and returns its correction word.
  Vec Down(int w, Vec right) {
    // CW = H(s_0) ^ H(s_1) ^ (1 - alpha_d) Delta. The children are H(s) and H(s) ^ s, corrected if the control bit is
    // set.
    const Vec c = Both(w) ^ (~right & delta_[w]);
    s_[w] = Zero(h_, w) ^ rest_ ^ (right & s_[w]) ^ (Control(s_[w]) & c);
    Ready(w, Vec{});
    return c;
  }

 private:
  static constexpr int kHalfStep = kStep / 2;
  using Halves = Vec[2][kStep];
  static Vec& Zero(Halves& x, int w) { return x[w / kHalfStep][w % kHalfStep]; }
  static Vec& One(Halves& x, int w) { return x[w / kHalfStep][w % kHalfStep + kHalfStep]; }
  const RoundKeys& keys_;
  const Vec rest_;
  Vec s_[kStep], delta_[kStep], turned_[kStep];
  Halves x_, h_;
};

// Generates a tile of keys, both parties in step.
void DpfGenTile(const uint8_t* tile_key, int n, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1,
                size_t keys_count, uint8_t* cw) {
  constexpr size_t kKeys = size_t(kLanes) * kStep;
  const auto nothing = [](int) {};
  const RoundKeys keys(tile_key);
  const int depth = n - 8;
  alignas(64) uint8_t spare[16 * kKeys];
  for (size_t k0 = 0; k0 < keys_count; k0 += kKeys) {
    const size_t count = keys_count - k0 < kKeys ? keys_count - k0 : kKeys;
    Vec root[2][kWide];
    Roots(root0 + 16 * k0, count, 0, root[0]);
    Roots(root1 + 16 * k0, count, 1, root[1]);
    Points points, ones;
    for (size_t i = 0; i < count; ++i) {
      points.x[i] = alpha[k0 + i];
      ones.x[i] = GroupIn64(alpha[k0 + i], 0);
    }
    const SecretBits path(points.x);
    Twins twins(keys, root[0], root[1]);
    // A row of fewer keys than the vectors hold is made in `spare`.
    uint8_t* to = cw + 16 * k0;
    const auto row = [&] { return count == kKeys ? to : spare; };
    const auto next = [&] {
      if (count < kKeys) __builtin_memcpy(to, spare, 16 * count);
      to += 16 * keys_count;
    };
    twins.HashHalf(0, nothing);
    for (int d = 0; d < depth; ++d, next()) {
      const auto down = [&, at = row()](int w) { Store(at + 16 * kLanes * w, twins.Down(w, path.Mask(w, n - 1 - d))); };
      twins.HashHalf(1, down);
      twins.HashHalf(0, down);
    }
    twins.HashHalf(1, nothing);
    for (int half = 0; half < 2; ++half, next()) {
      for (int w = 0; w < kStep; ++w) {
        const Vec here = half ? path.Mask(w, 7) : ~path.Mask(w, 7);
        Store(row() + 16 * kLanes * w, twins.Both(w) ^ (here & InHalf(ones.At(w), points.At(w), 0)));
        twins.Ready(w, Lanes(2, 0));
      }
      if (!half) {
        twins.HashHalf(0, nothing);
        twins.HashHalf(1, nothing);
      }
    }
    Wipe(root, sizeof root);
  }
  Wipe(spare, sizeof spare);
}

}  // namespace
