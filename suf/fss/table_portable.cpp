// One-hot tables with baseline instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/table_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/table_core.hpp"
#include "suf/fss/internal/table_generic.hpp"

const internal::TableKernels kTable = Kernels();

}  // namespace suf::fss::portable
