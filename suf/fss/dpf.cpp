#include "suf/fss/dpf.hpp"

#include <algorithm>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/aes_kernels.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss {
namespace {

using internal::AesKernels;
using internal::DpfKernels;

// TileKeys: the round keys of one tile after another.
class TileKeys {
 public:
  TileKeys(const DpfContext& ctx, Variant v) : program_(ctx.program) {
    const AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
    aes_ = ring::Pick(kTable, v);
    aes_->expand(ctx.k_serial.data(), serial_);
  }
  const uint8_t* Of(uint64_t tile) {
    const uint64_t block[2] = {program_, tile};
    uint8_t key[16];
    aes_->encrypt(serial_, reinterpret_cast<const uint8_t*>(block), key, 1);
    aes_->expand(key, round_keys_);
    return round_keys_;
  }

 private:
  const AesKernels* aes_;
  uint32_t program_;
  uint8_t serial_[176], round_keys_[176];
};

const DpfKernels& Kernels(Variant v) {
  const DpfKernels* const kTable[] = {&portable::kDpf, &avx2::kDpf, &avx512::kDpf};
  return *ring::Pick(kTable, v);
}

}  // namespace

void DpfGen(const DpfContext& ctx, const uint64_t* alpha, const uint8_t* root0, const uint8_t* root1, size_t count,
            uint8_t* cw, Variant v) {
  SUF_CHECK(ctx.n >= 8 && ctx.n <= 64);
  const DpfKernels& kernels = Kernels(v);
  TileKeys keys(ctx, v);
  for (size_t i = 0; i < count; i += kDpfTile) {
    kernels.gen(keys.Of(ctx.first_tile + i / kDpfTile), ctx.n, alpha + i, root0 + 16 * i, root1 + 16 * i,
                std::min(kDpfTile, count - i), cw + i * DpfKeyBytes(ctx.n));
  }
}

void DpfWindow(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* lo,
               size_t count, int m, uint64_t* out, Variant v) {
  SUF_CHECK(ctx.n >= 8 && ctx.n <= 64 && (party == 0 || party == 1));
  SUF_CHECK(m >= 1 && m <= 1 << std::min(ctx.n, 20));
  if (m == 1) return DpfPoint(ctx, party, root, cw, lo, count, out, v);
  const DpfKernels& kernels = Kernels(v);
  TileKeys keys(ctx, v);
  const size_t words = size_t(m + 63) / 64;
  std::vector<internal::Seed> scratch(internal::WindowScratch(m));
  for (size_t i = 0; i < count; i += kDpfTile) {
    kernels.window(keys.Of(ctx.first_tile + i / kDpfTile), ctx.n, party, root + 16 * i, cw + i * DpfKeyBytes(ctx.n),
                   lo + i, std::min(kDpfTile, count - i), m, scratch.data(), out + i * words);
  }
  Wipe(scratch.data(), scratch.size() * sizeof scratch[0]);
}

void DpfPoint(const DpfContext& ctx, int party, const uint8_t* root, const uint8_t* cw, const uint64_t* x, size_t count,
              uint64_t* out, Variant v) {
  SUF_CHECK(ctx.n >= 8 && ctx.n <= 64 && (party == 0 || party == 1));
  const DpfKernels& kernels = Kernels(v);
  TileKeys keys(ctx, v);
  for (size_t i = 0; i < count; i += kDpfTile) {
    kernels.point(keys.Of(ctx.first_tile + i / kDpfTile), ctx.n, party, root + 16 * i, cw + i * DpfKeyBytes(ctx.n),
                  x + i, std::min(kDpfTile, count - i), out + i);
  }
}

}  // namespace suf::fss
