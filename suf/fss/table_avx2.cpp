// One-hot tables with AVX2.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/table_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/table_core.hpp"
#include "suf/fss/internal/table_generic.hpp"

const internal::TableKernels kTable = Kernels();

}  // namespace suf::fss::avx2
