// Costs of a trace: as columns of a table, and as fields of JSON. The commands of functions and those of gates share
// both.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/show.hpp"
#include "suf/compiler/choose.hpp"

namespace suf::apps {

// Returns the names of the columns: `first`, "safe" if there is such a column, the costs, and the profiles.
std::vector<std::string> CostHeader(const std::string& first, bool safe,
                                    const std::vector<compiler::Profile>& profiles);
// Returns a row of that table. `chosen`: whether each profile chooses it.
std::vector<std::string> CostCells(const std::string& name, bool safe, const compiler::TraceBill& bill,
                                   const std::vector<compiler::Profile>& profiles, const std::vector<bool>& chosen);
// Returns the columns that a narrow terminal drops, least useful first; of the profiles, the last one first.
std::vector<std::string> CostDrop(const std::vector<compiler::Profile>& profiles);
// Adds flights, bytes sent, key bytes and AES blocks (dealer, P0, P1) to a row of JSON.
void AddBill(nlohmann::ordered_json* row, const compiler::Bill& bill);
// Returns words of dealer, P0 and P1.
nlohmann::ordered_json WordsJson(const compiler::Bill& bill);

}  // namespace suf::apps
