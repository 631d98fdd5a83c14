// Makes the composition of `suf gate`: from a file, or of one gate alone.
#pragma once
#include <string>
#include <vector>

#include "apps/gate/cmd_gate.hpp"
#include "suf/gates/compose/composition.hpp"

namespace suf::apps {

// Reads a file, or makes the composition of the gate of that name. A file is a path, `-`, or a name that ends in .gates
// or .plan. It has a composition or the plan of one. Functions that it names lie beside it. Stores the
// lowerings of a plan in `planned`. Throws Cause::kInput.
gates::Composition CompositionOf(const GateArgs& a, gates::GateChoices* planned = nullptr);
// Makes the text of a gate alone, with its function.
gates::CompositionText TextOfGate(const gates::GateEntry& gate, const gates::SingleGate& use);
// Returns whether the arguments name a file.
bool IsGatesFile(const GateArgs& a);
// Returns a lowering for each gate statement. They are given with semicolons between. "auto" is the best by the profile
// for `rows` rows. If P0 learns a result of P1's values, `auto` prefers lowerings that keep P0 from learning more.
gates::GateChoices GateChoicesFor(const gates::Composition& c, const std::string& lowering,
                                  const compiler::Profile& profile, int64_t rows, const pfss::Capabilities& can = {},
                                  bool semi_honest = false);

}  // namespace suf::apps
