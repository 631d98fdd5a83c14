// DPF by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/dpf_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/lanes_avx2.hpp"
// The cores use these vectors.
#include "suf/fss/internal/dpf_core.hpp"
#include "suf/fss/internal/dpf_window.hpp"

const internal::DpfKernels kDpf = {DpfGenTile, DpfWindowTile, DpfPointTile, DpfParityTile, DpfFullTile,
                                   kFullStep,  CutWindow,     DenseWord,    Transpose};

}  // namespace suf::fss::avx2
