// DCF by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dcf_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/lanes_avx2.hpp"
// The core uses these vectors.
#include "suf/fss/internal/dcf_core.hpp"

const internal::DcfKernels kDcf = {DcfGenTile, DcfEvalTile};

}  // namespace suf::fss::avx2
