// One tile of at most kDpfTile DPF keys, for each variant. `tile_key` are the tile's AES round keys.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"

namespace suf::fss::internal {

typedef uint64_t Seed __attribute__((vector_size(16)));  // a block; element 0 is its low quadword

// Leaf blocks of 128 bits that cover any window of m bits, and the seeds of working memory that a tile needs for it.
constexpr size_t LeafBlocks(int m) { return size_t(m + 126) / 128 + 1; }
constexpr size_t WindowScratch(int m) { return 3 * kDpfTile * (LeafBlocks(m) + 2); }

struct DpfKernels {
  void (*gen)(const uint8_t* tile_key, int n, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1,
              size_t count, uint8_t* cw);
  void (*window)(const uint8_t* tile_key, int n, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* lo,
                 size_t count, int m, Seed* scratch, uint64_t* out);
  void (*point)(const uint8_t* tile_key, int n, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
                size_t count, uint64_t* out);
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
