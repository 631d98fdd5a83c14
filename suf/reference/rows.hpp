// rows: an interpreter of work that goes row by row. For each row of a group it runs member after member on registers
// of that row. It calls the row functions that devices call (grouping/rows_core.hpp). Other work goes to clear or to a
// portable kernel. It has one thread. It serves comparison, and shows that row functions are right before a device runs
// them.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

std::unique_ptr<pfss::Backend> MakeRows();

}  // namespace suf::reference
