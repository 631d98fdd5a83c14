// The AES-128 kernels of each variant. Round keys are 176 bytes as in FIPS 197.
#pragma once
#include <cstddef>
#include <cstdint>

namespace suf::fss::internal {

struct AesKernels {
  void (*expand)(const uint8_t* key, uint8_t* round_keys);
  void (*encrypt)(const uint8_t* round_keys, const uint8_t* in, uint8_t* out, size_t blocks);
  // Writes the blocks AES(nonce[12] | le32 counter), counter + 1, ..; the last one is cut so that `bytes` are written.
  void (*ctr)(const uint8_t* round_keys, const uint8_t* nonce, uint32_t counter, uint8_t* out, size_t bytes);
  void (*hash)(const uint8_t* round_keys, const uint8_t* in, uint8_t* out, size_t blocks);  // AES(sigma(x)) ^ sigma(x)
  uint64_t (*bound)(uint64_t blocks);  // encrypts in registers only: the benchmarks' upper bound
};

}  // namespace suf::fss::internal

namespace suf::fss {
namespace portable {
extern const internal::AesKernels kAes;
}
namespace avx2 {
extern const internal::AesKernels kAes;
}
namespace avx512 {
extern const internal::AesKernels kAes;
}
}  // namespace suf::fss
