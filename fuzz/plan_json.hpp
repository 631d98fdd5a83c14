// Handles an attacker's plan as a role does before it sends anything, based on the committed plans of all families.
#pragma once
#include "fuzz/plan_mutation.hpp"

namespace suf::fuzz {

// The plans in fuzz/plans, by name: every family, with and without a softmax's maximum, in two tiles, of two variants.
const std::vector<std::pair<std::string, Json>>& SeedPlans();
// The plan that a program of changes makes of a seed plan.
Json Mutant(View program);
// Reads the text, then emits, schedules, lints and lays out traces of every variant, as roles::Engine::Compile does.
// The lengths are the shortest and the longest of each class, for one text and for a batch of two. Without `every` it
// takes one length and one of both. Returns the number of traces. Throws Error if the plan is refused as it is read.
int TakePlan(const std::string& text, bool every);

}  // namespace suf::fuzz
