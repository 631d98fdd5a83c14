// The lowerings of a composition's statements, chosen together.
#include <algorithm>

#include "suf/gates/compose/composition.hpp"
#include "suf/gates/compose/place.hpp"

namespace suf::gates {

// Returns the options of each gate statement. Throws Cause::kRefused if one has none.
static std::vector<std::vector<std::string>> OptionsOf(const Composition& c) {
  std::vector<std::vector<std::string>> out;
  for (const auto& g : c.gates()) {
    out.push_back(AtPlace(g.place, [&] { return g.gate->Options(g.use); }));
    if (out.back().empty())
      Fail(Cause::kRefused, Where(g.place), "no lowering of ", g.gate->facts.name, " applies to these types");
  }
  return out;
}

// Returns the first option of each statement.
static GateChoices Firsts(const std::vector<std::vector<std::string>>& options) {
  GateChoices out;
  for (const std::vector<std::string>& of_gate : options) out.push_back(of_gate[0]);
  return out;
}

GateChoices DefaultChoices(const Composition& c) { return Firsts(OptionsOf(c)); }

namespace {

// Returns whether a bill is better. It applies first; then it has fewer messages that steer; then it costs less.
bool Better(const compiler::TraceBill& a, const compiler::TraceBill& b, bool safe) {
  if (a.why_not.empty() != b.why_not.empty()) return a.why_not.empty();
  if (safe && a.steered != b.steered) return a.steered < b.steered;
  return a.why_not.empty() && a.seconds < b.seconds;
}

}  // namespace

GateChoices Choose(const Composition& c, const compiler::Prices& prices, int64_t rows, const pfss::Capabilities& can,
                   bool safe) {
  constexpr int kMostRounds = 8;
  constexpr size_t kMostKept = 4;                                // options of a statement after the first round
  constexpr size_t kMostEmitted = 20'000;                        // statements in all traces that are priced
  std::vector<std::vector<std::string>> options = OptionsOf(c);  // each may compile a function
  GateChoices best = Firsts(options);
  size_t emitted = 0;
  auto price = [&](const GateChoices& choices) {
    emitted += choices.size();
    return compiler::PriceOf(prices, can, [&](Trace& t) { Emit(t, c, choices, rows); });
  };
  compiler::TraceBill now = price(best);
  bool better = true;
  for (int round = 0; better && round < kMostRounds; ++round) {
    better = false;
    for (size_t i = 0; i < best.size(); ++i) {
      std::vector<std::pair<compiler::TraceBill, std::string>> seen;
      for (const std::string& option : options[i]) {
        if (emitted > kMostEmitted) break;
        GateChoices next = best;
        next[i] = option;
        if (options[i].size() > 1) seen.emplace_back(option == best[i] ? now : price(next), option);
      }
      if (seen.empty()) continue;
      std::stable_sort(seen.begin(), seen.end(), [&](auto& a, auto& b) { return Better(a.first, b.first, safe); });
      if (Better(seen[0].first, now, safe)) {
        now = seen[0].first;
        best[i] = seen[0].second;
        better = true;
      }
      if (round == 0 && seen.size() == options[i].size() && seen.size() > kMostKept) {
        options[i].clear();
        for (size_t k = 0; k < kMostKept; ++k) options[i].push_back(seen[k].second);
      }
    }
  }
  if (!now.why_not.empty()) Fail(Cause::kRefused, now.why_not);
  return best;
}

}  // namespace suf::gates
