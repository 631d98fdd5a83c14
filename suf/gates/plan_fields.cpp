#include "suf/gates/internal/plan_fields.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/base/json.hpp"

namespace suf::gates {

PlanJson PlanObject(const std::string& text) {
  PlanJson j = ReadOrderedJson(text, {"the plan", "make the plan again", Cause::kRefused});
  if (!j.is_object()) Fail(Cause::kRefused, "the plan is no JSON object; make the plan again");
  return j;
}

std::string PlanKind(const PlanJson& plan) {
  auto it = plan.find("kind");
  return it != plan.end() && it->is_string() ? it->get<std::string>() : "";
}

void CheckPlan(const PlanJson& plan, const std::string& kind, int version, std::initializer_list<const char*> fields) {
  const bool is_model = plan.contains("nodes");
  const std::string other = is_model ? "model" : PlanKind(plan);
  if (is_model || (other != kind && (other == "function" || other == "composition")))
    Fail(Cause::kRefused, "this is the plan of a ", other, ", not of a ", kind, "; make one with the ", kind);
  for (auto& [key, x] : plan.items())
    if (std::find(fields.begin(), fields.end(), key) == fields.end())
      Fail(Cause::kRefused, "the plan's field ", key, " is unknown; make the plan again");
  if (TextField(plan, "kind") != kind)
    Fail(Cause::kRefused, "the plan's field kind is '", TextField(plan, "kind"), "', not '", kind,
         "'; make the plan again");
  if (const int64_t has = NumberField(plan, "version", INT64_MIN, INT64_MAX); has != version)
    Fail(Cause::kRefused, "the plan has version ", has, ", this program reads version ", version, " of a ", kind,
         "'s; make the plan again");
}

std::string TextField(const PlanJson& plan, const char* name) {
  auto it = plan.find(name);
  if (it == plan.end() || !it->is_string())
    Fail(Cause::kRefused, "the plan's field ", name, " is missing or no text; make the plan again");
  return it->get<std::string>();
}

int64_t NumberField(const PlanJson& plan, const char* name, int64_t low, int64_t high) {
  auto it = plan.find(name);
  if (it == plan.end() || !it->is_number_integer())
    Fail(Cause::kRefused, "the plan's field ", name, " is missing or no whole number; make the plan again");
  const bool fits = !it->is_number_unsigned() || it->get<uint64_t>() <= uint64_t(INT64_MAX);
  if (!fits || it->get<int64_t>() < low || it->get<int64_t>() > high)
    Fail(Cause::kRefused, "the plan's field ", name, " is ", it->dump(), ", outside ", low, " to ", high,
         "; make the plan again");
  return it->get<int64_t>();
}

Hash HashOfContent(const PlanJson& content) { return HashOf({AsView(content.dump())}); }

std::string PrintPlan(PlanJson content) {
  const Hash hash = HashOfContent(content);
  content["hash"] = Hex(hash);
  return content.dump(1) + "\n";
}

void CheckContent(PlanJson plan, const PlanJson& content) {
  const std::string hash = TextField(plan, "hash");
  plan.erase("hash");
  if (hash != Hex(HashOfContent(content)) || plan != content)
    Fail(Cause::kRefused, "the plan's content does not match its hash; copy or make the plan again");
}

}  // namespace suf::gates
