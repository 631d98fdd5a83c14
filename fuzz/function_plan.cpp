// Fuzzes a function's plan file: its text, read strictly, with the hash corrected. An accepted plan is written and read
// again; its trace passes the lint and ends as the plan says.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.hpp"
#include "suf/base/digest.hpp"
#include "suf/gates/plan_text.hpp"

SUF_FUZZ(function_plan) {
  using namespace suf;
  std::string text = fuzz::TextOf(input);
  auto j = nlohmann::ordered_json::parse(text, nullptr, false);
  if (j.is_object() && j.contains("hash")) {
    j.erase("hash");
    j["hash"] = Hex(HashOf({AsView(j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))}));
    text = j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  const gates::FunctionFile file = gates::ParseFile(text);
  SUF_CHECK(gates::Print(gates::ParseFile(gates::Print(file))) == gates::Print(file));
  pfss::Trace t;
  gates::Emit(t, file.plan, 1);
  SUF_CHECK(pfss::Lint(pfss::Schedule(t)).faults.empty() && pfss::EndingOf(t) == gates::EndingOf(file.plan));
}
