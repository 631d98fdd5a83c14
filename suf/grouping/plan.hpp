// Grouping as data: what an executor of tensors does at each program of a role, decided once a trace and without data.
// Whatever works row by row becomes groups, the reading of keys, the PRG, packing and tables included; everything else
// is an operation of its own. An executor adds what is its own: registers, strips, threads, streams
// (docs/design/cpu.md#groups).
#pragma once
#include "suf/grouping/map.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::grouping {

// What an executor asks of its groups.
struct Limits {
  size_t members;      // most members of a group
  int64_t bytes;       // of messages and key sections emitted, after which all groups end: sections leave in order
  int64_t planes;      // most bits of a string that is taken apart in a group; of a longer one the bits are rows
  int64_t plane_rows;  // what is packed plane by plane has a multiple of so many rows
  int64_t tail;        // most planes of a group that a row of it sums
  int64_t head;        // most elements in memory that a row of a group sums; a longer sum is an operation of its own
  int64_t table;       // most words of a table that a row of a group sums by a string's bits; a longer one likewise
  int64_t drawn;       // most elements of an operand that a row of an operation draws where it reads it; 0: none
  int64_t run;         // a view whose runs are as long is read through its map; another is made once. 0: any stride
};

// Where a member finds one: nowhere, as its value needs it not; in the group, at the same row; in memory; or
// in the trace, a table. Its value is of the node that the member's node names, or of what that is a view of.
struct Operand {
  enum From : uint8_t { kNone, kMember, kMemory, kTable } from = kNone;
  int member = -1;  // kMember
  int plane = 0;    // kMember: its first plane that is read
  int planes = 1;   // of the operand
  Map map;          // kMemory: elements of planes x rows, a plane of all rows after the other
};

// A node in a group; a sum is one of the planes of its operand, in the group or by a map of memory.
// In a group a plane of all rows lies after the other. Sources (PRG words, received messages and told
// key sections) are members wherever they are read: drawing them again costs less than keeping them.
struct Member {
  int node;
  int planes = 1;                 // elements a row
  bool emits = false;             // it is a message of this role
  bool kept = false;              // read outside the group and so goes to memory
  int copies = -1;                // the operand whose value this is: Low, x + 0, x - 0; 0 of a view
  std::vector<Operand> operands;  // as the node's; one of a view, by its map; none of what is received
};

// A group over `rows` rows, or one operation. Members of an operation are drawn ones: the last is its
// first operand, which is nowhere as a whole.
struct Instruction {
  bool group = false;
  int node = -1;  // of an operation
  int same = -1;  // an operation that is none: the node whose value it is
  std::vector<Member> members;
  size_t rows = 0;
  std::vector<int> after;  // earlier instructions whose values it reads from memory
  std::vector<int> dead;   // values that no later instruction reads
  std::vector<int> read;   // key sections that no later instruction reads
};

// Instructions in an order in which they may run; those of program p end before ends[p].
struct Plan {
  Role role;
  std::vector<pfss::Program> programs;
  std::vector<Instruction> instructions;
  std::vector<int> ends;
  // unread: by program, key sections that it names and nobody reads; with the last one those that no program names
  std::vector<std::vector<int>> unread;
  std::span<const Instruction> of(size_t program) const;
};
Plan PlanOf(const pfss::Schedule& s, Role role, std::vector<pfss::Program> programs, const Limits& limits);

// f(node) for each value that an instruction reads from memory, perhaps more than once.
void Reads(const pfss::Trace& t, const Instruction& ins, const std::function<void(int node)>& f);
// Whether a node's value comes in a message to this role: a received one or a told key section.
bool Receives(const pfss::Node& n, Role role);

// The most of these bytes that are in memory at a time; bytes(node): of its value, 0 of one that is not computed.
int64_t Peak(const Plan& p, const std::function<int64_t(int node)>& bytes);

// The plan as text, an instruction a line and its members a line each below it, as in
//   #3 group of 12 rows, after #0 #2, read %5, dead %9
//     %11 add %5 [%9(3*1 4*0)] table -, 3 planes, kept
// where %5 is made in the group, [..] is in memory, a table in the trace, and - is not read.
std::string Print(const pfss::Trace& t, const Plan& p);

}  // namespace suf::grouping
