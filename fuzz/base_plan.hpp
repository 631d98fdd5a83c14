// Plans that several targets and their seeds share.
#pragma once
#include "fuzz/fuzz.hpp"
#include "suf/nn/plan/index_plan.hpp"

namespace suf::fuzz {

// Returns the small model's plan.
inline const nn::Plan& BasePlan() {
  static const nn::Plan plan = nn::Parse(TextOf(ReadFrom(SUF_FUZZ_DIR "/plan.json")));
  return plan;
}

// Returns an index plan of 12 rows for a model's plan.
inline nn::IndexPlan SmallIndex(const nn::Plan& plan) {
  nn::IndexPlan index;
  index.model = nn::PlanHash(plan);
  index.search.columns = plan.width();
  index.search.places = 3;
  index.search.buckets = 4;
  index.search.k = 2;
  return index;
}

}  // namespace suf::fuzz
