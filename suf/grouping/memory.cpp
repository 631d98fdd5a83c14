// The bytes of a plan in memory, by which a backend limits the plans that it keeps.
#include "suf/base/lru_cache.hpp"
#include "suf/grouping/group_plan.hpp"

namespace suf::grouping {

namespace {

uint64_t MapBytes(const IndexMap& m) {
  uint64_t all = HeapBytes(m.pieces);
  for (const AxisPart& p : m.pieces) all += HeapBytes(p.at.axes);
  return all;
}

}  // namespace

uint64_t MemoryOf(const GroupPlan& p) {
  uint64_t all = sizeof p + HeapBytes(p.programs) + HeapBytes(p.instructions) + HeapBytes(p.ends) + HeapBytes(p.unread);
  for (const pfss::Program& program : p.programs) all += HeapBytes(program.nodes);
  for (const std::vector<int>& unread : p.unread) all += HeapBytes(unread);
  for (const Instruction& ins : p.instructions) {
    all += HeapBytes(ins.members) + HeapBytes(ins.after) + HeapBytes(ins.dead) + HeapBytes(ins.read);
    for (const Member& m : ins.members) {
      all += HeapBytes(m.operands);
      for (const Operand& o : m.operands) all += MapBytes(o.map);
    }
  }
  return all;
}

}  // namespace suf::grouping
