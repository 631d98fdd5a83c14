// DPF by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/aes_schedule.hpp"
#include "suf/fss/internal/aes_avx2.hpp"
#include "suf/fss/internal/dpf_core.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile};

}  // namespace suf::fss::avx2
