// The search for a cheaper plan: in how many stages values are cut and how functions are lowered, by class of operator
// and length, such that the scheduled trace costs least under a profile's prices. A stage on a slack branch costs
// nothing, and stages on the critical path come in pairs, which only the schedule of the whole trace shows.
// (docs/mathematics.md#cost-model)
#pragma once
#include <cmath>
#include <functional>
#include <map>

#include "suf/compiler/choose.hpp"
#include "suf/nn/plan.hpp"

namespace suf::nn {

inline constexpr int kMostTraces = 1000;  // that one search prices
using EmitPlan = std::function<void(pfss::Trace&, const Plan&)>;
// kNear: one pass over single classes, where it begins near the best. kCompare: without what came next, over
// all classes only where it is near From::best, and over none where the start costs far more.
enum class Effort : uint8_t { kFull, kNear, kCompare };
// A knob as a search left it. From: where a search begins, and what it leaves. knobs: taken by a knob of the same
// options and of that name, or of that name with other numbers in it; one of other options is as its operator was made.
// best: seconds of the cheapest candidate. hopeless: a start over so many times that is left. known: seconds by
// state of the knobs, of searches of the same class before.
struct Held {
  std::string name;
  std::vector<std::string> options;
  size_t at = 0;
};
using PricedStates = std::map<std::vector<size_t>, double>;
struct From {
  std::vector<Held> knobs;
  double best = INFINITY, hopeless = 1;
  PricedStates known;
};
// Sets the knobs of class `which`, and says what was chosen and what came next. Coordinate descent, by single
// classes of operators and by pairs; at most kMostTraces traces. Deterministic. Returns the seconds of the best. emit:
// the trace that is priced; null: the class's longest text.
double Search(Plan* plan, size_t which, const compiler::Prices& prices, Effort effort = Effort::kFull,
              From* from = nullptr, const EmitPlan& emit = {});

// A turn also ends a program and begins another: as the search, and who compares the plans that it made,
// counts a turn.
compiler::Prices WithSteps(compiler::Prices p);

// An option that changes what a stretch of a layer computes, and its scales with it; a stage fewer seldom pays
// alone, as flights come in pairs, so segments are chosen whole. choices: what values 0 and 1 mean.
struct Segment {
  const char* name;
  int Options::*field;
  const char* choices[2];
};
std::span<const Segment> Segments();

// SearchSegments: makes class `which` anew for options that `policy` leaves to cost (Options::kByCost), by singles and
// by pairs, with the knobs of each searched; sets the cheapest and says what came next. make: the class for options,
// without a search; a Cause::kRefused means that there is none. start: where to begin; where another class was
// chosen already, candidates that start far from the best are left. Set to what was chosen.
struct Start {
  std::vector<int> segments;  // by Segments
  std::vector<Held> knobs;
};
using MakeClass = std::function<Class(const Options&)>;
void SearchSegments(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy,
                    const MakeClass& make, Start* start);

// Whether a text of the class may run in two tiles: none of its operators is causal, and it is long enough.
bool MayTile(const Graph& g, const Class& c);
// One tile or two for a class that is made and searched, where the policy leaves it to cost and it may.
void ChooseTiles(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy);

}  // namespace suf::nn
