// Fuzzes the plan file of a function or a composition: its text, read strictly, with the hash corrected. An accepted
// plan is written and read again; its trace passes the lint and ends as the plan says.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.hpp"
#include "suf/base/digest.hpp"
#include "suf/gates/compose/plan.hpp"
#include "suf/gates/plan_text.hpp"

namespace {
using namespace suf;

void CheckTrace(const pfss::Trace& t, const pfss::Ending& ending) {
  SUF_CHECK(pfss::Lint(pfss::Schedule(t)).faults.empty() && pfss::EndingOf(t) == ending);
}

void TakeFunction(const std::string& text) {
  const gates::FunctionFile file = gates::ParseFile(text);
  SUF_CHECK(gates::Print(gates::ParseFile(gates::Print(file))) == gates::Print(file));
  pfss::Trace t;
  gates::Emit(t, file.plan, 1);
  CheckTrace(t, gates::EndingOf(file.plan));
}

void TakeComposition(const std::string& text) {
  constexpr int64_t kMostNumbers = 1 << 12;  // of a value in a row; more take long to emit
  const gates::CompositionPlan plan = gates::ParseCompositionPlan(text);
  const gates::Composition& c = *plan.composition;
  SUF_CHECK(gates::Print(gates::ParseCompositionPlan(gates::Print(plan))) == gates::Print(plan));
  for (size_t v = 0; v < c.values().size(); ++v)
    if (gates::CountOf(c, int(v), 1) > kMostNumbers) return;
  pfss::Trace t;
  gates::Emit(t, c, plan.choices, 1);
  CheckTrace(t, gates::EndingOf(c));
}
}  // namespace

SUF_FUZZ(function_plan) {
  std::string text = fuzz::TextOf(input);
  auto j = nlohmann::ordered_json::parse(text, nullptr, false);
  if (j.is_object() && j.contains("hash")) {
    j.erase("hash");
    j["hash"] = Hex(HashOf({AsView(j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))}));
    text = j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  return gates::IsCompositionPlan(text) ? TakeComposition(text) : TakeFunction(text);
}
