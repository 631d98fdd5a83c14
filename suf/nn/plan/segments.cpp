// The search over segments: each candidate is a class of its own, made and searched.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "suf/nn/plan/knob_search.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::nn {

namespace {

constexpr Segment kSegments[] = {
    {"softmax", &Options::softmax, {"maximum", "shift"}},
    {"scores", &Options::scores, {"rescaled", "un-truncated"}},
    {"square", &Options::square, {"of x", "of z"}},
    {"pieces", &Options::pieces, {"slice", "neighbours"}},
};

// A candidate that starts over this far from the best is not searched. The first limit is for the first class, the
// second one for later classes, which start with searched knobs.
constexpr double kHopelessFirst = 1.3, kHopelessNext = 1.05;
// Candidates so near the cheapest cost the same as far as prices can say. The one with the fewest flights is chosen,
// because a link may get slower and never faster than its prices.
constexpr double kTie = 1.03;
// Two tiles must cost less than this part of one tile. They take twice the frames and programs, and the cost model
// cannot resolve a smaller gain.
constexpr double kWorthTiles = 0.97;

class Choosing {
 public:
  Choosing(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy, const MakeClass& make,
           BillMemo* memo)
      : plan_(*plan), which_(which), prices_(prices), policy_(policy), make_(make), memo_(memo) {
    for (const Segment& s : kSegments)
      if (policy.*s.field == Options::kByCost) open_.push_back(&s);
  }

  void Run(Start* start) {
    const bool first = start->segments.empty();
    start->segments.resize(std::size(kSegments), 0);
    start_ = start->knobs;
    hopeless_ = first ? kHopelessFirst : kHopelessNext;
    for (size_t i = 0; i < open_.size(); ++i) at_.push_back(start->segments[Index(i)]);
    if (!std::isfinite(Cost(at_))) {
      at_.assign(open_.size(), 0);
      Cost(at_);
    }
    for (bool better = true; better;) {
      better = false;
      for (size_t i = 0; i < open_.size() && !better; ++i) better = Try({i});
      for (size_t i = 0; i < open_.size() && !better; ++i)
        for (size_t j = i + 1; j < open_.size() && !better; ++j) better = Try({i, j});
    }
    if (!std::isfinite(best_)) Refuse();
    FewestFlights();
    for (size_t i = 0; i < open_.size(); ++i) Cost(Flipped(at_, {i}));  // for the next best choices
    Known& chosen = known_.at(at_);
    plan_.classes[which_] = Class(chosen.made);
    best_ = SearchKnobs(&plan_, which_, prices_, first ? Effort::kFull : Effort::kNear, &chosen.from);
    for (size_t i = 0; i < open_.size(); ++i) start->segments[Index(i)] = at_[i];
    start->knobs = chosen.from.knobs;
    Note();
  }

 private:
  struct Known {
    double seconds = INFINITY;
    Class made;
    SearchStart from;
  };

  size_t Index(size_t i) const { return size_t(open_[i] - kSegments); }
  static std::vector<int> Flipped(std::vector<int> at, std::initializer_list<size_t> flips) {
    for (size_t i : flips) at[i] = 1 - at[i];
    return at;
  }

  // Returns the cost of the class with these choices and its knobs searched. Infinite if a wire needs more bits than it
  // may have.
  double Cost(const std::vector<int>& at) {
    auto [it, fresh] = known_.try_emplace(at);
    if (!fresh) return it->second.seconds;
    Options o = policy_;
    for (size_t i = 0; i < open_.size(); ++i) o.*open_[i]->field = at[i];
    try {
      plan_.classes[which_] = make_(o);
    } catch (const Error& e) {
      if (e.cause() != Cause::kRefused) throw;
      return INFINITY;
    }
    const std::vector<SearchState>& nearest = known_.at(at_).from.knobs;
    it->second.from = {nearest.empty() ? start_ : nearest, best_, hopeless_, {}, memo_};
    it->second.seconds = SearchKnobs(&plan_, which_, prices_, Effort::kCompare, &it->second.from);
    best_ = std::min(best_, it->second.seconds);
    it->second.made = Class(plan_.classes[which_]);
    return it->second.seconds;
  }

  // Throws the reason why no candidate has a trace: that of the present choices.
  void Refuse() {
    Options o = policy_;
    for (size_t i = 0; i < open_.size(); ++i) o.*open_[i]->field = at_[i];
    plan_.classes[which_] = make_(o);
    pfss::Trace t;
    const Class& c = plan_.classes[which_];
    Build(t, plan_, c.max_n, c.variant);
    Fail(Cause::kRefused, "no choice of options gives texts of ", c.max_n, " tokens a trace; use shorter texts");
  }

  // Chooses the candidate with the fewest flights among those that cost as much as the cheapest.
  void FewestFlights() {
    const auto near = [this](const auto& candidate) { return candidate.second.seconds <= kTie * best_; };
    if (std::count_if(known_.begin(), known_.end(), near) == 1) return;  // the cheapest one
    int fewest = std::numeric_limits<int>::max();
    for (const auto& candidate : known_) {
      if (!near(candidate)) continue;
      const auto& [at, known] = candidate;
      plan_.classes[which_] = Class(known.made);
      pfss::Trace t;
      Build(t, plan_, known.made.max_n, known.made.variant);
      if (const int flights = pfss::Schedule(t).flights(); flights < fewest) {
        fewest = flights;
        at_ = at;
      }
    }
  }

  bool Try(std::initializer_list<size_t> flips) {
    const std::vector<int> other = Flipped(at_, flips);
    if (Cost(other) >= Cost(at_)) return false;
    at_ = other;
    return true;
  }

  // Records the choice of each segment, and how much slower the other choice is if all others stay. A negative time is
  // that of a choice as good with more flights.
  void Note() {
    std::vector<Chosen> notes;
    for (size_t i = 0; i < open_.size(); ++i) {
      Chosen c{open_[i]->name, open_[i]->choices[at_[i]], "", 0};
      if (const double other = known_.at(Flipped(at_, {i})).seconds; std::isfinite(other)) {
        c.runner_up = open_[i]->choices[1 - at_[i]];
        c.microseconds = int64_t(std::lround((other - best_) * 1e6));
      }
      notes.push_back(std::move(c));
    }
    std::vector<Chosen>& all = plan_.classes[which_].choices;
    all.insert(all.begin(), notes.begin(), notes.end());
  }

  Plan& plan_;
  const size_t which_;
  const compiler::Prices& prices_;
  const Options& policy_;
  const MakeClass& make_;
  BillMemo* const memo_;
  std::vector<const Segment*> open_;
  std::vector<int> at_;
  std::map<std::vector<int>, Known> known_;
  std::vector<SearchState> start_;  // knobs of the class before
  double hopeless_ = kHopelessFirst;
  double best_ = INFINITY;  // seconds of the best candidate; in the end, of the class
};

}  // namespace

std::span<const Segment> Segments() { return kSegments; }

void SearchSegments(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy,
                    const MakeClass& make, Start* start, BillMemo* memo) {
  Choosing(plan, which, prices, policy, make, memo).Run(start);
}

bool MayTile(const Graph& g, const Class& c) {
  return c.max_n >= kTiledTokens && std::all_of(g.nodes().begin(), g.nodes().end(), [&](const auto& n) {
           const Operator& op = *c.ops[size_t(n->index)];
           return op.unused || op.Tiles();
         });
}

namespace {

// Sets *tiles to the cheaper number for a batch of `texts` texts, and records the choice.
void ChooseNumber(Plan* plan, size_t which, const compiler::Prices& prices, int texts, int Class::*tiles,
                  const char* what) {
  Class& c = plan->classes[which];
  double seconds[3] = {};
  for (int number : {1, 2}) {
    c.*tiles = number;
    const compiler::TraceBill priced =
        compiler::CostOf(WithSteps(prices), {}, [&](pfss::Trace& t) { Build(t, *plan, c.max_n, c.variant, texts); });
    seconds[number] = priced.why_not.empty() ? priced.seconds : INFINITY;
  }
  c.*tiles = !prices.whole && seconds[2] < kWorthTiles * seconds[1] ? 2 : 1;
  const int other = 3 - c.*tiles;
  const double slower = std::max(0.0, seconds[other] - seconds[c.*tiles]);  // 0: the gain is below kWorthTiles
  c.choices.insert(c.choices.begin(), {what, Str(c.*tiles), Str(other), int64_t(std::lround(slower * 1e6))});
}

}  // namespace

void ChooseTiles(Plan* plan, size_t which, const compiler::Prices& prices, const Options& policy) {
  if (policy.tiles != Options::kTilesByCost) return;
  const Class& c = plan->classes[which];
  if (!TakesOneText(plan->graph, c)) ChooseNumber(plan, which, prices, 2, &Class::batch_tiles, "tiles of a batch");
  if (MayTile(plan->graph, c)) ChooseNumber(plan, which, prices, 1, &Class::tiles, "tiles");
}

}  // namespace suf::nn
