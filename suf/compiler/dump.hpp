// The later passes as text, beside the earlier ones of passes.hpp: what each made, for a reader and for golden tests.
#pragma once
#include "suf/compiler/choose.hpp"

namespace suf::compiler {

inline constexpr const char* kLaterPasses[] = {"candidates", "choice", "emit"};

// A line each, with flights and key bits of P0 and P1, or why it does not apply.
std::string CandidatesText(const std::vector<Candidate>& all);
// What every profile chooses of them with keys ahead, the terms of its time, and those of the runner-up.
std::string ChoiceText(const std::vector<Candidate>& all);
// The trace that the choice became: its digest, and by scope its operations, key bits and sent bits.
std::string EmitText(const pfss::Schedule& s);

}  // namespace suf::compiler
