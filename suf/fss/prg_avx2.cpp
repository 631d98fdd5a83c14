// AES-128 by AES-NI.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss::avx2 {
#include "suf/fss/internal/aes_avx2.hpp"

const internal::AesKernels kAes = {AesExpand, AesEncrypt, AesCtr, AesHash, AesBound};

}  // namespace suf::fss::avx2
