// Prints the results of `suf demo` for people.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "apps/texts.hpp"

namespace suf::apps {

// Prints tables of the results, their similarity, the time of each role in the longest text, and peak memory. The rows
// are those of the texts with a result, after their comparison; there is one at least.
void ShowDemo(const std::vector<TextLine>& lines, const std::vector<nlohmann::ordered_json>& rows);

}  // namespace suf::apps
