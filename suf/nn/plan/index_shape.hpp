// Chooses the shape of an index by its cost: buckets, tournament, groups and lowerings (docs/mathematics.md
// #index-search).
#pragma once
#include <functional>

#include "suf/compiler/choose.hpp"
#include "suf/nn/plan/index_plan.hpp"

namespace suf::nn {

// Returns the capacity of an index that must hold so many rows. Capacities grow by a quarter from 256 on, so that an
// append seldom changes the trace.
int64_t CapacityFor(int64_t rows);

// Returns the part of the k nearest rows that a search finds on average. One is lost if a better one is in its bucket,
// and rows fall into buckets at random.
double RecallOf(const Search& search);

struct ShapeWish {
  int64_t rows = 0;       // the least capacity
  double recall = 0.995;  // the least RecallOf, above 0 and up to 1
  int tokens = 0;         // of the text whose inference is priced
};

// Returns `index` with the shape, the lowerings and the scales of the cheapest search that fulfils the wish. Its k and
// its floor stay. `plan` is its model's plan, whose first variant is priced. `progress` receives the part
// that is done. Makes up to a hundred traces, so it takes seconds. Throws Cause::kInput if there is no such shape, and
// the errors of WithIndex.
IndexPlan ChooseShape(const Plan& plan, IndexPlan index, const ShapeWish& wish, const compiler::Prices& prices,
                      const pfss::Capabilities& can, const std::function<void(double)>& progress = {});

}  // namespace suf::nn
