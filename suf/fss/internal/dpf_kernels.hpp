// The DPF kernels of each variant, for one tile of at most kDpfTile keys. `tile_key` are the tile's AES round keys.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"

namespace suf::fss::internal {

typedef uint64_t Seed __attribute__((vector_size(16)));  // a block; element 0 is its low quadword

// The keys of a tile, as one party holds them.
struct DpfTile {
  int n, party;
  const uint8_t *root, *cw;
  size_t keys;
};

// Returns the leaf blocks of 128 bits that cover any window of m bits.
constexpr size_t LeafBlocks(size_t m) { return (m + 126) / 128 + 1; }
// Returns the keys of a tile that are expanded together.
constexpr size_t WindowKeys(size_t m) {
  const size_t blocks = LeafBlocks(m), most = 4096;
  return blocks * kDpfTile <= most ? kDpfTile : blocks >= most ? 1 : most / blocks;
}
// Returns the seeds of working memory.
constexpr size_t WindowScratch(size_t m) { return 3 * WindowKeys(m) * (LeafBlocks(m) + 2); }
// The most keys whose full domains are expanded together.
inline constexpr size_t kFullKeys = 16;
inline constexpr int kFullBits = kDpfDomainBits;
// Returns the bytes of working memory for the full domain of 2^n bits, n <= kFullBits; alignment 64.
constexpr size_t FullScratch(int n) { return 2 * 16 * kFullKeys * ((size_t{1} << (n - 8)) + 2); }
// The words after a plane, so that whole vectors can be read.
inline constexpr size_t kDenseSlack = 32;

struct DpfKernels {
  void (*gen)(const uint8_t* tile_key, int n, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1,
              size_t count, uint8_t* cw);
  void (*window)(const uint8_t* tile_key, const DpfTile& t, int level, const uint64_t* lo, size_t m, Seed* scratch,
                 uint64_t* out);
  void (*point)(const uint8_t* tile_key, const DpfTile& t, int level, const uint64_t* x, uint64_t* out);
  void (*parity)(const uint8_t* tile_key, const DpfTile& t, const uint64_t* x, int m, uint64_t* out);
  // Expands the whole domain of keys k0 .. k0 + count - 1 of the tile, count <= `full_keys`.
  void (*full)(const uint8_t* tile_key, const DpfTile& t, size_t k0, size_t count, uint8_t* scratch, uint64_t* out);
  size_t full_keys;
  // Cuts m bits from bit `lo` on, cyclically, from a domain of `words` words.
  void (*cut)(const uint64_t* domain, size_t words, size_t lo, size_t m, uint64_t* out);
  // Returns in bit k the parity of the AND of the domain's bits with plane k from bit `skip` on. Planes have `stride`
  // words each, `spare` has words + kDenseSlack. A plane has kDenseSlack words after its 2 * words.
  uint64_t (*dense)(const uint64_t* bits, size_t words, size_t skip, const uint64_t* planes, size_t stride, int count,
                    uint64_t* spare);
  void (*transpose)(uint64_t* x);  // transposes the 64 x 64 bits whose row i is word i
};

}  // namespace suf::fss::internal

namespace suf::fss {
namespace portable {
extern const internal::DpfKernels kDpf;
}
namespace avx2 {
extern const internal::DpfKernels kDpf;
}
namespace avx512 {
extern const internal::DpfKernels kDpf;
}
}  // namespace suf::fss
