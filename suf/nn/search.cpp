#include "suf/nn/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "suf/nn/build.hpp"

namespace suf::nn {

namespace {

// Group: a knob of all operators of one kind and role.
struct Group {
  std::string name;
  std::vector<std::string> options;
  size_t at = 0;
  std::vector<Knob> knobs;
  void Set(size_t option) {
    at = option;
    for (Knob& k : knobs) k.set(option);
  }
};

std::vector<Group> GroupsOf(Plan* plan, Class* c) {
  std::vector<Group> out;
  std::map<std::string, size_t> found;
  for (auto& n : plan->graph.nodes()) {
    Operator& op = *c->ops[size_t(n->index)];
    for (Knob& k : op.Knobs()) {
      const std::string name = Str(n->label.empty() ? std::string(op.Name()) : n->label, ", ", k.name);
      auto [at, fresh] = found.try_emplace(name, out.size());
      if (fresh) out.push_back({name, k.options, k.at, {}});
      Group& g = out[at->second];
      if (g.options != k.options) continue;  // a layer's own: it stays as it is
      k.set(g.at);
      g.knobs.push_back(std::move(k));
    }
  }
  return out;
}

constexpr double kFar = 1.05;

class Descent {
 public:
  Descent(Plan* plan, size_t which, const compiler::Prices& prices, const std::vector<Chosen>& from,
          const EmitPlan& emit)
      : plan_(*plan),
        class_(plan->classes[which]),
        prices_(WithSteps(prices)),
        emit_(emit),
        groups_(GroupsOf(plan, &class_)) {
    for (Group& g : groups_)
      for (const Chosen& c : from)
        if (auto at = std::find(g.options.begin(), g.options.end(), c.choice);
            c.what == g.name && at != g.options.end())
          g.Set(size_t(at - g.options.begin()));
  }

  double Run(Effort effort, double worth) {
    best_ = Cost();
    if (effort != Effort::kCompare || best_ < kHopeless * worth) Singles();
    if (effort == Effort::kFull) Together();
    while (effort == Effort::kFull && (Singles() || Pairs())) {
    }
    class_.choices.clear();
    if (effort != Effort::kCompare) return Note(), best_;
    for (const Group& g : groups_) class_.choices.push_back({g.name, g.options[g.at], "", 0});
    return best_;
  }

 private:
  std::vector<size_t> State() const {
    std::vector<size_t> s;
    for (const Group& g : groups_) s.push_back(g.at);
    return s;
  }

  // Cost: of the plan as it is set; infinite where a cut has no such plan, or when enough was tried.
  double Cost() {
    auto [it, fresh] = known_.try_emplace(State(), INFINITY);
    if (!fresh || known_.size() > size_t(kMostTraces)) return it->second;
    Derive(plan_.graph, class_.ops);  // a knob may change how a wire is read
    const compiler::Priced priced = compiler::PriceOf(
        prices_, {}, [&](pfss::Trace& t) { emit_ ? emit_(t, plan_) : Build(t, plan_, class_.max_n, class_.variant); });
    if (!priced.why_not.empty()) return it->second;
    return it->second = priced.seconds;
  }

  // Try: other options of some groups; kept when cheaper.
  bool Try(std::initializer_list<std::pair<size_t, size_t>> change) {
    const std::vector<size_t> before = State();
    for (auto [g, option] : change) groups_[g].Set(option);
    const double cost = Cost();
    if (cost < best_) return best_ = cost, true;
    for (auto [g, option] : change) groups_[g].Set(before[g]);
    return false;
  }

  // Together: all that can be read off DCFs is, as stages pay in twos; what does not pay of them goes back one by one.
  void Together() {
    const std::vector<size_t> before = State();
    for (Group& g : groups_)
      for (size_t o = 0; o < g.options.size(); ++o)
        if (g.options[o] == "dcf" || g.options[o] == "StepDcf") g.Set(o);
    if (const double cost = Cost(); cost < best_)
      best_ = cost;
    else
      for (size_t g = 0; g < groups_.size(); ++g) groups_[g].Set(before[g]);
  }

  bool Singles() {
    bool better = false;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t o = 0; o < groups_[g].options.size(); ++o)
        if (o != groups_[g].at) better = Try({{g, o}}) || better;
    return better;
  }

  // Pairs: one more stage, or one fewer, in two groups at once, where neither alone costs over kFar of the best.
  bool Pairs() {
    std::vector<std::pair<size_t, size_t>> steps;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t o : {groups_[g].at - 1, groups_[g].at + 1}) {
        if (o >= groups_[g].options.size()) continue;
        const size_t own = groups_[g].at;
        groups_[g].Set(o);
        if (Cost() < kFar * best_) steps.push_back({g, o});
        groups_[g].Set(own);
      }
    for (size_t a = 0; a < steps.size(); ++a)
      for (size_t b = a + 1; b < steps.size(); ++b)
        if (steps[a].first != steps[b].first && Try({steps[a], steps[b]})) return true;
    return false;
  }

  // Note: by group what was chosen, and the next best option of it alone.
  void Note() {
    for (Group& g : groups_) {
      Chosen c{g.name, g.options[g.at], "", 0};
      double next = INFINITY;
      for (size_t o = 0, own = g.at; o < g.options.size(); ++o) {
        if (o == own) continue;
        g.Set(o);
        if (const double cost = Cost(); cost < next) next = cost, c.runner_up = g.options[o];
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
  std::vector<Group> groups_;
  std::map<std::vector<size_t>, double> known_;
  double best_ = 0;
};

// kStepWords: the words that take as long as the end of a program and the begin of another: 50 flights more made an
// encoder's online part 8 to 14 ms longer on loopback, of which 2 ms were frames.
constexpr double kStepWords = 250'000;

}  // namespace

compiler::Prices WithSteps(compiler::Prices p) {
  p.turn += kStepWords * p.word;
  return p;
}

double Search(Plan* plan, size_t which, const compiler::Prices& prices, Effort effort, const std::vector<Chosen>& from,
              double worth, const EmitPlan& emit) {
  const double seconds = Descent(plan, which, prices, from, emit).Run(effort, worth);
  Derive(plan->graph, plan->classes[which].ops);  // what was tried last is not what was chosen
  return seconds;
}

}  // namespace suf::nn
