// The comparison tree with values (Boyle et al., ePrint 2020/1392, figure 1), once for all variants, on the variant's
// vectors of seeds. The control bit is the lowest bit of a seed. The hash takes the seed without it, and a tweak.
// Tweaks 0 and 1 give the children, tweak 2 + q block q of a value. These are blocks of the left child. Those of the
// right child begin at 2 + blocks, or are the high half of block 0. Included inside a variant's namespace after its
// lanes, so it has no guard and no other includes.
#include "suf/fss/internal/dcf_bits.hpp"

namespace {

using internal::DcfShape;

constexpr int kHalf = kWide / 2;  // vectors of keys that are walked together
constexpr size_t kKeys = kGroup / 2;
constexpr int kPart = kStep / 2;  // of them in one hash call of EvalPoint, whose other half are their values

// Adds slot by slot.
template <bool kNarrow>
inline Vec Plus(Vec a, Vec b) {
  typedef uint32_t Slots __attribute__((vector_size(sizeof(Vec))));
  if constexpr (kNarrow) return (Vec)((Slots)a + (Slots)b);
  return a + b;
}
// Subtracts slot by slot.
template <bool kNarrow>
inline Vec Minus(Vec a, Vec b) {
  typedef uint32_t Slots __attribute__((vector_size(sizeof(Vec))));
  if constexpr (kNarrow) return (Vec)((Slots)a - (Slots)b);
  return a - b;
}
// Returns -x if `sign` is all ones, x if it is zero.
template <bool kNarrow>
inline Vec Turn(Vec x, Vec sign) {
  return Minus<kNarrow>(x ^ sign, sign);
}
// Numbers of up to 128 bits, a low and a high word each; the high words are zero if n <= 64.
struct WidePoints {
  Points low, high;
  void Set(size_t i, const uint64_t* x, size_t words) {
    low.x[i] = x[0];
    if (words > 1) high.x[i] = x[1];
  }
};
// Masks of one bit of all WidePoints.
template <class Bits>
struct WideBits {
  Bits low, high;
  explicit WideBits(const WidePoints& p) : low(p.low.x), high(p.high.x) {}
  Vec Mask(int w, int bit) const { return bit < 64 ? low.Mask(w, bit) : high.Mask(w, bit - 64); }
};
inline Vec Choose(Vec mask, Vec yes, Vec no) { return no ^ (mask & (yes ^ no)); }
inline Vec WithoutControl(Vec s) { return s & Lanes(~uint64_t{1}, ~uint64_t{0}); }

// Rows of working memory. A row holds one block of each of kKeys keys: a block of a level's values.
struct Values {
  uint8_t* p;
  uint8_t* Row(size_t r) const { return p + r * 16 * kKeys; }
  Vec At(size_t r, int w) const { return Load(Row(r) + 16 * kLanes * w); }
  void Set(size_t r, int w, Vec x) const { Store(Row(r) + 16 * kLanes * w, x); }
};
// Calls f(word number, address) for each word of key i in the payloads of `levels` levels from row r on.
template <bool kNarrow, class F>
inline void EachWord(const Values& values, const DcfShape& shape, size_t r, size_t i, int levels, F f) {
  constexpr int kSlots = kNarrow ? 4 : 2;
  uint8_t* place = values.Row(r) + 16 * i;
  for (int d = 0; d < levels; ++d) {
    for (int k = 0; k < shape.words; k += kSlots, place += 16 * kKeys) {
      const int now = shape.words - k < kSlots ? shape.words - k : kSlots;
      for (int s = 0; s < now; ++s) f(k + s, place + s * (16 / kSlots));
    }
  }
}
template <bool kNarrow>
inline uint64_t Slot(const uint8_t* place) {
  uint64_t x = 0;
  __builtin_memcpy(&x, place, kNarrow ? 4 : 8);
  return x;
}
template <bool kNarrow>
inline void SetSlot(uint8_t* place, uint64_t x) {
  __builtin_memcpy(place, &x, kNarrow ? 4 : 8);
}

// Loads the roots of kHalf vectors of keys and sets their control bit to the party.
inline void Start(const uint8_t* root, size_t count, int party, Vec* s) {
  Vec all[kWide];
  Roots(root, count, party, all);
  for (int w = 0; w < kHalf; ++w) s[w] = all[w];
  Wipe(all, sizeof all);
}

// Generates `count` <= kKeys keys for both parties in step. Party 1 is in the upper half of s.
template <bool kNarrow>
void GenGroup(const RoundKeys& keys, const DcfShape& shape, const uint64_t* alpha, const uint64_t* beta,
              size_t beta_stride, const uint8_t* root0, const uint8_t* root1, size_t count, uint8_t* scratch,
              uint8_t* key) {
  const int n = shape.n, blocks = shape.blocks();
  const size_t key_bytes = shape.key_bytes(), beta_row = size_t(n + 1) * size_t(blocks);
  const size_t sum_row = beta_row + size_t(blocks);
  const Values values{scratch};
  const Vec none[kStep] = {}, one = Lanes(1, 0);
  WidePoints points;
  for (size_t i = 0; i < count; ++i) points.Set(i, alpha + i * shape.number(), shape.number());
  const WideBits<SecretBits> path(points);
  __builtin_memset(values.Row(beta_row), 0, size_t(blocks) * 32 * kKeys);
  for (size_t i = 0; i < count; ++i) {
    EachWord<kNarrow>(values, shape, beta_row, i, 1,
                      [&](int k, uint8_t* place) { SetSlot<kNarrow>(place, beta[size_t(k) * beta_stride + i]); });
  }
  Vec s[kWide], left[kWide], right[kWide], lefts[kHalf] = {}, rights[kHalf] = {};
  Start(root0, count, 0, s);
  Start(root1, count, 1, s + kHalf);
  auto hash = [&](uint64_t tweak, Vec(&out)[kWide]) {
#pragma GCC unroll 8
    for (int part = 0; part < kWide; part += kStep) {
      Vec in[kStep];
      for (int i = 0; i < kStep; ++i) in[i] = WithoutControl(s[part + i]) ^ Lanes(tweak, 0);
      Hash(keys, in, none, in);
      for (int i = 0; i < kStep; ++i) out[part + i] = in[i];
    }
  };
  for (int d = 0; d < n; ++d) {
    for (int q = 0; q < blocks; ++q) {
      hash(uint64_t(2 + q), left);
      if (shape.shared()) {
        for (int w = 0; w < kWide; ++w) right[w] = Swap(left[w]);
      } else {
        hash(uint64_t(2 + blocks + q), right);
      }
      for (int w = 0; w < kHalf; ++w) {
        const Vec a = path.Mask(w, n - 1 - d), sign = Control(s[w + kHalf]);
        const Vec lose0 = Choose(a, left[w], right[w]), lose1 = Choose(a, left[w + kHalf], right[w + kHalf]);
        const Vec keep0 = lose0 ^ left[w] ^ right[w], keep1 = lose1 ^ left[w + kHalf] ^ right[w + kHalf];
        // V_CW = (-1)^t1 (v1^Lose - v0^Lose - V_alpha + beta if Lose = L); V_alpha += v0^Keep - v1^Keep + (-1)^t1 V_CW
        const Vec sum = values.At(sum_row + size_t(q), w);
        const Vec more = Plus<kNarrow>(Minus<kNarrow>(lose1, lose0), a & values.At(beta_row + size_t(q), w));
        values.Set(size_t(d * blocks + q), w, Turn<kNarrow>(Minus<kNarrow>(more, sum), sign));
        values.Set(sum_row + size_t(q), w, Plus<kNarrow>(more, Minus<kNarrow>(keep0, keep1)));
      }
    }
    hash(0, left);
    hash(1, right);
    for (int w = 0; w < kHalf; ++w) {
      const Vec a = path.Mask(w, n - 1 - d);
      const Vec l = left[w] ^ left[w + kHalf], r = right[w] ^ right[w + kHalf];
      // s_CW = s0^Lose ^ s1^Lose; tL_CW = tL0 ^ tL1 ^ alpha_d ^ 1, tR_CW = tR0 ^ tR1 ^ alpha_d
      const Vec seed = WithoutControl(Choose(a, l, r)), tl = (l ^ a ^ one) & one, tr = (r ^ a) & one;
      lefts[w] |= d < 64 ? tl << d : Swap(tl) << (d - 64);
      rights[w] |= d < 64 ? tr << d : Swap(tr) << (d - 64);
      const Vec correct = seed | Choose(a, tr, tl);
      for (int p = 0; p < 2; ++p) {
        const int v = w + p * kHalf;
        s[v] = Choose(a, right[v], left[v]) ^ (Control(s[v]) & correct);
      }
      alignas(64) uint8_t lanes[sizeof(Vec)];
      Store(lanes, seed);
      for (size_t i = size_t(w) * kLanes; i < count && i < size_t(w + 1) * kLanes; ++i) {
        __builtin_memcpy(key + i * key_bytes + 16 * size_t(d), lanes + 16 * (i % kLanes), 16);
      }
      Wipe(lanes, sizeof lanes);
    }
  }
  for (int q = 0; q < blocks; ++q) {  // CW^(n+1) = (-1)^t1 (s1 - s0 - V_alpha)
    hash(uint64_t(2 + q), left);
    for (int w = 0; w < kHalf; ++w) {
      const Vec last = Minus<kNarrow>(Minus<kNarrow>(left[w + kHalf], left[w]), values.At(sum_row + size_t(q), w));
      values.Set(size_t(n * blocks + q), w, Turn<kNarrow>(last, Control(s[w + kHalf])));
    }
  }
  for (size_t i = 0; i < count; ++i) {
    BitWriter to(key + i * key_bytes + 16 * size_t(n));
    for (int d = 0; d < n; d += 32) {
      const size_t word = i % kLanes * 2 + size_t(d / 64);
      const uint64_t l = lefts[i / kLanes][word] >> d % 64, r = rights[i / kLanes][word] >> d % 64;
      to.Put(ToEven(l) | ToEven(r) << 1, n - d < 32 ? 2 * (n - d) : 64);
    }
    const uint64_t mask = LowOnes(shape.bits);
    EachWord<kNarrow>(values, shape, 0, i, n + 1,
                      [&, bits = shape.bits](int, const uint8_t* place) { to.Put(Slot<kNarrow>(place) & mask, bits); });
    to.End();
  }
  Wipe(s, sizeof s);
  Wipe(left, sizeof left);
  Wipe(right, sizeof right);
}

// The bit strings of kHalf vectors of keys, which are read at the same place. A short group repeats its last key.
struct KeyBits {
  const uint8_t* at[kKeys];
  size_t words;  // 8-byte words per key
  KeyBits(const uint8_t* key, size_t key_bytes, size_t count) : words(key_bytes / 8) {
    for (size_t i = 0; i < kKeys; ++i) at[i] = key + (i < count ? i : count - 1) * key_bytes;
  }
  Vec Block(int w, int number) const { return Gather(at + w * kLanes, 16 * size_t(number)); }
  // Loads 64 bits from bit `from` of each key of kPart vectors into the low halves. If a key ends before, the bits
  // beyond its end are arbitrary.
  void From(int part, size_t from, Vec (&x)[kPart]) const {
    const size_t shift = from % 64, word = from / 64;
    const bool last = word + 1 == words;
#pragma GCC unroll 8
    for (int i = 0; i < kPart; ++i) x[i] = Gather(at + (part + i) * kLanes, 8 * (last ? word - 1 : word));
    if (last) {
      for (int i = 0; i < kPart; ++i) x[i] = Swap(x[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kPart; ++i) x[i] = x[i] >> shift | Swap(x[i]) << 1 << (63 - shift);
  }
  // Loads the words in block q of the payloads that begin at bit `from` into their slots. Bits above a word are
  // arbitrary.
  template <bool kNarrow>
  void Payload(const DcfShape& shape, int part, size_t from, int q, Vec (&x)[kPart]) const {
    constexpr int kSlots = kNarrow ? 4 : 2;
    const int now = shape.words - q * kSlots;
    const size_t bits = size_t(shape.bits), first = from + size_t(q * kSlots) * bits;
    const Vec slot = Vec{} + 0xffffffff, low = Lanes(~uint64_t{0}, 0);
    From(part, first, x);
    Vec more[kPart], high[kPart];
    if (kNarrow && now > 1) {
      From(part, first + bits, more);
      for (int i = 0; i < kPart; ++i) x[i] = (x[i] & slot) | more[i] << 32;
    }
    if (now <= kSlots / 2) return;
    From(part, first + size_t(kSlots / 2) * bits, high);
    if (kNarrow && now > 3) {
      From(part, first + 3 * bits, more);
      for (int i = 0; i < kPart; ++i) high[i] = (high[i] & slot) | more[i] << 32;
    }
    for (int i = 0; i < kPart; ++i) x[i] = Choose(low, x[i], Swap(high[i]));
  }
};

// A key's control bits, two words each. Bit n - 1 - d of `left` is the left control bit of level d. The same bit of
// `differ` says whether the right control bit is another.
struct Controls {
  uint64_t left[2], differ[2];
};
// Extracts the control bits of a key of `words` 8-byte words.
inline Controls ControlBits(const uint8_t* key, size_t words, int n) {
  BitReader from(key, words, 128 * size_t(n));
  uint64_t l[2] = {}, r[2] = {};
  for (int d = 0; d < n; d += 32) {
    const uint64_t both = from.Take(n - d < 32 ? 2 * (n - d) : 64);
    l[d / 64] |= EvenBits(both) << d % 64;
    r[d / 64] |= EvenBits(both >> 1) << d % 64;
  }
  auto turn = [n](uint64_t low, uint64_t high, uint64_t* to) {
    const unsigned __int128 all = static_cast<unsigned __int128>(Reverse(low)) << 64 | Reverse(high);
    to[0] = uint64_t(all >> (128 - n));
    to[1] = uint64_t(all >> (128 - n) >> 64);
  };
  Controls c;
  turn(l[0], l[1], c.left);
  turn(l[0] ^ r[0], l[1] ^ r[1], c.differ);
  return c;
}

// The sums of the values on the paths of a group, V += v^(x_d) + t V_CW.
template <bool kNarrow>
struct Payloads {
  const RoundKeys& keys;
  const DcfShape& shape;
  const KeyBits& bits;
  Values sums;  // one row per block

  // Loads V_CW of level d, block q.
  void Correction(int d, int part, int q, Vec (&c)[kPart]) const {
    const size_t payload = size_t(shape.words) * size_t(shape.bits);
    bits.template Payload<kNarrow>(shape, part, shape.values_at() + size_t(d) * payload, q, c);
  }
  static Vec More(Vec before, Vec value, Vec control, Vec c) {
    return Plus<kNarrow>(Plus<kNarrow>(before, value), control & c);
  }
  // Adds the blocks after the first. `base` are the seeds without their control bits.
  void AddOtherBlocks(int d, int part, const Vec (&base)[kPart], const Vec (&turn)[kPart],
                      const Vec (&control)[kPart]) const {
    const int blocks = shape.blocks();
    const Vec none[kPart] = {};
    for (int q = 1; q < blocks; ++q) {
      Vec in[kPart], c[kPart];
      const Vec left = Lanes(uint64_t(2 + q), 0), right = Lanes(uint64_t(2 + blocks + q), 0);
      for (int i = 0; i < kPart; ++i) in[i] = base[i] ^ Choose(turn[i], right, left);
      Hash(keys, in, none, in);
      Correction(d, part, q, c);
      for (int i = 0; i < kPart; ++i) {
        const Vec before = sums.At(size_t(q), part + i);
        sums.Set(size_t(q), part + i, More(before, in[i], control[i], c[i]));
      }
    }
  }
};

// Evaluates one point of each key, from seeds s. `controls` holds the corrections of the control bits along the paths.
// A hash call takes the seeds of kPart vectors of keys and the first blocks of their values.
template <bool kNarrow>
inline void EvalPoint(const Payloads<kNarrow>& payloads, const WidePoints& points, const WidePoints& controls,
                      Vec (&s)[kHalf]) {
  const int n = payloads.shape.n, blocks = payloads.shape.blocks();
  const bool shared = payloads.shape.shared();
  const Vec one = Lanes(1, 0), first = Lanes(2, 0), aside = Lanes(shared ? 0 : uint64_t(2 ^ (2 + blocks)), 0);
  const WideBits<PublicBits> path(points);
  Vec sum[kHalf] = {}, way[2 * kHalf];
  for (int w = 0; w < kHalf; ++w) {
    way[w] = controls.low.At(w);
    way[w + kHalf] = controls.high.At(w);
  }
  if (blocks > 1) __builtin_memset(payloads.sums.Row(0), 0, size_t(blocks) * 16 * kKeys);
  for (int d = 0; d < n; ++d) {
    const int bit = n - 1 - d;
    const Vec* const ways = bit < 64 ? way : way + kHalf;
#pragma GCC unroll 8
    for (int part = 0; part < kHalf; part += kPart) {
      Vec in[kStep], add[kStep], base[kPart], turn[kPart], control[kPart], c[kPart];
#pragma GCC unroll 8
      for (int i = 0; i < kPart; ++i) {
        const int w = part + i;
        turn[i] = path.Mask(w, bit);
        control[i] = Control(s[w]);
        base[i] = WithoutControl(s[w]);
        in[i] = base[i] ^ (turn[i] & one);
        in[i + kPart] = base[i] ^ first ^ (turn[i] & aside);
        add[i] = control[i] & (payloads.bits.Block(w, d) ^ (ways[w] >> bit % 64 & one));
        add[i + kPart] = Vec{};
      }
      Hash(payloads.keys, in, add, in);
      payloads.Correction(d, part, 0, c);
#pragma GCC unroll 8
      for (int i = 0; i < kPart; ++i) {
        const int w = part + i;
        const Vec both = in[i + kPart], value = shared ? Choose(turn[i], Swap(both), both) : both;
        sum[w] = payloads.More(sum[w], value, control[i], c[i]);
        s[w] = in[i];
      }
      payloads.AddOtherBlocks(d, part, base, turn, control);
    }
  }
  const Vec none[kPart] = {};
  for (int part = 0; part < kHalf; part += kPart) {  // the values of the last seeds
    Vec in[kPart], base[kPart], turn[kPart] = {}, control[kPart], c[kPart];
    for (int i = 0; i < kPart; ++i) {
      control[i] = Control(s[part + i]);
      base[i] = WithoutControl(s[part + i]);
      in[i] = base[i] ^ first;
    }
    Hash(payloads.keys, in, none, in);
    payloads.Correction(n, part, 0, c);
    for (int i = 0; i < kPart; ++i) {
      payloads.sums.Set(0, part + i, payloads.More(sum[part + i], in[i], control[i], c[i]));
    }
    payloads.AddOtherBlocks(n, part, base, turn, control);
  }
  Wipe(sum, sizeof sum);
  Wipe(way, sizeof way);
}

// Evaluates `count` <= kKeys keys at m points each.
template <bool kNarrow>
void EvalGroup(const RoundKeys& keys, const DcfShape& shape, int party, const uint8_t* root, const uint8_t* key,
               const uint64_t* x, size_t count, size_t m, uint8_t* scratch, size_t out_stride, uint64_t* out) {
  const KeyBits bits(key, shape.key_bytes(), count);
  const Payloads<kNarrow> payloads{keys, shape, bits, {scratch}};
  Controls corrections[kKeys];
  for (size_t i = 0; i < count; ++i) corrections[i] = ControlBits(bits.at[i], bits.words, shape.n);
  Vec start[kHalf], s[kHalf];
  Start(root, count, party, start);
  const uint64_t sign = uint64_t{0} - uint64_t(party), mask = LowOnes(shape.bits);
  for (size_t j = 0; j < m; ++j) {
    WidePoints points, controls;
    for (size_t i = 0; i < count; ++i) {
      const Controls& c = corrections[i];
      points.Set(i, x + (i * m + j) * shape.number(), shape.number());
      controls.low.x[i] = c.left[0] ^ (points.low.x[i] & c.differ[0]);
      controls.high.x[i] = c.left[1] ^ (points.high.x[i] & c.differ[1]);
    }
    for (int w = 0; w < kHalf; ++w) s[w] = start[w];
    EvalPoint(payloads, points, controls, s);
    for (size_t i = 0; i < count; ++i) {
      EachWord<kNarrow>(payloads.sums, shape, 0, i, 1, [&](int k, const uint8_t* place) {
        out[(size_t(k) * m + j) * out_stride + i] = ((Slot<kNarrow>(place) ^ sign) - sign) & mask;
      });
    }
  }
  Wipe(start, sizeof start);
  Wipe(s, sizeof s);
  Wipe(corrections, sizeof corrections);
}

void DcfGenTile(const uint8_t* tile_key, const DcfShape& s, const uint64_t* alpha, const uint64_t* beta,
                size_t beta_stride, const uint8_t* root0, const uint8_t* root1, size_t count, uint8_t* scratch,
                uint8_t* key) {
  const RoundKeys keys(tile_key);
  for (size_t i = 0; i < count; i += kKeys) {
    const size_t now = count - i < kKeys ? count - i : kKeys;
    (s.narrow() ? GenGroup<true> : GenGroup<false>)(keys, s, alpha + i * s.number(), beta + i, beta_stride,
                                                    root0 + 16 * i, root1 + 16 * i, now, scratch,
                                                    key + i * s.key_bytes());
  }
}

void DcfEvalTile(const uint8_t* tile_key, const DcfShape& s, int party, const uint8_t* root, const uint8_t* key,
                 const uint64_t* x, size_t count, int m, uint8_t* scratch, size_t out_stride, uint64_t* out) {
  const RoundKeys keys(tile_key);
  for (size_t i = 0; i < count; i += kKeys) {
    const size_t now = count - i < kKeys ? count - i : kKeys;
    (s.narrow() ? EvalGroup<true> : EvalGroup<false>)(keys, s, party, root + 16 * i, key + i * s.key_bytes(),
                                                      x + i * size_t(m) * s.number(), now, size_t(m), scratch,
                                                      out_stride, out + i);
  }
}

}  // namespace
