#include "suf/cpu/registers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "suf/grouping/element.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using grouping::Element;

namespace {

// The lives of a group's registers, by member. The root of a member is the member that made its register. It is another
// one if the member copies or emits that register.
struct RegisterLives {
  std::vector<size_t> root;
  std::vector<size_t> last;               // of a root: the last member that reads the register
  std::vector<std::vector<size_t>> ends;  // the roots whose registers the member reads last
};

// Returns whether a member has the register of the operand that it copies or emits.
bool IsAlias(const Schedule& s, const std::vector<grouping::Member>& members, const grouping::Member& m) {
  if (m.copies < 0 && !m.emits) return false;
  const grouping::Operand& o = m.operands[size_t(std::max(0, m.copies))];
  return o.from == grouping::Operand::kMember && o.plane == 0 &&
         Element(s, m.node) == Element(s, members[size_t(o.member)].node);
}

RegisterLives LivesOf(const Schedule& s, const std::vector<grouping::Member>& members) {
  const size_t n = members.size();
  RegisterLives out{std::vector<size_t>(n), std::vector<size_t>(n), std::vector<std::vector<size_t>>(n)};
  for (size_t k = 0; k < n; ++k) {
    const grouping::Member& m = members[k];
    out.root[k] = k;
    if (IsAlias(s, members, m)) out.root[k] = out.root[size_t(m.operands[size_t(std::max(0, m.copies))].member)];
    out.last[out.root[k]] = k;
    for (const grouping::Operand& o : m.operands)
      if (o.from == grouping::Operand::kMember) out.last[out.root[size_t(o.member)]] = k;
  }
  for (size_t k = 0; k < n; ++k)
    if (out.root[k] == k) out.ends[out.last[k]].push_back(k);
  return out;
}

// The bytes of a register within those of a row.
struct RegisterPlace {
  int at = 0, bytes = 0;
};

// The places of a row. A freed place serves a later register of at least a quarter of its bytes.
class RegisterPlaces {
 public:
  RegisterPlace Take(int bytes) {
    auto best = idle_.end();
    for (auto i = idle_.begin(); i != idle_.end(); ++i)
      if (i->bytes >= bytes && i->bytes <= 4 * bytes && (best == idle_.end() || i->bytes < best->bytes)) best = i;
    if (best == idle_.end()) return {std::exchange(row_, row_ + bytes), bytes};
    const RegisterPlace place = *best;
    idle_.erase(best);
    return place;
  }
  void Give(RegisterPlace p) { idle_.push_back(p); }
  // Returns the bytes per row of all places.
  int row() const { return row_; }

 private:
  std::vector<RegisterPlace> idle_;
  int row_ = 0;
};

// Returns the bytes per row that a member needs to convert its operands to words. A borrow has all its operands at the
// same time.
int SpareBytes(const Schedule& s, const grouping::Member& m) {
  const Node& x = s.trace().node(m.node);
  int most = 8 * m.planes, all = 0;
  for (size_t j = 0; j < m.operands.size(); ++j) {
    const grouping::Operand& o = m.operands[j];
    if (o.from == grouping::Operand::kNone || o.from == grouping::Operand::kTable) continue;
    const int bytes = o.planes * std::max(8, Element(s, x.args[j]));
    most = std::max(most, bytes);
    all += bytes;
  }
  return x.op == Op::kBorrowA || x.op == Op::kBorrowX ? all : most;
}

// Returns whether member k may overwrite its operands: all but the first are registers that it reads last.
bool ReadsLast(const std::vector<grouping::Member>& members, size_t k, const RegisterLives& lives,
               const std::vector<Register>& registers) {
  const std::vector<grouping::Operand>& operands = members[k].operands;
  std::set<int> words;
  for (size_t j = 1; j < operands.size(); ++j) {
    const grouping::Operand& o = operands[j];
    if (o.from == grouping::Operand::kMember && lives.last[lives.root[size_t(o.member)]] == k &&
        registers[size_t(o.member)].direct < 0)
      words.insert(o.member);
  }
  return words.size() + 1 == operands.size();
}

Registers Allocate(const Schedule& s, const grouping::Instruction& ins) {
  const auto& members = ins.members;
  const RegisterLives lives = LivesOf(s, members);
  Registers out;
  out.members.resize(members.size());
  RegisterPlaces places;
  std::vector<RegisterPlace> place(members.size());
  for (size_t k = 0; k < members.size(); ++k) {
    const grouping::Member& m = members[k];
    Register& r = out.members[k];
    const int need = m.planes * Element(s, m.node);
    r.alias = lives.root[k] != k;
    if (r.alias) {
      r.at = out.members[lives.root[k]].at;
      r.direct = out.members[lives.root[k]].direct;
    } else if (m.kept && m.planes == 1) {
      r.direct = int(k);
    } else {
      place[k] = places.Take(need);
      r.at = place[k].at;
    }
    r.owns_operands = s.trace().node(m.node).op == Op::kBorrowA && ReadsLast(members, k, lives, out.members);
    out.spare = std::max({out.spare, SpareBytes(s, m), need});
    for (size_t f : lives.ends[k])
      if (out.members[f].direct < 0) places.Give(place[f]);
  }
  out.row = places.row();
  return out;
}

}  // namespace

ExecutionPlan PlanOf(const Schedule& s, Role role) {
  ExecutionPlan out{grouping::PlanOf(s, role, Programs(s, role), kLimits), {}, {}};
  for (const grouping::Instruction& ins : out.plan.instructions) out.registers.push_back(Allocate(s, ins));
  out.as_words = grouping::ReadAsWords(s.trace(), out.plan);
  return out;
}

}  // namespace suf::cpu
