#include "suf/fss/dpf.hpp"

#include <algorithm>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"
#include "suf/fss/internal/scratch.hpp"
#include "suf/fss/internal/tile_keys.hpp"
#include "suf/ring/modular.hpp"

namespace suf::fss {
namespace {

using internal::CacheLine;
using internal::DpfKernels;
using internal::DpfTile;
using internal::Scratch;

const DpfKernels& Kernels(Isa v) {
  const DpfKernels* const kTable[] = {&portable::kDpf, &avx2::kDpf, &avx512::kDpf};
  return *ring::Pick(kTable, v);
}

// Calls f(round keys, tile, number of its first key) for each tile.
template <class F>
void ByTiles(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, size_t count, Isa v, F f) {
  SUF_CHECK(ctx.n >= 8 && ctx.n <= 64 && (party == 0 || party == 1));
  internal::TileKeys keys(ctx.k_serial.data(), ctx.program, internal::TreeKind::kDpf, v);
  for (size_t i = 0; i < count; i += kDpfTile) {
    f(keys.Of(ctx.first_tile + i / kDpfTile),
      DpfTile{ctx.n, party, root + 16 * i, cw + i * DpfKeyBytes(ctx.n), std::min(kDpfTile, count - i)}, i);
  }
}

// Expands the full domains of a few keys at a time into `where(number of the first)`. Then it calls `f(number, keys)`.
template <class W, class F>
void ByDomains(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, size_t count, Isa v, W where,
               F f) {
  SUF_CHECK(ctx.n >= 8 && ctx.n <= internal::kFullBits);
  const DpfKernels& kernels = Kernels(v);
  Scratch<CacheLine> scratch(internal::FullScratch(ctx.n) / 64);
  ByTiles(ctx, party, root, cw, count, v, [&](const uint8_t* key, const DpfTile& t, size_t i) {
    for (size_t k = 0; k < t.keys; k += kernels.full_keys) {
      const size_t now = std::min(kernels.full_keys, t.keys - k);
      kernels.full(key, t, k, now, scratch.words[0].b, where(i + k));
      f(i + k, now);
    }
  });
}

// Bit planes of a public table of 64 `words` words; their number is the bit length of its widest word. Plane k holds
// bit k of `table[-1 - q]` at q, twice in a row, so that `j -> x - j` is contiguous.
struct Planes {
  size_t stride;
  int count = 0;
  std::vector<uint64_t> bits;
  Planes(const DpfKernels& kernels, const uint64_t* table, size_t words) : stride(2 * words + internal::kDenseSlack) {
    uint64_t any = 0;
    for (size_t q = 0; q < 64 * words; ++q) any |= table[q];
    while (count < 64 && any >> count) ++count;
    bits.resize(stride * size_t(count));
    for (size_t w = 0; w < words; ++w) {
      uint64_t block[64];
      for (size_t i = 0; i < 64; ++i) block[i] = table[64 * words - 1 - (64 * w + i)];
      kernels.transpose(block);
      for (size_t k = 0; k < size_t(count); ++k) {
        bits[k * stride + w] = bits[k * stride + words + w] = block[k];
      }
    }
  }
};

}  // namespace

void DpfGen(const DpfContext& ctx, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1, size_t count,
            uint8_t* cw, Isa v) {
  const DpfKernels& kernels = Kernels(v);
  ByTiles(ctx, 0, root0, cw, count, v, [&](const uint8_t* key, const DpfTile& t, size_t i) {
    kernels.gen(key, ctx.n, alpha + i, root0 + 16 * i, root1 + 16 * i, t.keys, cw + i * DpfKeyBytes(ctx.n));
  });
}

void DpfWindow(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, int level, const uint64_t* lo,
               size_t count, int m, uint64_t* out, Isa v) {
  SUF_CHECK(level >= 0 && level <= ctx.n && m >= 1 && m <= 1 << std::min(ctx.n - level, 20));
  if (m == 1) return DpfPoint(ctx, party, root, cw, level, lo, count, out, v);
  const size_t words = size_t(m + 63) / 64;
  const auto at_zero = [&](uint64_t x) { return (x & ring::Mask(ctx.n)) == 0; };
  if (level == 0 && ctx.n <= internal::kFullBits && m == 1 << ctx.n && std::all_of(lo, lo + count, at_zero)) {
    return ByDomains(
        ctx, party, root, cw, count, v, [&](size_t i) { return out + i * words; }, [](size_t, size_t) {});
  }
  const DpfKernels& kernels = Kernels(v);
  if (DpfReadsDomain(ctx.n, m, level)) {
    const size_t size = size_t{1} << ctx.n, all = size / 64;
    Scratch<uint64_t> bits(internal::kFullKeys * all);
    return ByDomains(
        ctx, party, root, cw, count, v, [&](size_t) { return bits.words.data(); },
        [&](size_t i, size_t now) {
          for (size_t k = 0; k < now; ++k)
            kernels.cut(&bits.words[k * all], all, lo[i + k] & (size - 1), size_t(m), out + (i + k) * words);
        });
  }
  Scratch<internal::Seed> scratch(internal::WindowScratch(size_t(m) << std::min(level, 7)));
  ByTiles(ctx, party, root, cw, count, v, [&](const uint8_t* key, const DpfTile& t, size_t i) {
    kernels.window(key, t, level, lo + i, size_t(m), scratch.words.data(), out + i * words);
  });
}

void DpfPoint(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, int level, const uint64_t* x,
              size_t count, uint64_t* out, Isa v) {
  SUF_CHECK(level >= 0 && level <= ctx.n);
  const DpfKernels& kernels = Kernels(v);
  ByTiles(ctx, party, root, cw, count, v,
          [&](const uint8_t* key, const DpfTile& t, size_t i) { kernels.point(key, t, level, x + i, out + i); });
}

void DpfParity(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
               size_t count, int m, uint64_t* out, Isa v) {
  SUF_CHECK(m >= 1);
  const DpfKernels& kernels = Kernels(v);
  ByTiles(ctx, party, root, cw, count, v, [&](const uint8_t* key, const DpfTile& t, size_t i) {
    kernels.parity(key, t, x + i * size_t(m), m, out + i * (size_t(m + 63) / 64));
  });
}

void DpfDense(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x,
              const uint64_t* table, size_t count, uint64_t* out, Isa v) {
  SUF_CHECK(ctx.n >= 8 && ctx.n <= internal::kFullBits);
  const DpfKernels& kernels = Kernels(v);
  const size_t size = size_t{1} << ctx.n, words = size / 64;
  const Planes planes(kernels, table, words);
  Scratch<uint64_t> bits(internal::kFullKeys * words), spare(words + internal::kDenseSlack);
  ByDomains(
      ctx, party, root, cw, count, v, [&](size_t) { return bits.words.data(); },
      [&](size_t i, size_t now) {
        for (size_t k = 0; k < now; ++k) {
          const size_t skip = size - 1 - (x[i + k] & (size - 1));
          out[i + k] = kernels.dense(&bits.words[k * words], words, skip, planes.bits.data(), planes.stride,
                                     planes.count, spare.words.data());
        }
      });
}

}  // namespace suf::fss
