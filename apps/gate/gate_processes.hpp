// Runs a composition with dealer, P0 and P1 as processes of this machine, over TLS.
#pragma once
#include <vector>

#include "apps/gate/gate_run.hpp"

namespace suf::apps {

// Does what RunGates does, with three processes on the backend packed. Inputs are in order of the text. The result's
// seconds are the dealer's work and P1's online part. Throws Cause::kInput for more rows than a plan covers, and the
// error of a process that fails.
GateRun RunGateProcesses(const gates::Composition& c, const gates::GateChoices& choices,
                         const std::vector<gates::Ints>& inputs, int64_t rows);

}  // namespace suf::apps
