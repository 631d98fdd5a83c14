// clear: the reference backend. One word-by-word loop an operation, values always reduced, no variant, no fusion. What
// the others are tested against; it shares the PRG and the trees with them, not a line of their arithmetic.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

std::unique_ptr<pfss::Backend> MakeClear();
// The same executor under the kernels of another library of keys, which say what they can and what their PRG's identity
// is (not fss::kPrgId: keys of one are none of the other). PRG words are those of fss::Prg.
std::unique_ptr<pfss::Backend> MakeClear(pfss::Capabilities can, uint32_t prg,
                                         std::shared_ptr<const pfss::Kernels> kernels);

}  // namespace suf::reference
