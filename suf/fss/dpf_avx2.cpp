// DPF by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/aes_avx2.hpp"
namespace {
using Vec = __m128i;
inline Vec Dup(Vec s) { return _mm_shuffle_epi32(s, 0x44); }
inline Vec Gather(const uint8_t* const* p, size_t at) { return LoadBlock(p[0] + at); }
}  // namespace
#include "suf/fss/internal/dpf_core.hpp"
#include "suf/fss/internal/dpf_walk.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile, DpfPointTile};

}  // namespace suf::fss::avx2
