// AES-128 without AES instructions.
#include "suf/base/bytes.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss::portable {
#include "suf/fss/internal/aes_portable.hpp"

const internal::AesKernels kAes = {AesExpand, AesEncrypt, AesCtr, AesHash, AesBound};

}  // namespace suf::fss::portable
