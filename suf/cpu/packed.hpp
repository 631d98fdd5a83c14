// packed ("SigmaFast"): the CPU backend. Tensors have the width that is really read. One-hot tables and opened bits are
// packed bit strings. Elementwise chains run fused, in strips that stay in the cache. Kernels are chosen by processor.
// It computes the same bits as clear.
#pragma once
#include "suf/exec/pool.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::cpu {

// Makes the backend, which runs on `pool` with the kernels of `variant`. It keeps packed weights between runs, one copy
// per input.
std::unique_ptr<pfss::Backend> MakePacked(exec::Pool& pool, ring::Isa variant = ring::Best());

}  // namespace suf::cpu
