#include <sstream>

#include "suf/grouping/group_plan.hpp"

namespace suf::grouping {

std::string Print(const pfss::Trace& t, const GroupPlan& p) {
  std::ostringstream out;
  auto list = [&](const char* what, const std::vector<int>& all, const char* sign) {
    if (!all.empty()) out << ", " << what;
    for (int i : all) out << " " << sign << i;
  };
  for (size_t q = 0, k = 0; q < p.ends.size(); ++q) {
    out << "program " << q;
    list("unread", p.unread[q], "%");
    out << "\n";
    for (; k < size_t(p.ends[q]); ++k) {
      const Instruction& ins = p.instructions[k];
      out << "#" << k;
      if (ins.group)
        out << " group of " << ins.rows << " rows";
      else if (ins.same >= 0)
        out << " %" << ins.node << " is %" << ins.same;
      else
        out << " %" << ins.node << " " << Name(t.node(ins.node).op);
      list("after", ins.after, "#");
      list("read", ins.read, "%");
      list("dead", ins.dead, "%");
      out << "\n";
      for (const Member& m : ins.members) {
        out << "  %" << m.node << " " << (m.copies >= 0 ? "copy" : Name(t.node(m.node).op));
        for (const Operand& o : m.operands) {
          if (o.from == Operand::kNone) out << " -";
          if (o.from == Operand::kMember) out << " %" << ins.members[size_t(o.member)].node;
          if (o.from == Operand::kMemory) out << " [" << Print(o.map) << "]";
          if (o.from == Operand::kTable) out << " table";
        }
        if (m.planes > 1) out << ", " << m.planes << " planes";
        out << (m.emits ? ", emits" : "") << (m.kept ? ", kept" : "") << "\n";
      }
    }
  }
  return out.str();
}

}  // namespace suf::grouping
