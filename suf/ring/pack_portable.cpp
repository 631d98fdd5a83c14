// Bit packing, baseline.
#include "suf/ring/internal/pack_kernels.hpp"

namespace suf::ring::portable {
#include "suf/ring/internal/pack_core.hpp"

template <class T>
void Pack(const T* x, size_t n, int k, uint8_t* out) {
  PackWords(x, n, k, out);
}
template <class T>
void Unpack(const uint8_t* in, size_t n, int k, T* x) {
  UnpackWords(in, n, k, x);
}
SUF_PACK_INSTANTIATE(uint8_t)
SUF_PACK_INSTANTIATE(uint16_t)
SUF_PACK_INSTANTIATE(uint32_t)
SUF_PACK_INSTANTIATE(uint64_t)

}  // namespace suf::ring::portable
