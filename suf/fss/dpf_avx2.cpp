// DPF by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/aes_avx2.hpp"
// one after the other
#include "suf/fss/internal/lanes_avx2.hpp"
// one after the other
#include "suf/fss/internal/lanes_core.hpp"
namespace {
using PublicBits = SecretBits;
}  // namespace
#include "suf/fss/internal/dpf_core.hpp"
#include "suf/fss/internal/dpf_window.hpp"

const internal::DpfKernels kDpf = {DpfGenTile,  DpfWindowTile, DpfPointTile, DpfParityTile,
                                   DpfFullTile, kLanes,        MaskedXor};

}  // namespace suf::fss::avx2
