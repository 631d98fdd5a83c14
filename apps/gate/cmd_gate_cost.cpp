// The command `suf gate cost`: every lowering of a gate, or the best ones of a composition, with their costs.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/costs.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"

namespace suf::apps {

using compiler::Profile;
using compiler::TraceBill;
using gates::Composition;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// Lowerings of all statements, with their bill.
struct GateCandidate {
  gates::GateChoices choices;
  TraceBill bill;
};

// The candidates, and the number of the one that each profile chooses.
struct GateCosts {
  std::vector<Profile> profiles;
  std::vector<GateCandidate> all;
  std::vector<size_t> choice;
};

// Prices every lowering of a single statement. Of several statements it prices the choice of each profile.
GateCosts GateCostsOf(const GateCostArgs& a, int64_t count, const Composition& c, const pfss::Capabilities& can) {
  GateCosts out{compiler::Profiles(), {}, {}};
  if (!a.profile.empty()) out.profiles = {compiler::ParseProfile(a.profile)};
  for (Profile& p : out.profiles) compiler::SetKeys(&p, a.keys);
  auto add = [&](const gates::GateChoices& choices) {
    for (size_t i = 0; i < out.all.size(); ++i)
      if (out.all[i].choices == choices) return i;
    out.all.push_back({choices, compiler::PriceOf(out.profiles[0].prices, can,
                                                  [&](pfss::Trace& t) { gates::Emit(t, c, choices, count); })});
    return out.all.size() - 1;
  };
  if (c.gates().size() == 1)
    for (const std::string& option : c.gates()[0].gate->Options(c.gates()[0].use)) add({option});
  for (const Profile& p : out.profiles) out.choice.push_back(add(GateChoicesFor(c, "auto", p, count, can)));
  return out;
}

// Returns the candidates that apply, by the time of the first profile.
std::vector<size_t> OrderOf(const GateCosts& costs) {
  std::vector<size_t> order;
  for (size_t i = 0; i < costs.all.size(); ++i)
    if (costs.all[i].bill.why_not.empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return costs.all[x].bill.seconds < costs.all[y].bill.seconds; });
  return order;
}

void PrintGateJson(const GateCostArgs& a, int64_t count, const GateCosts& costs, const std::string& backend) {
  ordered_json out{{"schema", "suf.gate.cost/1"}, {"name", a.g.name},        {"count", count}, {"backend", backend},
                   {"candidates", json::array()}, {"refused", json::array()}};
  for (size_t i : OrderOf(costs)) {
    const GateCandidate& k = costs.all[i];
    const compiler::Bill& b = k.bill.bill;
    ordered_json row{{"lowerings", k.choices}};
    AddBill(&row, b);
    row["safe"] = k.bill.steering.empty();
    for (const Profile& p : costs.profiles) row["seconds"][p.name] = compiler::Seconds(b, p.prices);
    out["candidates"].push_back(std::move(row));
  }
  for (const GateCandidate& k : costs.all)
    if (!k.bill.why_not.empty()) out["refused"].push_back({{"lowerings", k.choices}, {"why", k.bill.why_not}});
  for (size_t k = 0; k < costs.profiles.size(); ++k)
    out["choice"][costs.profiles[k].name] = costs.all[costs.choice[k]].choices;
  std::cout << out.dump() << "\n";
}

// Names a candidate: the lowering of a gate alone, or the profiles that choose it.
std::string NameOf(const GateCosts& costs, size_t i, bool alone) {
  const std::string ways = LoweringsOf(costs.all[i].choices);
  if (alone) return ways.empty() ? "(one way)" : ways;
  std::string out;
  for (size_t k = 0; k < costs.profiles.size(); ++k)
    if (costs.choice[k] == i) out += (out.empty() ? "for " : ", ") + costs.profiles[k].name;
  return out;
}

void PrintGateTable(const GateCostArgs& a, int64_t count, const Composition& c, const GateCosts& costs) {
  const bool alone = c.gates().size() == 1;
  const bool safe = !gates::RevealsToP0(c).empty();
  PrintedRows rows{CostHeader(alone ? "lowering" : "choice", safe, costs.profiles)};
  for (size_t i : OrderOf(costs)) {
    std::vector<bool> chosen;
    for (size_t choice : costs.choice) chosen.push_back(choice == i);
    rows.push_back(CostCells(NameOf(costs, i, alone), safe, costs.all[i].bill, costs.profiles, chosen));
  }
  std::cout << a.g.name << ", " << Plural(count, "row") << " in one run; keys are made "
            << (costs.profiles[0].prices.now ? "while the parties wait" : "ahead") << "\n\n"
            << Table(rows, CostDrop(costs.profiles)) << "\n"
            << (safe ? "safe: a P0 that alters its messages learns only its outputs\n" : "")
            << "flights: messages in one direction, one after another; *: the choice\n";
  PrintedRows refused;
  for (const GateCandidate& k : costs.all)
    if (!k.bill.why_not.empty()) refused.push_back({"  " + LoweringsOf(k.choices), k.bill.why_not});
  if (!refused.empty()) std::cout << "\nnot available:\n" << Listing(refused);
  if (alone) return;
  // every statement with the lowerings that the profiles choose
  PrintedRows ways{{"line", "statement"}};
  const std::vector<size_t> order = OrderOf(costs);
  for (size_t i : order) ways[0].push_back(NameOf(costs, i, false));
  for (size_t s = 0; s < c.gates().size(); ++s) {
    const Composition::ComposedGate& g = c.gates()[s];
    std::string made;
    for (int r : g.results)
      if (r >= 0) made += (made.empty() ? "" : ", ") + c.values()[size_t(r)].name;
    ways.push_back({g.place.line ? Str(g.place.line) : "", Str(made, " = ", g.gate->facts.name)});
    for (size_t i : order) ways.back().push_back(costs.all[i].choices[s].empty() ? "-" : costs.all[i].choices[s]);
  }
  std::cout << "\n" << Listing(ways);
}

}  // namespace

int RunGateCost(const GateCostArgs& a) {
  const Composition c = CompositionOf(a.g);
  const backends::BackendEntry backend = BackendOf(a.backend, false);
  const int64_t rows = RowsOrOne(c, a.count);
  const GateCosts costs = GateCostsOf(a, rows, c, backend.can);
  if (a.json)
    PrintGateJson(a, rows, costs, backend.name);
  else
    PrintGateTable(a, rows, c, costs);
  return 0;
}

}  // namespace suf::apps
