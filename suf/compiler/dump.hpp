// The results of the later passes as text, for people and for golden tests. The earlier passes are in passes.hpp.
#pragma once
#include "suf/compiler/choose.hpp"

namespace suf::compiler {

inline constexpr const char* kLaterPasses[] = {"candidates", "choice", "emit"};

// Returns a line for each candidate: flights and key bits of P0 and P1, or why it does not apply.
std::string CandidatesText(const std::vector<Candidate>& all);
// Returns the choice of every profile with preprocessed keys, the terms of its time, and those of the runner-up.
std::string ChoiceText(const std::vector<Candidate>& all);
// Returns the digest of a trace and, by scope, its operations, key bits and sent bits.
std::string EmitText(const pfss::Schedule& s);

}  // namespace suf::compiler
