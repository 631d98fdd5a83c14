// The DCF kernels of each variant, for one tile of at most kDcfTile keys. `tile_key` are the tile's AES round keys.
#pragma once
#include <cstddef>
#include <cstdint>

#include "suf/fss/sizes.hpp"

namespace suf::fss::internal {

// The places of a payload in hashes. A slot has 32 bits if a word fits, otherwise 64. If the values of both children
// fit into one block, they share it, the right one in the high half. Otherwise each child has blocks of its own.
struct DcfShape {
  int n, words, bits;
  size_t number() const { return n > 64 ? 2 : 1; }  // words of an alpha or a point, the low one first
  bool narrow() const { return bits <= 32; }
  int slots() const { return DcfSlots(bits); }  // per block
  bool shared() const { return 2 * words <= slots(); }
  int blocks() const { return DcfValueBlocks(words, bits); }  // of a child's value
  size_t key_bytes() const { return ElementBytes(int(DcfKeyBits(n, words, bits))); }
  size_t values_at() const { return size_t(n) * 130; }  // bits before the values
};
// Returns the bytes of working memory, alignment 64. It holds the values of the keys that are walked together.
inline size_t DcfScratch(const DcfShape& s) { return size_t(s.n + 3) * size_t(s.blocks()) * 16 * kDcfTile; }

struct DcfKernels {
  void (*gen)(const uint8_t* tile_key, const DcfShape& s, const uint64_t* alpha, const uint64_t* beta,
              size_t beta_stride, const uint8_t* root0, const uint8_t* root1, size_t count, uint8_t* scratch,
              uint8_t* key);
  void (*eval)(const uint8_t* tile_key, const DcfShape& s, int party, const uint8_t* root, const uint8_t* key,
               const uint64_t* x, size_t count, int m, uint8_t* scratch, size_t out_stride, uint64_t* out);
};

}  // namespace suf::fss::internal

namespace suf::fss {
namespace portable {
extern const internal::DcfKernels kDcf;
}
namespace avx2 {
extern const internal::DcfKernels kDcf;
}
namespace avx512 {
extern const internal::DcfKernels kDcf;
}
}  // namespace suf::fss
