// packed ("SigmaFast"): the CPU backend. Tensors have the width that is really read. One-hot tables and opened bits are
// packed bit strings. Elementwise chains run fused, in strips that stay in the cache. Kernels are chosen by processor.
// It computes the same bits as clear.
#pragma once
#include "suf/exec/pools.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::cpu {

// Makes the backend, whose runs lease one of `pools` each and use the kernels of `variant`. It keeps packed weights
// between runs, one copy per input. Instead of `pools` a pool may be given, which all runs share.
std::unique_ptr<pfss::Backend> MakePacked(const exec::Pools& pools, ring::Isa variant = ring::Best());

}  // namespace suf::cpu
