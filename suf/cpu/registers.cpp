#include "suf/cpu/registers.hpp"

#include <algorithm>
#include <set>

#include "suf/grouping/element.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using grouping::Element;

namespace {

Registers Allocate(const Schedule& s, const grouping::Instruction& ins) {
  const auto& members = ins.members;
  const size_t n = members.size();
  Registers out;
  out.members.resize(n);
  std::vector<size_t> root(n), last(n);
  for (size_t k = 0; k < n; ++k) {
    const grouping::Member& m = members[k];
    root[k] = k;
    if (m.copies >= 0 || m.emits) {
      const size_t of = size_t(std::max(0, m.copies));
      const grouping::Operand& o = m.operands[of];
      out.members[k].alias = o.from == grouping::Operand::kMember && o.plane == 0 &&
                             Element(s, m.node) == Element(s, members[size_t(o.member)].node);
      if (out.members[k].alias) root[k] = root[size_t(o.member)];
    }
    last[root[k]] = k;
    for (const grouping::Operand& o : m.operands)
      if (o.from == grouping::Operand::kMember) last[root[size_t(o.member)]] = k;
  }
  std::vector<std::pair<int, int>> idle;  // {bytes, at}
  std::vector<int> size(n);
  std::vector<std::vector<size_t>> ends(n);
  for (size_t k = 0; k < n; ++k)
    if (root[k] == k) ends[last[k]].push_back(k);
  for (size_t k = 0; k < n; ++k) {
    const grouping::Member& m = members[k];
    Register& r = out.members[k];
    const int need = m.planes * Element(s, m.node);
    if (r.alias) {
      r.at = out.members[root[k]].at;
      r.direct = out.members[root[k]].direct;
    } else if (m.kept && m.planes == 1) {
      r.direct = int(k);
    } else {
      auto best = idle.end();
      for (auto it = idle.begin(); it != idle.end(); ++it)
        if (it->first >= need && it->first <= 4 * need && (best == idle.end() || it->first < best->first)) best = it;
      if (best == idle.end()) {
        r.at = out.room;
        size[k] = need;
        out.room += need;
      } else {
        r.at = best->second;
        size[k] = best->first;
        idle.erase(best);
      }
    }
    // Operands are converted to words. A borrow has all its operands at the same time.
    const Node& x = s.trace().node(m.node);
    const bool beside = x.op == Op::kBorrowA || x.op == Op::kBorrowX;
    int most = 8 * m.planes, all = 0;
    std::set<int> words;
    for (size_t j = 0; j < m.operands.size(); ++j) {
      const grouping::Operand& o = m.operands[j];
      if (o.from == grouping::Operand::kNone || o.from == grouping::Operand::kTable) continue;
      const int bytes = o.planes * std::max(8, Element(s, x.args[j]));
      most = std::max(most, bytes);
      all += bytes;
      if (j > 0 && o.from == grouping::Operand::kMember && last[root[size_t(o.member)]] == k &&
          out.members[size_t(o.member)].direct < 0)
        words.insert(o.member);
    }
    r.last = x.op == Op::kBorrowA && words.size() + 1 == m.operands.size();
    out.spare = std::max({out.spare, beside ? all : most, need});
    for (size_t f : ends[k])
      if (out.members[f].direct < 0) idle.push_back({size[f], out.members[f].at});
  }
  return out;
}

}  // namespace

ExecutionPlan PlanOf(const Schedule& s, Role role) {
  ExecutionPlan out{grouping::PlanOf(s, role, Programs(s, role), kLimits), {}};
  for (const grouping::Instruction& ins : out.plan.instructions) out.registers.push_back(Allocate(s, ins));
  return out;
}

}  // namespace suf::cpu
