// For tests: a plan with two variants of two plans over one graph.
#pragma once
#include "suf/nn/plan.hpp"

namespace suf::nn {

// Near's classes and far's, as the variants "near" and "far".
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
