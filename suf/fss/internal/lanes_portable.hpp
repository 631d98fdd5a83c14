// Vectors of seeds without AES instructions: one seed each, 8 in flight for the bit-sliced AES. Included inside a
// variant's namespace, so it has no guard.
#include "suf/fss/internal/aes_portable.hpp"

namespace {

typedef uint64_t Vec __attribute__((vector_size(16)));
constexpr int kLanes = 1, kWide = 8, kStep = 8;

struct RoundKeys {
  explicit RoundKeys(const uint8_t* round_keys) : bytes(round_keys) {}
  const uint8_t* bytes;
};

inline Vec Load(const uint8_t* p) {
  Vec x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
inline void Store(uint8_t* p, Vec x) { __builtin_memcpy(p, &x, sizeof x); }
// Loads the block at p[l] + at into lane l.
inline Vec Gather(const uint8_t* const* p, size_t at) { return Load(p[0] + at); }
// Stores lane l of four vectors, one after the other, at to[l stride].
inline void ScatterLines(const Vec* x, uint64_t* to, size_t) {
  for (size_t w = 0; w < 4; ++w) Store(reinterpret_cast<uint8_t*>(to + 2 * w), x[w]);
}
// Copies word l into both halves of lane l.
inline Vec Spread(const uint64_t* x) { return Vec{x[0], x[0]}; }
// Returns the lowest bit of each lane in both of its halves.
inline Vec LowBit(Vec x) { return __builtin_shufflevector(x, x, 0, 0) & 1; }
inline Vec Swap(Vec x) { return __builtin_shufflevector(x, x, 1, 0); }
// Returns all ones in each half whose bit i is set. The barrier keeps compilers from turning the mask back into a
// branch.
inline Vec BitMask(Vec x, int i) {
  x = x >> i & 1;
  asm("" : "+x"(x));
  return -x;
}

// Computes sigma(xL || xR) = (xL ^ xR) || xL, xL the high half.
inline Vec Sigma(Vec x) { return Swap(x) ^ (x & Vec{0, ~uint64_t{0}}); }
// Returns the block that Rounds starts with, for a hash with sigma(x) = s.
inline Vec First(const RoundKeys&, Vec s) { return s; }
// Returns the block that Rounds adds at its end, for a hash with sigma(x) = s.
inline Vec Last(const RoundKeys&, Vec s) { return s; }
// Returns First(s) ^ Last(s).
inline Vec Rest(const RoundKeys&) { return Vec{}; }
// Computes AES of `first` ^ `last`. It calls between(r) after each round r of 1 .. 9, or after all, for work that is
// done meanwhile.
template <int W, class F>
inline void Rounds(const RoundKeys& keys, const Vec (&first)[W], const Vec (&last)[W], Vec (&out)[W], F between) {
  Vec e[W];
  AesEncrypt(keys.bytes, reinterpret_cast<const uint8_t*>(first), reinterpret_cast<uint8_t*>(e), W);
  for (int i = 0; i < W; ++i) out[i] = e[i] ^ last[i];
  for (int r = 1; r < 10; ++r) between(r);
}
// Computes H(in) ^ add with H(x) = AES(sigma(x)) ^ sigma(x).
template <int W>
inline void Hash(const RoundKeys& keys, const Vec (&in)[W], const Vec (&add)[W], Vec (&out)[W]) {
  Vec first[W], last[W];
  for (int i = 0; i < W; ++i) {
    const Vec s = Sigma(in[i]);
    first[i] = First(keys, s);
    last[i] = Last(keys, s) ^ add[i];
  }
  Rounds(keys, first, last, out, [](int) {});
}

}  // namespace

#include "suf/fss/internal/lanes_core.hpp"

namespace {
using PublicBits = SecretBits;  // masks of one bit of all points, which are public
}  // namespace
