// packed ("SigmaFast"): the CPU backend. Tensors at the width that is really read, one-hot tables and opened bits as
// packed bit strings, elementwise chains fused into strips that stay in the cache, kernels chosen by processor. Same
// bits as clear.
#pragma once
#include "suf/exec/pool.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::cpu {

// Runs on `pool`, with the kernels of `variant`. Keeps packed weights between runs, one copy an input.
std::unique_ptr<pfss::Backend> MakePacked(exec::Pool& pool, ring::Variant variant = ring::Best());

}  // namespace suf::cpu
