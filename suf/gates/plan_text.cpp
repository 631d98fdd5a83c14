#include "suf/gates/plan_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/base/json.hpp"
#include "suf/func/text.hpp"

namespace suf::gates {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFrom[] = {"p0", "p1", "shared"};
constexpr const char* kTo[] = {"p0", "p1", "both", "shared"};
constexpr const char* kFields[] = {"kind", "version", "function", "lowering", "from", "to", "max_values", "hash"};

template <class T, size_t N>
T Find(const char* const (&names)[N], const std::string& name, const char* what) {
  std::string all;
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return T(i);
    all += (i ? ", " : "") + std::string(names[i]);
  }
  Fail(Cause::kInput, what, " does not know ", name, "; use one of ", all);
}

Json Content(const FunctionFile& f) {
  return {{"kind", "function"},        {"version", kFunctionPlanVersion}, {"function", func::Print(f.plan.f)},
          {"lowering", Name(f.plan)},  {"from", Name(f.plan.from)},       {"to", Name(f.plan.to)},
          {"max_values", f.max_values}};
}

Hash HashOfContent(const Json& j) { return HashOf({AsView(j.dump())}); }

// Returns a field of the plan as text. Throws Cause::kRefused if it is missing or no text.
std::string Text(const Json& j, const char* name) {
  auto it = j.find(name);
  if (it == j.end() || !it->is_string())
    Fail(Cause::kRefused, "the plan's field ", name, " is missing or no text; make the plan again");
  return it->get<std::string>();
}
// Returns a field of the plan as a whole number in [lo, hi]. Throws Cause::kRefused if it is missing or outside.
int64_t NumberField(const Json& j, const char* name, int64_t lo, int64_t hi) {
  auto it = j.find(name);
  if (it == j.end() || !it->is_number_integer())
    Fail(Cause::kRefused, "the plan's field ", name, " is missing or no whole number; make the plan again");
  const bool fits = !it->is_number_unsigned() || it->get<uint64_t>() <= uint64_t(INT64_MAX);
  if (!fits || it->get<int64_t>() < lo || it->get<int64_t>() > hi)
    Fail(Cause::kRefused, "the plan's field ", name, " is ", it->dump(), ", outside ", lo, " to ", hi,
         "; make the plan again");
  return it->get<int64_t>();
}

// Runs f and turns its errors into errors of a field of the plan.
template <class F>
auto Field(const char* name, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    Fail(Cause::kRefused, "the plan's field ", name, ": ", e.what());
  }
}

// Parses the plan as a JSON object.
Json Object(const std::string& text) {
  Json j = ReadOrderedJson(text, {"the plan", "make the plan again", Cause::kRefused});
  if (!j.is_object()) Fail(Cause::kRefused, "the plan is no JSON object; make the plan again");
  return j;
}

}  // namespace

const char* Name(Origin from) { return kFrom[size_t(from)]; }
const char* Name(To to) { return kTo[size_t(to)]; }
Origin FromNamed(const std::string& name, const char* what) { return Find<Origin>(kFrom, name, what); }
To ToNamed(const std::string& name, const char* what) { return Find<To>(kTo, name, what); }

Hash HashOfFile(const FunctionFile& file) { return HashOfContent(Content(file)); }

std::string Print(const FunctionFile& file) {
  Json j = Content(file);
  j["hash"] = Hex(HashOfContent(j));
  return j.dump(1) + "\n";
}

bool IsFunctionPlan(const std::string& text) { return Object(text).contains("kind"); }

FunctionFile ParseFile(const std::string& text) {
  Json j = Object(text);
  if (j.contains("nodes"))
    Fail(Cause::kRefused, "this is the plan of a model, not of a function; make one with the function");
  for (auto& [key, x] : j.items())
    if (std::find(std::begin(kFields), std::end(kFields), key) == std::end(kFields))
      Fail(Cause::kRefused, "the plan's field ", key, " is unknown; make the plan again");
  if (Text(j, "kind") != "function")
    Fail(Cause::kRefused, "the plan's field kind is '", Text(j, "kind"), "', not 'function'; make the plan again");
  if (const int64_t version = NumberField(j, "version", INT64_MIN, INT64_MAX); version != kFunctionPlanVersion)
    Fail(Cause::kRefused, "the plan has version ", version, ", this program reads version ", kFunctionPlanVersion,
         " of a function's; make the plan again");
  FunctionFile file;
  FunctionPlan& plan = file.plan;
  file.max_values = NumberField(j, "max_values", 1, kMostValues);
  plan.f = Field("function", [&] { return func::ParseFunction(Text(j, "function")); });
  plan.from = Field("from", [&] { return FromNamed(Text(j, "from"), "it"); });
  plan.to = Field("to", [&] { return ToNamed(Text(j, "to"), "it"); });
  plan.choice = Field("lowering", [&] { return ChoiceOf(plan.f, Text(j, "lowering")); });
  const std::string hash = Text(j, "hash");
  j.erase("hash");
  const Json content = Content(file);
  if (hash != Hex(HashOfContent(content)) || j != content)
    Fail(Cause::kRefused, "the plan's content does not match its hash; copy or make the plan again");
  return file;
}

}  // namespace suf::gates
