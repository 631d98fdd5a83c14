// DPF by VAES on 512 bits.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::avx512 {
#include "suf/fss/internal/aes_avx512.hpp"
namespace {
using Vec = __m512i;
inline Vec Dup(Vec s) { return _mm512_shuffle_epi32(s, _MM_PERM_BABA); }
inline Vec Gather(const uint8_t* const* p, size_t at) {
  const __m256i lo = _mm256_inserti128_si256(_mm256_castsi128_si256(LoadBlock(p[0] + at)), LoadBlock(p[1] + at), 1);
  const __m256i hi = _mm256_inserti128_si256(_mm256_castsi128_si256(LoadBlock(p[2] + at)), LoadBlock(p[3] + at), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
}
}  // namespace
#include "suf/fss/internal/dpf_core.hpp"
#include "suf/fss/internal/dpf_walk.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile, DpfPointTile};

}  // namespace suf::fss::avx512
