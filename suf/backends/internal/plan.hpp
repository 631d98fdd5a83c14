// What the packed backend does at each program, decided once a trace: chains of elementwise nodes of one shape become
// groups that run in strips; everything else is an operation of its own.
#pragma once
#include <array>

#include "suf/pfss/backend.hpp"

namespace suf::backends::internal {

// Instruction: a group (nodes.size() >= 1, all elementwise, one shape) or one bulk operation.
struct Instruction {
  bool group = false;
  std::vector<int> nodes;
  // of a group, by position in `nodes`:
  std::vector<char> kept;                  // read outside it and so goes to memory
  std::vector<int> slot;                   // register; free again after the last reader in the group
  std::vector<std::array<int, 2>> inside;  // positions of the first two operands, -1 outside the group
  int registers = 0;
  std::vector<int> dead;  // values that nobody reads afterwards
};

// Fusable: an elementwise operation on words of at most 64 bits.
bool Fusable(const pfss::Trace& t, int node);
// Instructions of each of a role's programs.
using ExecutionPlan = std::vector<std::vector<Instruction>>;
ExecutionPlan PlanOf(const pfss::Schedule& s, pfss::Role role, const std::vector<pfss::Program>& programs);

}  // namespace suf::backends::internal
