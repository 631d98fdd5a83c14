// DPF without AES instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/aes_portable.hpp"
namespace {
// Walk: 0 levels; without registers to stay in, the general walk does as well.
inline int Walk(const uint8_t*, const uint8_t*, size_t, const uint64_t*, int, size_t, internal::Seed*) { return 0; }
}  // namespace
#include "suf/fss/internal/dpf_core.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile, DpfPointTile};

}  // namespace suf::fss::portable
