// DPF without AES instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/lanes_portable.hpp"
// The cores use these vectors.
#include "suf/fss/internal/dpf_core.hpp"
#include "suf/fss/internal/dpf_window.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile, DpfPointTile, DpfParityTile, DpfFullTile,
                                   kFullStep,  CutWindow,     DenseWord,    Transpose};

}  // namespace suf::fss::portable
