#include "suf/reference/fss_kernels.hpp"

#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"

namespace suf::reference {
namespace {

fss::DpfContext Dpf(const pfss::KeyBatch& b) { return {b.tree_key, b.program, b.n}; }
fss::DcfContext Dcf(const pfss::KeyBatch& b) { return {b.tree_key, b.program, b.n, b.words, b.bits}; }

}  // namespace

void FssKernels::DpfGen(const Batch& b, const uint64_t* alpha, const Roots& roots, uint8_t* key) const {
  fss::DpfGen(Dpf(b), alpha, roots[0], roots[1], b.count, key);
}
void FssKernels::DpfWindow(const Batch& b, int party, const uint8_t* root, const uint8_t* key, int level,
                           const uint64_t* lo, int m, uint64_t* out) const {
  fss::DpfWindow(Dpf(b), party, root, key, level, lo, b.count, m, out);
}
void FssKernels::DpfParity(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                           uint64_t* out) const {
  fss::DpfParity(Dpf(b), party, root, key, x, b.count, m, out);
}
void FssKernels::DpfDense(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
                          const uint64_t* table, uint64_t* out) const {
  fss::DpfDense(Dpf(b), party, root, key, x, table, b.count, out);
}
void FssKernels::DcfGen(const Batch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
                        uint8_t* key) const {
  fss::DcfGen(Dcf(b), alpha, beta, roots[0], roots[1], b.count, key);
}
void FssKernels::DcfEval(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                         uint64_t* out) const {
  fss::DcfEval(Dcf(b), party, root, key, x, b.count, m, out);
}

}  // namespace suf::reference
