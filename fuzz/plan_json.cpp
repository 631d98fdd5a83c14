// Fuzzes an attacker's plan under its right hash. It is the JSON text of a sound plan, with changed nodes, edges,
// attributes, functions, classes and variants.
#include "fuzz/plan_json.hpp"

#include <algorithm>

#include "suf/nn/read/build.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/schedule.hpp"
#include "suf/run/deal.hpp"

namespace suf::fuzz {

const std::vector<std::pair<std::string, Json>>& SeedPlans() {
  static const auto all = [] {
    std::vector<std::pair<std::string, Json>> plans;
    for (const auto& e : std::filesystem::directory_iterator(SUF_FUZZ_DIR "/plans"))
      plans.emplace_back(e.path().stem(), Json::parse(TextOf(ReadFrom(e.path()))));
    std::sort(plans.begin(), plans.end(), [](auto& a, auto& b) { return a.first < b.first; });
    SUF_CHECK(!plans.empty());
    return plans;
  }();
  return all;
}

Json Mutant(View program) {
  static const auto all = [] {
    std::vector<Json> plans;
    for (auto& [name, plan] : SeedPlans()) plans.push_back(plan);
    return plans;
  }();
  constexpr int kMostChanges = 24;
  Json plan = all[Pull<uint8_t>(program) % all.size()];
  PlanMutation mutation(all, &program);
  for (int i = 0; i < kMostChanges && !program.empty() && plan.is_object(); ++i) mutation.Change(plan);
  return plan;
}

int TakePlan(const std::string& text, bool every) {
  const nn::Plan plan = nn::Parse(text);
  for (auto& m : nn::MaskedWeights(plan)) SUF_CHECK(m.bytes() > 0);
  int traces = 0;
  for (int v = 0; v < int(plan.variants.size()); ++v) {
    std::vector<int> lengths{plan.min_tokens};  // then the longest of each class
    constexpr int kLongest = 40;                // of a trace that is cheap enough for many executions
    for (const nn::Class& c : plan.classes)
      if (c.variant == v && c.max_n > lengths.back() && c.max_n <= kLongest) lengths.push_back(c.max_n);
    if (!every) lengths = {lengths[uint8_t(text[text.size() / 2]) % lengths.size()]};
    const bool batch = uint8_t(text[text.size() / 3]) % 2;
    for (int n : lengths)
      for (int texts : {1, 2}) {
        if (!every && batch != (texts == 2)) continue;
        pfss::Trace trace;
        try {
          nn::Build(trace, plan, n, v, texts);
        } catch (const nn::Unbuilt& e) {  // refused only by the last check
          throw Bug(e.what());
        }
        const pfss::Schedule schedule(trace);
        const pfss::LintReport lint = pfss::Lint(schedule);
        SUF_CHECK(lint.faults.empty() && pfss::EndingOf(trace) == (pfss::Ending{.learned = {0, 1}}));
        SUF_CHECK(lint.results == 1);
        for (int p : {0, 1}) (void)run::LayoutOf(schedule, p);
        (void)run::WindowOf(schedule);
        ++traces;
      }
  }
  return traces;
}

SUF_FUZZ(plan_json) { TakePlan(Hashed(Mutant(input)), false); }

}  // namespace suf::fuzz
