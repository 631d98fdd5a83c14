// The CPU's PRG streams: pfss::Randomness by fss::Prg.
#pragma once
#include "suf/pfss/backend.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::backends {

std::unique_ptr<pfss::Randomness> MakeRandomness(pfss::Material material, ring::Variant variant = ring::Best());

}  // namespace suf::backends
