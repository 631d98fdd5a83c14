// Grouping as data: the instructions of a tensor executor for each program of a role. They are planned once per trace,
// without data. Work that goes row by row becomes groups, which also read keys, expand the PRG, pack messages and read
// tables. Everything else is an operation of its own. An executor adds registers, strips, threads and streams
// (docs/design/cpu.md#groups).
#pragma once
#include <set>

#include "suf/grouping/map.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::grouping {

// The limits that an executor sets for its groups.
struct GroupLimits {
  // The most members of a group.
  size_t members;
  // Bytes of emitted messages and key sections after which all groups end, so that sections leave in order.
  int64_t bytes;
  // The most bits of a string that a group takes apart. The bits of a longer string become rows.
  int64_t planes;
  // The divisor of the rows of a message that is packed plane by plane.
  int64_t plane_rows;
  // The most planes of a group that one of its rows sums.
  int64_t tail;
  // The most elements in memory that a row of a group sums. A longer sum is an operation of its own.
  int64_t head;
  // The most words of a table that a row of a group sums by a string's bits. A longer table makes it an operation.
  int64_t table;
  // The most elements of an operand that a row of an operation draws as it reads them; 0 for none.
  int64_t drawn;
  // The least run of a view that is read through its map. A view with shorter runs is made once in memory. 0 reads
  // views of any stride through their maps.
  int64_t run;
};

// The source of an operand: none if not needed, the same row of the group, memory, or a trace table. Its value is that
// of the node's argument, or of the node that this argument views.
struct Operand {
  enum OperandSource : uint8_t { kNone, kMember, kMemory, kTable } from = kNone;
  int member = -1;  // kMember
  int plane = 0;    // kMember: the first plane that is read
  int planes = 1;   // of the operand
  IndexMap map;     // kMemory: planes x rows elements, all rows of a plane before the next plane
};

// A node in a group. A sum adds up the planes of its operand, in the group or by a map of memory. In a group all rows
// of a plane precede the next plane. PRG words and dealt key sections are members wherever they are read. Drawing them
// again costs less than keeping them.
struct Member {
  int node;
  int planes = 1;                 // elements per row
  bool emits = false;             // a message or key section that this role emits
  bool kept = false;              // read outside the group, and so stored in memory
  int copies = -1;                // the operand whose value this is (Low, x + 0, x - 0); 0 for a view
  std::vector<Operand> operands;  // as the node's; of a view one, by its map; of a received node none
};

// A group over `rows` rows, or one operation. The members of an operation are drawn ones. The last of them is the
// operation's first operand, which is never stored as a whole.
struct Instruction {
  bool group = false;
  int node = -1;  // of the operation
  int same = -1;  // if set, no operation runs: `node` has the value of this node
  std::vector<Member> members;
  size_t rows = 0;
  std::vector<int> after;  // earlier instructions whose values it reads from memory
  std::vector<int> dead;   // values that no later instruction reads
  std::vector<int> read;   // key sections that no later instruction reads
  // Returns the nodes whose values it computes.
  std::vector<int> computed() const;
};

// Instructions in an order in which they may run. Those of program p end before ends[p].
struct GroupPlan {
  Role role;
  std::vector<pfss::Program> programs;
  std::vector<Instruction> instructions;
  std::vector<int> ends;
  // By program, the key sections that it names and nothing reads. The last entry also has those that no program names.
  std::vector<std::vector<int>> unread;
  std::span<const Instruction> of(size_t program) const;
};
GroupPlan PlanOf(const pfss::Schedule& s, Role role, std::vector<pfss::Program> programs, const GroupLimits& limits);

// Calls f(node) for each value that an instruction reads from memory, perhaps more than once.
void Reads(const pfss::Trace& t, const Instruction& ins, const std::function<void(int node)>& f);
// Returns whether node i is a product whose right operand is an input. A backend may prepare such an operand once for
// all runs.
bool ReadsWeight(const pfss::Trace& t, int i);
// Returns the inputs that an instruction reads in another way than as the right operand of such a product.
std::set<int> ReadAsWords(const pfss::Trace& t, const GroupPlan& plan);
// Returns whether a node's value reaches this role as a message: a received one or a dealt key section.
bool Receives(const pfss::Node& n, Role role);

// Returns the most bytes that are in memory at a time. `bytes(node)` are those of a node's value, 0 if it is not
// computed.
int64_t Peak(const GroupPlan& p, const std::function<int64_t(int node)>& bytes);

// Returns the bytes of a plan in memory, without those of the allocator's maps.
uint64_t MemoryOf(const GroupPlan& p);

// Prints the plan as text, one line per instruction and below it one line per member.
//
//  #3 group of 12 rows, after #0 #2, read %5, dead %9
//    %11 add %5 [%9(3*1 4*0)] table -, 3 planes, kept
//
// Here %5 is made in the group, [..] is in memory, `table` is in the trace, and - is not read.
std::string Print(const pfss::Trace& t, const GroupPlan& p);

}  // namespace suf::grouping
