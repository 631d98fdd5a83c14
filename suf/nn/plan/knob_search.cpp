#include "suf/nn/plan/knob_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace suf::nn {

namespace {

// A knob of all operators of one kind and role, at `nodes`.
struct KnobGroup {
  std::vector<int> nodes;
  std::string name;
  std::vector<std::string> options;
  size_t at = 0;
  std::vector<Knob> knobs;
  bool fresh = true;  // no search has set it
  void Set(size_t option) {
    at = option;
    for (Knob& k : knobs) k.set(option);
  }
};

std::vector<KnobGroup> GroupsOf(Plan* plan, Class* c) {
  std::vector<KnobGroup> out;
  std::map<std::string, size_t> found;
  for (auto& n : plan->graph.nodes()) {
    Operator& op = *c->ops[size_t(n->index)];
    for (Knob& k : op.Knobs()) {
      const std::string name = Str(n->label.empty() ? std::string(op.Name()) : n->label, ", ", k.name);
      auto [at, fresh] = found.try_emplace(name, out.size());
      if (fresh) out.push_back({{}, name, k.options, k.at, {}});
      KnobGroup& g = out[at->second];
      if (g.options != k.options) continue;  // a layer with other options keeps its own
      k.set(g.at);
      g.nodes.push_back(n->index);
      g.knobs.push_back(std::move(k));
    }
  }
  return out;
}

// Returns a knob's name without its numbers of bits, which differ between classes.
std::string WithoutNumbers(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

// Sets a group to its earlier option, or to that of the first group of its kind. A group with another name belongs to
// another value, so it stays fresh.
void Begin(KnobGroup* g, const std::vector<SearchState>& knobs) {
  for (const bool exact : {true, false})
    for (const SearchState& h : knobs) {
      if (exact ? h.name != g->name : WithoutNumbers(h.name) != WithoutNumbers(g->name)) continue;
      if (h.options != g->options) continue;
      g->fresh = !exact;
      return g->Set(h.at);
    }
}

// A candidate within this factor of the cheapest may be the cheapest once all of its knobs are searched.
constexpr double kNearBest = 1.03;
// The most changes an operator by which a start without a trace gets one. Groups may undo each other's changes.
constexpr size_t kMostRepairs = 4;

class Descent {
 public:
  Descent(Plan* plan, size_t which, const compiler::Prices& prices, SearchStart* from, const EmitPlan& emit)
      : plan_(*plan),
        class_(plan->classes[which]),
        prices_(WithSteps(prices)),
        emit_(emit),
        groups_(GroupsOf(plan, &class_)),
        from_(*from),
        known_(from->known),
        bills_(MakeBills()) {
    for (KnobGroup& g : groups_) Begin(&g, from_.knobs);
  }

  double Run(Effort effort) {
    best_ = Cost();
    if (!std::isfinite(best_) && Repair()) best_ = Cost();
    if (effort == Effort::kCompare)
      Compare();
    else {
      Singles();
      Together();
    }
    while (effort == Effort::kFull && (Singles() || Pairs())) {
    }
    from_.knobs.clear();
    for (const KnobGroup& g : groups_) from_.knobs.push_back({g.name, g.options, g.at});
    if (effort != Effort::kCompare) Note();
    return best_;
  }

 private:
  std::vector<size_t> State() const {
    std::vector<size_t> s;
    for (const KnobGroup& g : groups_) s.push_back(g.at);
    return s;
  }

  // Changes options of operators that have no trace, one operator after the other, until the class has one. Returns
  // whether it has. Many operators may start so, for example norms whose rows are too long for their tables.
  bool Repair() {
    if (emit_) return false;
    for (size_t left = kMostRepairs * class_.ops.size(); left > 0; --left) {
      const std::optional<size_t> refused = RefusedNow();
      if (!refused) return true;
      if (!Advance(*refused)) return false;
    }
    return false;
  }

  // Sets another option of one of a refused operator's groups, with which the trace gets beyond it. Returns whether
  // there is one.
  bool Advance(size_t refused) {
    for (const size_t g : bills_.KnobsOf(refused)) {
      const size_t own = groups_[g].at;
      for (size_t o = 0; o < groups_[g].options.size(); ++o) {
        if (o == own) continue;
        groups_[g].Set(o);
        if (const std::optional<size_t> next = RefusedNow(); !next || *next > refused) return true;
      }
      groups_[g].Set(own);
    }
    return false;
  }

  // Returns the operator that has no trace as the plan is set.
  std::optional<size_t> RefusedNow() {
    Derive(plan_.graph, class_.ops);
    return bills_.Learn(State());
  }

  // Searches the knobs that no search has set. The others change a candidate's cost by less than kNearBest.
  void Compare() {
    if (best_ >= from_.hopeless * from_.best) return;
    Singles(true);
    Together();
    if (best_ < kNearBest * from_.best) {
      Singles();
      Together();
    }
  }

  // Returns the bills of the class. It sets each knob to its first option meanwhile.
  ClassBills MakeBills() {
    std::vector<std::vector<size_t>> knobs(class_.ops.size());
    const std::vector<size_t> made = State();
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const int node : groups_[g].nodes) knobs[size_t(node)].push_back(g);
      groups_[g].Set(0);
    }
    ClassBills bills(plan_, class_, std::move(knobs), from_.memo ? *from_.memo : own_memo_);
    for (size_t g = 0; g < groups_.size(); ++g) groups_[g].Set(made[g]);
    return bills;
  }

  // Returns the cost of the plan as it is set. Infinite if a cut has no such plan, or if enough states were priced.
  double Cost() {
    auto [it, fresh] = known_.try_emplace(State(), INFINITY);
    if (!fresh || known_.size() > size_t(kMostStates)) return it->second;
    Derive(plan_.graph, class_.ops);  // a knob may change how a wire is read
    if (emit_) {
      const compiler::TraceBill priced = compiler::CostOf(prices_, {}, [&](pfss::Trace& t) { emit_(t, plan_); });
      return it->second = priced.why_not.empty() ? priced.seconds : INFINITY;
    }
    if (const auto bill = bills_.Of(State())) it->second = compiler::Seconds(*bill, prices_);
    return it->second;
  }

  // Sets other options of some groups, and keeps them if the plan gets cheaper.
  bool Try(const std::vector<std::pair<size_t, size_t>>& change) {
    const std::vector<size_t> before = State();
    for (auto [g, option] : change) groups_[g].Set(option);
    const double cost = Cost();
    if (cost < best_) {
      best_ = cost;
      return true;
    }
    for (auto [g, option] : change) groups_[g].Set(before[g]);
    return false;
  }

  // Reads off DCFs everything of one operator that can be, at once. Each saves a stage, and stages pay in pairs.
  void Together() {
    std::map<int, std::vector<std::pair<size_t, size_t>>> changes;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t o = 0; o < groups_[g].options.size(); ++o)
        if (o != groups_[g].at && (groups_[g].options[o] == "dcf" || groups_[g].options[o] == "StepDcf"))
          changes[groups_[g].nodes[0]].push_back({g, o});
    for (auto& [node, change] : changes)
      if (change.size() > 1) Try(change);
  }

  // Makes traces in which many groups have another option at once, at most one of each operator. Then the bills of
  // single changes of all or only fresh groups need no trace.
  void Explore(bool fresh) {
    if (emit_) return;
    const std::vector<size_t> base = State();
    std::vector<std::pair<size_t, size_t>> rest;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t o = 0; o < groups_[g].options.size(); ++o)
        if (o != base[g] && (groups_[g].fresh || !fresh)) rest.push_back({g, o});
    while (!rest.empty()) {
      std::set<int> taken;
      std::erase_if(rest, [&](const auto& change) {
        KnobGroup& g = groups_[change.first];
        if (std::any_of(g.nodes.begin(), g.nodes.end(), [&](int n) { return taken.contains(n); })) return false;
        taken.insert(g.nodes.begin(), g.nodes.end());
        g.Set(change.second);
        return true;
      });
      LearnFeasible(base);
      for (size_t g = 0; g < groups_.size(); ++g) groups_[g].Set(base[g]);
    }
  }

  // Makes a trace of the plan as it is set. Operators that refuse their options take those of `base`.
  void LearnFeasible(const std::vector<size_t>& base) {
    for (bool changed = true; changed;) {
      const std::optional<size_t> refused = RefusedNow();
      changed = false;
      if (!refused) return;
      for (size_t g : bills_.KnobsOf(*refused)) {
        changed = changed || groups_[g].at != base[g];
        groups_[g].Set(base[g]);
      }
    }
  }

  bool Singles(bool fresh = false) {
    Explore(fresh);
    bool better = false;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t o = 0; o < groups_[g].options.size(); ++o)
        if (o != groups_[g].at && (groups_[g].fresh || !fresh)) better = Try({{g, o}}) || better;
    return better;
  }

  // Tries one more stage, or one fewer, in two groups at once. Neither alone may cost more than the two flights a node
  // that both together can save.
  bool Pairs() {
    std::vector<std::pair<size_t, size_t>> steps;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t o : {groups_[g].at - 1, groups_[g].at + 1}) {
        if (o >= groups_[g].options.size()) continue;
        const size_t own = groups_[g].at;
        groups_[g].Set(o);
        if (Cost() < best_ + 2 * (prices_.flight + prices_.step) * double(groups_[g].knobs.size()))
          steps.push_back({g, o});
        groups_[g].Set(own);
      }
    for (size_t a = 0; a < steps.size(); ++a)
      for (size_t b = a + 1; b < steps.size(); ++b)
        if (steps[a].first != steps[b].first && Try({steps[a], steps[b]})) return true;
    return false;
  }

  // Records the choice of each group and the next best option of that group alone.
  void Note() {
    class_.choices.clear();
    for (KnobGroup& g : groups_) {
      Chosen c{g.name, g.options[g.at], "", 0};
      double next = INFINITY;
      for (size_t o = 0, own = g.at; o < g.options.size(); ++o) {
        if (o == own) continue;
        g.Set(o);
        if (const double cost = Cost(); cost < next) {
          next = cost;
          c.runner_up = g.options[o];
        }
        g.Set(own);
      }
      if (std::isfinite(next)) c.microseconds = int64_t(std::lround((next - best_) * 1e6));
      class_.choices.push_back(std::move(c));
    }
  }

  Plan& plan_;
  Class& class_;
  const compiler::Prices prices_;
  const EmitPlan& emit_;
  std::vector<KnobGroup> groups_;
  SearchStart& from_;
  PricedStates& known_;
  BillMemo own_memo_;
  ClassBills bills_;
  double best_ = 0;
};

// The words that take as long as ending a program and beginning another. 50 more flights made an encoder's online part
// 8 to 14 ms longer on loopback, of which 2 ms were frames.
constexpr double kStepWords = 250'000;
// The least seconds of such an end and beginning, for cheap words. On a device a step is a graph of kernels that wait
// for each other, between copies.
constexpr double kLeastStep = 50e-6;

}  // namespace

compiler::Prices WithSteps(compiler::Prices p) {
  p.step += std::max(kStepWords * p.word, kLeastStep);
  return p;
}

double SearchKnobs(Plan* plan, size_t which, const compiler::Prices& prices, Effort effort, SearchStart* from,
                   const EmitPlan& emit) {
  SearchStart fresh;
  const double seconds = Descent(plan, which, prices, from ? from : &fresh, emit).Run(effort);
  Derive(plan->graph, plan->classes[which].ops);  // the last trial is not the choice
  return seconds;
}

}  // namespace suf::nn
