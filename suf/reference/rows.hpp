// rows: what works row by row is interpreted: for each row of a group, member after member, on registers of that row,
// by the row functions that devices call (lower/rows_core.hpp). What does not is clear's, or a portable kernel. One
// thread; for comparison, and the place where row functions are shown to be right before a device runs them.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

std::unique_ptr<pfss::Backend> MakeRows();

}  // namespace suf::reference
