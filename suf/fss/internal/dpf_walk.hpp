// The part of a DPF's evaluation where every key of a tile follows one path: seeds stay in registers for all levels.
// The variant's AES header defines RoundKeys and Sigma; before this file stand Vec (a seed in each 128 bits), Dup
// (the low quadword of each seed twice) and Gather. Included inside a variant's namespace: no guard, no include of its
// own.
namespace {

typedef uint64_t Words __attribute__((vector_size(sizeof(Vec))));

inline int Walk(const uint8_t* tile_key, const uint8_t* cw, size_t key_bytes, const uint64_t* path, int levels,
                size_t count, internal::Seed* node) {
  constexpr int kLanes = sizeof(Vec) / 16, W = sizeof(Vec) == 64 ? 4 : 8;
  const RoundKeys keys(tile_key);
  for (size_t k0 = 0; k0 < count; k0 += W * kLanes) {
    const uint8_t* key[W * kLanes];
    internal::Seed seed[W * kLanes], way[W * kLanes];
    for (size_t i = 0; i < W * kLanes; ++i) {  // a short tile repeats its last key
      const size_t k = k0 + i < count ? k0 + i : count - 1;
      key[i] = cw + k * key_bytes, seed[i] = node[k], way[i] = internal::Seed{path[k], path[k]};
    }
    Vec s[W], x[W], g[W];
    Words turn[W];
    for (int i = 0; i < W; ++i) {
      __builtin_memcpy(&s[i], seed + i * kLanes, sizeof(Vec));
      __builtin_memcpy(&turn[i], way + i * kLanes, sizeof(Vec));
    }
    for (int d = 0; d < levels; ++d) {
#pragma GCC unroll 8
      for (int i = 0; i < W; ++i) x[i] = g[i] = Sigma(s[i]);
      keys.Encrypt(x);
#pragma GCC unroll 8
      for (int i = 0; i < W; ++i) {
        const Words c = (Words)Gather(key + i * kLanes, 16 * size_t(d));
        Words right = -(turn[i] >> (levels - 1 - d) & 1), control = -((Words)Dup(s[i]) & 1);
        asm("" : "+v"(right), "+v"(control));
        s[i] = (Vec)((Words)x[i] ^ (Words)g[i] ^ (right & (Words)s[i]) ^ (control & c));
      }
    }
    for (int i = 0; i < W; ++i) __builtin_memcpy(seed + i * kLanes, &s[i], sizeof(Vec));
    for (size_t i = 0; i < W * kLanes && k0 + i < count; ++i) node[k0 + i] = seed[i];
    Wipe(seed, sizeof seed);
  }
  return levels;
}

}  // namespace
