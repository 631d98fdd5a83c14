// The search for a cheaper plan. It chooses the stages of cuts and the lowerings of functions, by class of operator and
// length. The scheduled trace then costs least under a profile's prices. A stage on a slack branch costs nothing, and
// stages on the critical path come in pairs. Only the schedule of the whole trace shows this.
// (docs/mathematics.md#cost-model)
#pragma once
#include <cmath>
#include <functional>
#include <map>

#include "suf/nn/plan/bill_memo.hpp"

namespace suf::nn {

inline constexpr int kMostStates = 1000;  // limit of the states that one search prices
using EmitPlan = std::function<void(pfss::Trace&, const Plan&)>;
// The extent of a search.
// * kFull: until nothing improves.
// * kNear: one pass over single classes of operators, for a start near the best.
// * kCompare: without the next best options. It goes over all classes of operators only if the cost is near
//   SearchStart::best.
//   It goes over none if the start costs far more.
enum class Effort : uint8_t { kFull, kNear, kCompare };
// A knob as a search left it.
struct SearchState {
  std::string name;
  std::vector<std::string> options;
  size_t at = 0;
};
// Seconds by state of the knobs.
using PricedStates = std::map<std::vector<size_t>, double>;
// The start of a search, and the state that it leaves for the next one.
struct SearchStart {
  // Settings of knobs. They apply to a knob with the same options and the same name, up to the numbers in it. Any other
  // knob stays as its operator was made.
  std::vector<SearchState> knobs;
  // Seconds of the cheapest candidate. A start that costs more than `hopeless` times as much is not searched.
  double best = INFINITY, hopeless = 1;
  // Priced states of earlier searches of the same class.
  PricedStates known;
  // Parts of bills that earlier searches left. Null: this search remembers its own alone.
  BillMemo* memo = nullptr;
};
// Sets the knobs of class `which`, and records the choices and the next best options. Coordinate descent over single
// classes of operators and over pairs, with at most kMostStates states. Deterministic. Returns the seconds of the best.
// `emit` makes the trace that is priced, anew for each state. Null stands for the class's longest text.
double SearchKnobs(Plan* plan, size_t which, const compiler::Prices& prices, Effort effort = Effort::kFull,
                   SearchStart* from = nullptr, const EmitPlan& emit = {});

// Returns prices in which a step also ends one program and begins another. The search counts steps by them. A
// comparison of its plans must do the same.
compiler::Prices WithSteps(compiler::Prices p);

// An option that changes what a stretch of a layer computes, and its scales. A stage fewer seldom pays alone, because
// flights come in pairs, so segments are chosen whole. `choices` describes the values 0 and 1.
struct Segment {
  const char* name;
  int Options::*field;
  const char* choices[2];
};
std::span<const Segment> Segments();

// The start of a search over segments. The search sets it to its choices.
struct Start {
  std::vector<int> segments;  // values, by Segments
  std::vector<SearchState> knobs;
};
using MakeClass = std::function<Class(const Options&)>;
// Makes class `which` again for options that `policy` leaves to cost (Options::kByCost), alone and in pairs. Searches
// the knobs of each candidate, sets the cheapest and records the next best choices. `make` returns the class for
// options, without a search; if it throws Cause::kRefused, there is none. If another class was chosen before,
// candidates that start far from the best are not searched. `memo` keeps parts of bills for other variants.
void SearchSegments(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy,
                    const MakeClass& make, Start* start, BillMemo* memo);

// Whether a text of the class may run in two tiles. No operator may be causal, and the class must be long enough.
bool MayTile(const Graph& g, const Class& c);
// Chooses one tile or two for a class that is made and searched, for one text and for a batch. A batch is priced with
// two texts. Does nothing unless the policy leaves it to cost and two are possible.
void ChooseTiles(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy);

}  // namespace suf::nn
