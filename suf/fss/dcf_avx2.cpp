// DCF by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dcf_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/aes_avx2.hpp"
// one after the other
#include "suf/fss/internal/lanes_avx2.hpp"
// one after the other
#include "suf/fss/internal/lanes_core.hpp"
namespace {
using PublicBits = SecretBits;
}  // namespace
#include "suf/fss/internal/dcf_core.hpp"

const internal::DcfKernels kDcf = {DcfGenTile, DcfEvalTile};

}  // namespace suf::fss::avx2
