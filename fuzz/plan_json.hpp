// What a role does with a stranger's plan before it sends anything, on the committed plans of all families.
#pragma once
#include "fuzz/plan_mutation.hpp"

namespace suf::fuzz {

// Fuzz/plans, by name: every family, with and without a softmax's maximum, in two tiles, of two variants.
const std::vector<std::pair<std::string, Json>>& SeedPlans();
// The plan that a program of changes makes of a seed.
Json Mutant(View program);
// Reads the text, and for every variant emits, schedules, lints and lays out a trace, as roles::Engine::At
// does: of the shortest text and the longest one of each class, or of one of these. Returns the number of traces.
// Throws Error for a plan that is refused as it is read.
int TakePlan(const std::string& text, bool every);

}  // namespace suf::fuzz
