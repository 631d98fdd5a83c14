// The index of fuzz/index_folder.cpp, whose seeds name its plan.
#pragma once
#include "suf/nn/plan/index_plan.hpp"

namespace suf::fuzz {

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
