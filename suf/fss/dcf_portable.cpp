// DCF without AES instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dcf_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/aes_portable.hpp"
// one after the other
#include "suf/fss/internal/lanes_portable.hpp"
// one after the other
#include "suf/fss/internal/lanes_core.hpp"
namespace {
using PublicBits = SecretBits;
}  // namespace
#include "suf/fss/internal/dcf_core.hpp"

const internal::DcfKernels kDcf = {DcfGenTile, DcfEvalTile};

}  // namespace suf::fss::portable
