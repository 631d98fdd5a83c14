// The command `suf fn cost`: every lowering of a function with its cost, and the choice of each network.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/fn/fn_source.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"

namespace suf::apps {

using compiler::Candidate;
using compiler::Profile;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

std::string Time(double seconds) {
  if (seconds < 1e-3) return Fixed(seconds * 1e6, 1) + " us";
  if (seconds < 1) return Fixed(seconds * 1e3, 2) + " ms";
  return Fixed(seconds, 2) + " s";
}

// Returns the columns that a narrow terminal drops, least useful first; of the profiles, the last one first.
std::vector<std::string> DropOf(const std::vector<Profile>& profiles) {
  std::vector<std::string> out{"AES P0", "AES P1", "AES dealer", "key P0", "P0 sends"};
  for (size_t k = profiles.size(); k > 1; --k) out.push_back(profiles[k - 1].name);
  out.insert(out.end(), {"P1 sends", "key P1", "flights"});
  return out;
}

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

}  // namespace

int RunFnCost(const FnCostArgs& a) {
  const NamedFunction g = FunctionOf(a.f);
  const gates::FunctionPlan plan = PlanOf(g.f, a.ends);
  std::vector<Profile> profiles = compiler::Profiles();
  if (!a.profile.empty()) profiles = {compiler::ParseProfile(a.profile)};
  for (Profile& p : profiles) compiler::SetKeys(&p, a.keys);
  const bool now = profiles[0].prices.now;
  const backends::BackendEntry backend = BackendOf(a.backend, false);
  std::vector<Candidate> all = gates::Price(plan, profiles[0].prices, a.count, backend.can);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) {
    if (x.why_not.empty() != y.why_not.empty()) return x.why_not.empty();
    return x.why_not.empty() && x.seconds < y.seconds;
  });
  std::vector<std::string> choice;  // by profile
  for (const Profile& p : profiles) choice.push_back(ChoiceOf(plan, all, p.prices));
  if (a.json) {
    ordered_json out{{"schema", "suf.fn.cost/2"},  {"name", func::Name(g.f)},
                     {"n", func::DomainBits(g.f)}, {"ring", func::RingBits(g.f)},
                     {"from", a.ends.from},        {"to", a.ends.to},
                     {"count", a.count},           {"keys", now ? "now" : "ahead"},
                     {"backend", backend.name}};
    out["lowerings"] = json::array();
    out["refused"] = json::array();
    for (const Candidate& c : all) {
      if (!c.why_not.empty()) {
        out["refused"].push_back({{"lowering", c.name}, {"why", c.why_not}});
        continue;
      }
      const compiler::Bill& b = c.bill;
      ordered_json row{{"lowering", c.name},
                       {"flights", b.flights},
                       {"sent_bytes", b.sent},
                       {"key_bytes", b.key},
                       {"aes_blocks", {b.blocks[2], b.blocks[0], b.blocks[1]}},
                       {"words", {b.words[2], b.words[0], b.words[1]}},
                       {"safe", c.steering.empty()}};
      for (const Profile& p : profiles) row["seconds"][p.name] = compiler::Seconds(b, p.prices);
      out["lowerings"].push_back(row);
    }
    for (size_t k = 0; k < profiles.size(); ++k) out["choice"][profiles[k].name] = choice[k];
    std::cout << out.dump() << "\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows{
      {"lowering", "flights", "P0 sends", "P1 sends", "key P0", "key P1", "AES dealer", "AES P0", "AES P1"}};
  const std::string safe = Safe(plan);
  if (!safe.empty()) rows[0].insert(rows[0].begin() + 1, "safe");
  for (const Profile& p : profiles) rows[0].push_back(p.name);
  for (const Candidate& c : all) {
    if (!c.why_not.empty()) continue;
    const compiler::Bill& b = c.bill;
    rows.push_back({c.name, Str(b.flights), Bytes10(b.sent[0]), Bytes10(b.sent[1]), Bytes10(b.key[0]),
                    Bytes10(b.key[1]), Count10(b.blocks[2]), Count10(b.blocks[0]), Count10(b.blocks[1])});
    if (!safe.empty()) rows.back().insert(rows.back().begin() + 1, c.steering.empty() ? "yes" : "no");
    for (size_t k = 0; k < profiles.size(); ++k)
      rows.back().push_back(Time(compiler::Seconds(b, profiles[k].prices)) + (c.name == choice[k] ? " *" : "  "));
  }
  std::cout << func::Name(g.f) << ", " << Plural(a.count, "value") << " from " << a.ends.from << " to " << a.ends.to
            << " in one run; keys are made " << (now ? "while the parties wait" : "ahead") << "\n\n"
            << Table(rows, DropOf(profiles)) << "\n"
            << safe << "flights: messages in one direction, one after another; *: the choice"
            << (gates::RevealsToP0(plan) ? " among safe ones, if there are any" : "") << "\n";
  for (size_t k = 0; k < profiles.size(); ++k)
    std::cout << profiles[k].name << (profiles[k].source == "given" ? "" : Str(" (", profiles[k].source, ")")) << ": "
              << choice[k] << "\n";
  PrintedRows refused;
  for (const Candidate& c : all)
    if (!c.why_not.empty()) refused.push_back({"  " + c.name, c.why_not});
  if (!refused.empty()) std::cout << "\nnot available:\n" << Listing(refused);
  return 0;
}

}  // namespace suf::apps
