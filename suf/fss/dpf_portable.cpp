// DPF without AES instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/aes_portable.hpp"
#include "suf/fss/internal/dpf_core.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile};

}  // namespace suf::fss::portable
