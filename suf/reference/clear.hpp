// clear: the reference backend. It runs one word-by-word loop per operation, keeps values reduced, and has no variants
// and no fusion. The other backends are tested against it. It shares the PRG and the trees with them, but no line of
// their arithmetic.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

std::unique_ptr<pfss::Backend> MakeClear();
// Makes the same executor with the kernels of another library of keys. `can` states their capabilities, `prg` the
// identity of their PRG. It is not fss::kPrgId, because the keys of one are not keys of the other. PRG words are those
// of fss::Prg.
std::unique_ptr<pfss::Backend> MakeClear(pfss::Capabilities can, uint32_t prg,
                                         std::shared_ptr<const pfss::Kernels> kernels);

}  // namespace suf::reference
