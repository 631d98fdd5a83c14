// For tests: joins two plans over one graph to one plan with two variants.
#pragma once
#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

// Returns the classes of both plans, as the variants "near" and "far".
inline Plan Joined(Plan near, const Plan& far) {
  near.variants = {{"near", near.variants[0].profile}, {"far", far.variants[0].profile}};
  for (const Class& c : far.classes) {
    near.classes.push_back(c);
    near.classes.back().variant = 1;
  }
  for (Class& c : near.classes) Derive(near.graph, c.ops);
  return near;
}

}  // namespace suf::nn
