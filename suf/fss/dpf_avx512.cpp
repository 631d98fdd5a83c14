// DPF by VAES on 512 bits.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::avx512 {
#include "suf/fss/internal/aes_schedule.hpp"
#include "suf/fss/internal/aes_avx512.hpp"
#include "suf/fss/internal/dpf_core.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile};

}  // namespace suf::fss::avx512
