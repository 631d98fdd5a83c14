// The batch entry points of keys, implemented by fss with this machine's best variant, on the caller's thread.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

class FssKernels : public pfss::Kernels {
 public:
  using Batch = pfss::KeyBatch;
  void DpfGen(const Batch& b, const uint64_t* alpha, const Roots& roots, uint8_t* key) const override;
  void DpfWindow(const Batch& b, int party, const uint8_t* root, const uint8_t* key, int level, const uint64_t* lo,
                 int m, uint64_t* out) const override;
  void DpfParity(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                 uint64_t* out) const override;
  void DpfDense(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
                const uint64_t* table, uint64_t* out) const override;
  void DcfGen(const Batch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
              uint8_t* key) const override;
  void DcfEval(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
               uint64_t* out) const override;
};

}  // namespace suf::reference
