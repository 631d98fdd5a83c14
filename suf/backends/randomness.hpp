// The CPU's PRG streams: pfss::Randomness by fss::Prg.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::backends {

std::unique_ptr<pfss::Randomness> MakeRandomness(const pfss::Material& material);

}  // namespace suf::backends
