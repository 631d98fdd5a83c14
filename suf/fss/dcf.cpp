#include "suf/fss/dcf.hpp"

#include <algorithm>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dcf_kernels.hpp"
#include "suf/fss/internal/scratch.hpp"
#include "suf/fss/internal/tile_keys.hpp"

namespace suf::fss {
namespace {

using internal::DcfKernels;
using internal::DcfShape;

// Calls f(kernels, round keys, shape, working memory, number of the tile's first key, keys) for each tile.
template <class F>
void ByTiles(const DcfContext& ctx, size_t count, Isa v, F f) {
  SUF_CHECK(ctx.n >= 1 && ctx.n <= 128 && ctx.words >= 1 && ctx.bits >= 1 && ctx.bits <= 64);
  const DcfKernels* const kTable[] = {&portable::kDcf, &avx2::kDcf, &avx512::kDcf};
  const DcfKernels& kernels = *ring::Pick(kTable, v);
  const DcfShape shape{ctx.n, ctx.words, ctx.bits};
  internal::TileKeys keys(ctx.k_serial.data(), ctx.program, internal::TreeKind::kDcf, v);
  internal::Scratch<internal::CacheLine> scratch(internal::DcfScratch(shape) / sizeof(internal::CacheLine));
  for (size_t i = 0; i < count; i += kDcfTile) {
    f(kernels, keys.Of(ctx.first_tile + i / kDcfTile), shape, scratch.words[0].b, i, std::min(kDcfTile, count - i));
  }
}

}  // namespace

void DcfGen(const DcfContext& ctx, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0,
            const uint8_t* root1, size_t count, uint8_t* key, Isa v) {
  ByTiles(ctx, count, v,
          [&](const DcfKernels& kernels, const uint8_t* tile_key, const DcfShape& s, uint8_t* scratch, size_t i,
              size_t now) {
            kernels.gen(tile_key, s, alpha + i * DcfWords(s.n), beta + i, count, root0 + 16 * i, root1 + 16 * i, now,
                        scratch, key + i * s.key_bytes());
          });
}

void DcfEval(const DcfContext& ctx, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, size_t count,
             int m, uint64_t* out, Isa v) {
  SUF_CHECK((party == 0 || party == 1) && m >= 1);
  ByTiles(ctx, count, v,
          [&](const DcfKernels& kernels, const uint8_t* tile_key, const DcfShape& s, uint8_t* scratch, size_t i,
              size_t now) {
            kernels.eval(tile_key, s, party, root + 16 * i, key + i * s.key_bytes(), x + i * size_t(m) * DcfWords(s.n),
                         now, m, scratch, count, out + i);
          });
}

}  // namespace suf::fss
