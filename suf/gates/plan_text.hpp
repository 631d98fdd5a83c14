// The plan of a function as a file: JSON text with the function, its lowering, its ends and a hash over all of it. What
// dealer and parties hold of the same plan, they read from the same text.
#pragma once
#include <string>

#include "suf/base/bytes.hpp"
#include "suf/gates/function_plan.hpp"

namespace suf::gates {

inline constexpr int kFunctionPlanVersion = 1;
inline constexpr int64_t kMostValues = int64_t{1} << 26;

// A plan, and the most values that a call may bring: 1 to kMostValues. Who answers prepares for as many
// as are announced to it.
struct FunctionFile {
  FunctionPlan plan;
  int64_t max_values = int64_t{1} << 20;
};

// {"kind": "function", "version", "function", "lowering", "from", "to", "max_values", "hash"}.
std::string Print(const FunctionFile& file);
// The inverse. Throws Cause::kRefused, naming the field, for a model's plan, another version, a field that
// is unknown, missing or out of range, a function that does not parse, a lowering that does not apply, and a hash that
// does not match.
FunctionFile ParseFile(const std::string& text);
// Whether a text is a function's plan rather than a model's; throws as ParseFile when it is no plan.
bool IsFunctionPlan(const std::string& text);
// SHA-256 of the text without its hash.
Hash HashOfFile(const FunctionFile& file);

// FromNamed, ToNamed: "p0", "p1", "shared", "both". Throw Cause::kInput with the names there are, after `what`.
From FromNamed(const std::string& name, const char* what);
To ToNamed(const std::string& name, const char* what);
const char* Name(From from);
const char* Name(To to);

}  // namespace suf::gates
