// What packed adds to a plan: where the members of a group have their strips. A register is some bytes a row, and is
// free again after its last reader in the group.
#pragma once
#include "suf/grouping/plan.hpp"

namespace suf::cpu {

// Of a member.
struct Register {
  int at = 0;          // bytes a row before it
  int direct = -1;     // the member whose value in memory is the register
  bool alias = false;  // that of the operand that it copies or emits
  bool last = false;   // nobody reads its operands' registers afterwards
};

// Of a group.
struct Registers {
  std::vector<Register> members;
  int room = 0;   // bytes a row of all registers together
  int spare = 0;  // bytes a row of an operand that must be converted
};

// kLimits: 64 bits of a string are one word of a strip; planes are packed from whole bytes on. Each run of a view is a
// call, so a view of short ones is made once (docs/design/cpu.md#groups).
inline constexpr grouping::Limits kLimits{.members = 256,
                                       .bytes = int64_t{4} << 20,
                                       .planes = 64,
                                       .plane_rows = 8,
                                       .tail = 64,
                                       .head = 16,
                                       .table = int64_t{1} << 32,
                                       .drawn = int64_t{1} << 18,
                                       .run = 32};

// A role's plan, and registers by instruction.
struct ExecutionPlan {
  grouping::Plan plan;
  std::vector<Registers> registers;
  const Registers& of(const grouping::Instruction& ins) const {
    return registers[size_t(&ins - plan.instructions.data())];
  }
};
ExecutionPlan PlanOf(const pfss::Schedule& s, Role role);

}  // namespace suf::cpu
