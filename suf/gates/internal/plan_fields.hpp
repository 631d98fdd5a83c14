// Fields of the plan files of functions and compositions. Every error has Cause::kRefused and names the field.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "suf/base/bytes.hpp"
#include "suf/base/error.hpp"

namespace suf::gates {

using PlanJson = nlohmann::ordered_json;

#pragma GCC visibility push(hidden)  // libsuf exports nothing of another library

// Parses a plan as a JSON object.
PlanJson PlanObject(const std::string& text);
// Returns the field `kind`, or nothing if there is none or it is no text. A model's plan has none.
std::string PlanKind(const PlanJson& plan);
// Throws if the plan is of another kind or version than the given one, or has a field beside `fields`.
void CheckPlan(const PlanJson& plan, const std::string& kind, int version, std::initializer_list<const char*> fields);
// Returns a field that is text.
std::string TextField(const PlanJson& plan, const char* name);
// Returns a field that is a whole number in [low, high].
int64_t NumberField(const PlanJson& plan, const char* name, int64_t low, int64_t high);
// Returns the SHA-256 of a plan without its hash.
Hash HashOfContent(const PlanJson& content);
// Prints a plan with its hash.
std::string PrintPlan(PlanJson content);
// Throws unless the plan has exactly this content and its hash.
void CheckContent(PlanJson plan, const PlanJson& content);

#pragma GCC visibility pop

// Runs f and turns its errors into errors of a field of the plan.
template <class F>
auto PlanField(const char* name, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    Fail(Cause::kRefused, "the plan's field ", name, ": ", e.what());
  }
}

}  // namespace suf::gates
