// The public AES keys of tiles, AES_{k_serial}(le32 program | le32 kind | le64 tile), as round keys
// (docs/mathematics.md#half-tree).
#pragma once
#include "suf/fss/internal/aes_kernels.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss::internal {

enum class TreeKind : uint32_t { kDpf = 0, kDcf = 1 };

class TileKeys {
 public:
  TileKeys(const uint8_t* k_serial, uint32_t program, TreeKind kind, ring::Isa v)
      : head_(program | uint64_t(kind) << 32) {
    const AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
    aes_ = ring::Pick(kTable, v);
    aes_->expand(k_serial, serial_);
  }
  const uint8_t* Of(uint64_t tile) {
    const uint64_t block[2] = {head_, tile};
    uint8_t key[16];
    aes_->encrypt(serial_, reinterpret_cast<const uint8_t*>(block), key, 1);
    aes_->expand(key, round_keys_);
    return round_keys_;
  }

 private:
  const AesKernels* aes_;
  uint64_t head_;
  uint8_t serial_[176], round_keys_[176];
};

}  // namespace suf::fss::internal
