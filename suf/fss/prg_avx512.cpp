// AES-128 by VAES on 512 bits.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss::avx512 {
#include "suf/fss/internal/aes_avx512.hpp"

const internal::AesKernels kAes = {AesExpand, AesEncrypt, AesCtr, AesHash, AesBound};

}  // namespace suf::fss::avx512
