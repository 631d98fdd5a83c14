// The plan file of a composition between two parties. It is public and has the whole text, its functions included, and
// the lowering of each statement. All roles hold the same plan, and sessions compare its hash.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "suf/gates/compose/composition.hpp"

namespace suf::gates {

inline constexpr int kCompositionPlanVersion = 1;

struct CompositionPlan {
  std::shared_ptr<const Composition> composition;
  GateChoices choices;
  int64_t max_rows = 0;  // of a call
};

// Returns the hash over all fields, without the hash itself.
Hash HashOfPlan(const CompositionPlan& plan);
// Prints a plan as JSON that ParseCompositionPlan reads.
std::string Print(const CompositionPlan& plan);
// Returns whether a text is the plan of a composition.
bool IsCompositionPlan(const std::string& text);
// Parses and checks a plan, which another party may have written. Throws Cause::kRefused, with the field.
CompositionPlan ParseCompositionPlan(const std::string& text);

// Chooses lowerings as Choose does; safe ones, if P0 learns a result of P1's values and is not `semi_honest`.
GateChoices ChooseSafe(const Composition& c, const compiler::Prices& prices, int64_t rows, bool semi_honest,
                       const pfss::Capabilities& can = {});
// Throws Cause::kRefused if P0 learns a result of P1's values and can learn more by altering its messages. The message
// has the outputs and the way.
void RefuseSteering(const Composition& c, const GateChoices& choices);

}  // namespace suf::gates
