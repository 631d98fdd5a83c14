// clear: the reference backend. One word-by-word loop an operation, values always reduced, no variant, no fusion. What
// the others are tested against; it shares the PRG and the trees with them, not a line of their arithmetic.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::backends {

std::unique_ptr<pfss::Backend> MakeClear();

}  // namespace suf::backends
