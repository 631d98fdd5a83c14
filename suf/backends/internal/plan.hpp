// What the packed backend does at each program, decided once a trace: whatever works row by row becomes groups that run
// in strips, the reading of keys, the PRG, packing and tables included; everything else is an operation of its own.
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::backends::internal {

// Member: a node in a group. Sources (PRG words, told key sections) are members wherever they are read: drawing them
// again costs less than keeping them.
struct Member {
  int node;
  int planes = 1;           // elements a row, a plane of all rows of the strip after the other
  bool kept = false;        // read outside the group and so goes to memory
  int at = 0;               // its register: bytes a row before it
  std::vector<int> inside;  // members that hold its operands; -1: in memory
  int copies = -1;          // the operand whose value this is: Low, x + 0, x - 0; others are not read
  bool alias = false;       // shares the register of the operand it copies, or emits
  bool last = false;        // nobody reads its operands' registers afterwards
};

// Instruction: a group over `rows` rows, or one bulk operation.
struct Instruction {
  bool group = false;
  int node = -1;  // of a bulk operation
  int same = -1;  // a bulk operation that is none: the node whose value it is
  std::vector<Member> members;
  size_t rows = 0;
  int room = 0;           // bytes a row of all registers together
  int spare = 0;          // bytes a row of an operand that must be converted
  std::vector<int> dead;  // values that nobody reads afterwards
};

// kMostPlanes: of a string taken apart in strips; a longer one is a bulk operation, and its bits are rows.
inline constexpr int64_t kMostPlanes = 64;

// Element: bytes of an element of node i in memory: what the PRG and the kernels of bit strings lay down is fixed by
// the ring; the rest is stored as wide as it is read.
int Element(const pfss::Schedule& s, int i);
// ExecutionPlan: a role's programs, and the instructions of each.
struct ExecutionPlan {
  std::vector<pfss::Program> programs;
  std::vector<std::vector<Instruction>> lists;
};
ExecutionPlan PlanOf(const pfss::Schedule& s, Role role, const std::vector<pfss::Program>& programs);

}  // namespace suf::backends::internal
