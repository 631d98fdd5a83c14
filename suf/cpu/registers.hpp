// Registers of the packed backend's plans: the places of members' strips in a group. A register takes some bytes per
// row. It is free again after its last reader in the group.
#pragma once
#include <set>
#include <vector>

#include "suf/grouping/group_plan.hpp"

namespace suf::cpu {

// The register of a member.
struct Register {
  int at = 0;                  // bytes per row before it
  int direct = -1;             // the member whose value in memory is the register
  bool alias = false;          // it is the register of the operand that the member copies or emits
  bool owns_operands = false;  // no later member reads its operands' registers
};

// The registers of a group.
struct Registers {
  std::vector<Register> members;
  int row = 0;    // bytes per row of all registers together
  int spare = 0;  // bytes per row of an operand that must be converted
};

// The limits of packed's groups. 64 bits of a string are one word of a strip. Planes are packed from whole bytes on.
// Each run of a view is a call, so a view of short runs is made once (docs/design/cpu.md#groups).
inline constexpr grouping::GroupLimits kLimits{.members = 256,
                                               .bytes = int64_t{4} << 20,
                                               .planes = 64,
                                               .plane_rows = 8,
                                               .tail = 64,
                                               .head = 16,
                                               .table = int64_t{1} << 32,
                                               .drawn = int64_t{1} << 18,
                                               .run = 32};

// A role's plan, with registers by instruction.
struct ExecutionPlan {
  grouping::GroupPlan plan;
  std::vector<Registers> registers;
  std::set<int> as_words;  // grouping::ReadAsWords
  const Registers& of(const grouping::Instruction& ins) const {
    return registers[size_t(&ins - plan.instructions.data())];
  }
};
ExecutionPlan PlanOf(const pfss::Schedule& s, Role role);

}  // namespace suf::cpu
