#include "suf/gates/plan_text.hpp"

#include <nlohmann/json.hpp>

#include "suf/func/text.hpp"
#include "suf/gates/internal/plan_fields.hpp"

namespace suf::gates {

namespace {

constexpr const char* kFrom[] = {"p0", "p1", "shared"};
constexpr const char* kTo[] = {"p0", "p1", "both", "shared"};

template <class T, size_t N>
T Find(const char* const (&names)[N], const std::string& name, const char* what) {
  std::string all;
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return T(i);
    all += (i ? ", " : "") + std::string(names[i]);
  }
  Fail(Cause::kInput, what, " does not know ", name, "; use one of ", all);
}

PlanJson Content(const FunctionFile& f) {
  return {{"kind", "function"},        {"version", kFunctionPlanVersion}, {"function", func::Print(f.plan.f)},
          {"lowering", Name(f.plan)},  {"from", Name(f.plan.from)},       {"to", Name(f.plan.to)},
          {"max_values", f.max_values}};
}

}  // namespace

const char* Name(Origin from) { return kFrom[size_t(from)]; }
const char* Name(To to) { return kTo[size_t(to)]; }
Origin FromNamed(const std::string& name, const char* what) { return Find<Origin>(kFrom, name, what); }
To ToNamed(const std::string& name, const char* what) { return Find<To>(kTo, name, what); }

Hash HashOfFile(const FunctionFile& file) { return HashOfContent(Content(file)); }

std::string Print(const FunctionFile& file) { return PrintPlan(Content(file)); }

bool IsFunctionPlan(const std::string& text) {
  const PlanJson j = PlanObject(text);
  return j.contains("kind") && PlanKind(j) != "composition";
}

FunctionFile ParseFile(const std::string& text) {
  const PlanJson j = PlanObject(text);
  CheckPlan(j, "function", kFunctionPlanVersion,
            {"kind", "version", "function", "lowering", "from", "to", "max_values", "hash"});
  FunctionFile file;
  FunctionPlan& plan = file.plan;
  file.max_values = NumberField(j, "max_values", 1, kMostValues);
  plan.f = PlanField("function", [&] { return func::ParseFunction(TextField(j, "function")); });
  plan.from = PlanField("from", [&] { return FromNamed(TextField(j, "from"), "it"); });
  plan.to = PlanField("to", [&] { return ToNamed(TextField(j, "to"), "it"); });
  plan.choice = PlanField("lowering", [&] { return ChoiceOf(plan.f, TextField(j, "lowering")); });
  CheckContent(j, Content(file));
  return file;
}

}  // namespace suf::gates
