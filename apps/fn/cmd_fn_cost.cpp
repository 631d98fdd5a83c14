// The command `suf fn cost`: every lowering of a function with its cost, and the choice of each network.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/costs.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"

namespace suf::apps {

using compiler::Candidate;
using compiler::Profile;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// Returns the name of the lowering that these prices choose.
std::string ChoiceOf(const gates::FunctionPlan& plan, std::vector<Candidate> all, const compiler::Prices& p) {
  for (Candidate& c : all) c.seconds = compiler::Seconds(c.bill, p);
  return gates::Pick(plan, all, "auto", false).name;
}

// Explains the column "safe" for the plan; empty if P0 learns nothing of P1's values by any lowering.
std::string Safe(const gates::FunctionPlan& plan) {
  if (plan.from == gates::Origin::kP0 || plan.to == gates::To::kP1) return "";
  if (plan.to == gates::To::kShared) return "safe: a P0 that alters its messages changes only its own shares\n";
  return Str("safe: a P0 that alters its messages learns only F(x)",
             plan.from == gates::Origin::kShared ? ", for one share of its own choice" : "", "\n");
}

// The lowerings of a function with their costs, and the choice of each network.
struct CostReport {
  const FnCostArgs& args;
  gates::FunctionPlan plan;
  std::vector<Profile> profiles;
  std::string backend;
  std::vector<Candidate> all;       // by time; those that do not apply come last
  std::vector<std::string> choice;  // by profile
  bool now() const { return profiles[0].prices.now; }
};

// Prices every lowering on the backend.
CostReport CostsOf(const FnCostArgs& a) {
  CostReport r{a, PlanOf(FunctionOf(a.f).f, a.ends), compiler::Profiles(), {}, {}, {}};
  if (!a.profile.empty()) r.profiles = {compiler::ParseProfile(a.profile)};
  for (Profile& p : r.profiles) compiler::SetKeys(&p, a.keys);
  const backends::BackendEntry backend = BackendOf(a.backend, false);
  r.backend = backend.name;
  r.all = gates::Price(r.plan, r.profiles[0].prices, a.count, backend.can);
  std::stable_sort(r.all.begin(), r.all.end(), [](const Candidate& x, const Candidate& y) {
    if (x.why_not.empty() != y.why_not.empty()) return x.why_not.empty();
    return x.why_not.empty() && x.seconds < y.seconds;
  });
  for (const Profile& p : r.profiles) r.choice.push_back(ChoiceOf(r.plan, r.all, p.prices));
  return r;
}

// Returns the row of --json of one lowering.
ordered_json CostRow(const Candidate& c, const std::vector<Profile>& profiles) {
  const compiler::Bill& b = c.bill;
  ordered_json row{{"lowering", c.name}};
  AddBill(&row, b);
  row["words"] = WordsJson(b);
  row["safe"] = c.steering.empty();
  for (const Profile& p : profiles) row["seconds"][p.name] = compiler::Seconds(b, p.prices);
  return row;
}

void PrintJson(const CostReport& r) {
  const func::Function& f = r.plan.f;
  ordered_json out{{"schema", "suf.fn.cost/2"}, {"name", func::Name(f)},
                   {"n", func::DomainBits(f)},  {"ring", func::RingBits(f)},
                   {"from", r.args.ends.from},  {"to", r.args.ends.to},
                   {"count", r.args.count},     {"keys", r.now() ? "now" : "ahead"},
                   {"backend", r.backend}};
  out["lowerings"] = json::array();
  out["refused"] = json::array();
  for (const Candidate& c : r.all)
    if (c.why_not.empty())
      out["lowerings"].push_back(CostRow(c, r.profiles));
    else
      out["refused"].push_back({{"lowering", c.name}, {"why", c.why_not}});
  for (size_t k = 0; k < r.profiles.size(); ++k) out["choice"][r.profiles[k].name] = r.choice[k];
  std::cout << out.dump() << "\n";
}

// Returns a table with a row for each lowering. It has the column "safe" if Safe explains one.
PrintedRows CostTable(const CostReport& r) {
  const bool safe = !Safe(r.plan).empty();
  PrintedRows rows{CostHeader("lowering", safe, r.profiles)};
  for (const Candidate& c : r.all) {
    if (!c.why_not.empty()) continue;
    std::vector<bool> chosen;
    for (const std::string& choice : r.choice) chosen.push_back(c.name == choice);
    rows.push_back(CostCells(c.name, safe, c, r.profiles, chosen));
  }
  return rows;
}

void PrintTables(const CostReport& r) {
  std::cout << func::Name(r.plan.f) << ", " << Plural(r.args.count, "value") << " from " << r.args.ends.from << " to "
            << r.args.ends.to << " in one run; keys are made " << (r.now() ? "while the parties wait" : "ahead")
            << "\n\n"
            << Table(CostTable(r), CostDrop(r.profiles)) << "\n"
            << Safe(r.plan) << "flights: messages in one direction, one after another; *: the choice"
            << (gates::RevealsToP0(r.plan) ? " among safe ones, if there are any" : "") << "\n";
  for (size_t k = 0; k < r.profiles.size(); ++k) {
    const Profile& p = r.profiles[k];
    std::cout << p.name << (p.source == "given" ? "" : Str(" (", p.source, ")")) << ": " << r.choice[k] << "\n";
  }
  PrintedRows refused;
  for (const Candidate& c : r.all)
    if (!c.why_not.empty()) refused.push_back({"  " + c.name, c.why_not});
  if (!refused.empty()) std::cout << "\nnot available:\n" << Listing(refused);
}

}  // namespace

int RunFnCost(const FnCostArgs& a) {
  const CostReport report = CostsOf(a);
  if (a.json)
    PrintJson(report);
  else
    PrintTables(report);
  return 0;
}

}  // namespace suf::apps
