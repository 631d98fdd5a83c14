// The plan of a function as a file. Its JSON text has the function, its lowering, its ends and a hash of all. Dealer
// and parties read the same text.
#pragma once
#include <string>

#include "suf/base/bytes.hpp"
#include "suf/gates/function_plan.hpp"

namespace suf::gates {

inline constexpr int kFunctionPlanVersion = 1;
inline constexpr int64_t kMostValues = int64_t{1} << 26;

// A plan, and the most values of a call, 1 to kMostValues. A server prepares for the announced number of values.
struct FunctionFile {
  FunctionPlan plan;
  int64_t max_values = int64_t{1} << 20;
};

// Returns {"kind": "function", "version", "function", "lowering", "from", "to", "max_values", "hash"}.
std::string Print(const FunctionFile& file);
// Parses the text of Print. Throws Cause::kRefused, and names the field, in these cases:
// * the plan is a model's or a composition's, or of another version
// * a field is unknown, missing or out of range
// * the function does not parse, or its lowering does not apply
// * the hash does not match
FunctionFile ParseFile(const std::string& text);
// Returns whether a text is the plan of a function, not of a model or a composition. ParseFile refuses plans of unknown
// kinds, so they count as a function's. Throws as ParseFile if it is no plan.
bool IsFunctionPlan(const std::string& text);
// Returns the SHA-256 of the text without its hash.
Hash HashOfFile(const FunctionFile& file);

// Parses "p0", "p1" or "shared". Throws Cause::kInput, with `what` and the names, if there is no such name.
Origin FromNamed(const std::string& name, const char* what);
// Parses "p0", "p1", "both" or "shared". Throws Cause::kInput, with `what` and the names, if there is no such name.
To ToNamed(const std::string& name, const char* what);
const char* Name(Origin from);
const char* Name(To to);

}  // namespace suf::gates
