// Groups of keys that are walked together, for DPFs and DCFs: kGroup keys in kWide vectors. Included by each variant's
// lanes, so it has no guard and no includes of its own.
namespace {

constexpr size_t kGroup = size_t(kLanes) * kWide;

// Masks of one bit of all points, made by shifts, for secret points. A variant without a faster way uses them for
// public points as well.
class SecretBits {
 public:
  explicit SecretBits(const uint64_t* x) {
    for (int w = 0; w < kWide; ++w) x_[w] = Spread(x + w * kLanes);
  }
  Vec Mask(int w, int bit) const { return BitMask(x_[w], bit); }

 private:
  Vec x_[kWide];
};

// Returns the pattern of a block in every lane.
inline Vec Lanes(uint64_t low, uint64_t high) {
  Vec x;
  for (int l = 0; l < kLanes; ++l) {
    x[2 * l] = low;
    x[2 * l + 1] = high;
  }
  return x;
}
// Turns each seed's bit from LowBit into a mask. The barrier keeps compilers from a branch or a mask register.
inline Vec Mask(Vec bit) {
  asm("" : "+v"(bit));
  return -bit;
}
// Returns the mask of each seed's control bit, its lowest.
inline Vec Control(Vec s) { return Mask(LowBit(s)); }

// `count` blocks of 16 bytes, then zeros up to kGroup blocks.
struct Blocks {
  alignas(64) uint8_t b[16 * kGroup];
  Blocks(const uint8_t* p, size_t count) {
    __builtin_memset(b, 0, sizeof b);
    __builtin_memcpy(b, p, 16 * count);
  }
  ~Blocks() { Wipe(b, sizeof b); }
  Vec At(int w) const { return Load(b + 16 * kLanes * w); }
};

// The x of each key of a group, zeros after the last key.
struct Points {
  alignas(64) uint64_t x[kGroup] = {};
  ~Points() { Wipe(x, sizeof x); }
  Vec At(int w) const { return Spread(x + w * kLanes); }
};

// Sets the low bit of each lane's root to the party.
inline Vec AsRoot(Vec x, int party) { return (x & Lanes(~uint64_t{1}, ~uint64_t{0})) | Lanes(uint64_t(party), 0); }

// Loads the roots of `count` keys and sets their low bit to the party.
inline void Roots(const uint8_t* root, size_t count, int party, Vec (&s)[kWide]) {
  const Blocks blocks(root, count);
  for (int w = 0; w < kWide; ++w) s[w] = AsRoot(blocks.At(w), party);
}

}  // namespace
