// The batch entry points for DCFs by myl7/fss. A key is a string of bits. Each word of the payload has n seeds of 128
// bits, n values and a last value of 64 bits. The last bit of a seed is the left control bit. Then come n right control
// bits for each word. Both parties have the same key. A party's seed of each word comes from its root.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

class Myl7Kernels : public pfss::Kernels {
 public:
  void DcfGen(const pfss::KeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
              uint8_t* key) const override;
  void DcfEval(const pfss::KeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
               uint64_t* out) const override;
};

}  // namespace suf::reference
