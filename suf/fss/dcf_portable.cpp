// DCF without AES instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dcf_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/lanes_portable.hpp"
// The core uses these vectors.
#include "suf/fss/internal/dcf_core.hpp"

const internal::DcfKernels kDcf = {DcfGenTile, DcfEvalTile};

}  // namespace suf::fss::portable
