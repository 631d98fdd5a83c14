#include "suf/backends/internal/plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "suf/fss/sizes.hpp"

namespace suf::backends::internal {

using namespace pfss;  // NOLINT: the whole file speaks of traces

int Element(const Schedule& s, int i) {
  const Node& n = s.trace().node(i);
  return int(fss::ElementBytes(n.ring.kind == Ring::kXor ? n.ring.bits : std::max(1, s.width(i))));
}

namespace {

constexpr size_t kMost = 256;  // members of a group
// Bytes of messages and key sections after which all groups end: sections leave in order.
constexpr int64_t kOut = int64_t{4} << 20;

class Planner {
 public:
  Planner(const Schedule& s, Role role, const std::vector<Program>& programs)
      : s_(s), t_(s.trace()), role_(role), programs_(programs), planar_(t_.nodes().size()) {
    FindCopies();
    Planes();
    Uses();
  }

  ExecutionPlan Run() {
    ExecutionPlan out{programs_, {}};
    for (auto& program : programs_) {
      list_.clear();
      for (int i : program.nodes)
        if (used_[size_t(i)] && !Lazy(i))
          Place(i);
        else if (ends_[size_t(i)])
          Store(i);  // a kept share that nothing of this trace reads
      CloseAll();
      out.lists.push_back(std::move(list_));
    }
    Lives(&out.lists);
    for (auto& list : out.lists)
      for (auto& ins : list)
        if (ins.group) Allocate(&ins);
    return out;
  }

 private:
  const Node& node(int i) const { return t_.node(i); }
  bool Mine(const Node& n) const { return n.op == Op::kTell ? role_ == Role::kDealer : n.attrs[0] == int64_t(role_); }
  // Lazy: drawn or unpacked where it is read.
  bool Lazy(int i) const {
    if (Source(i)) return true;
    const int k = Copies(i);
    return k >= 0 && Lazy(node(i).args[size_t(k)]);
  }
  // Copies: the operand whose value the node is, or -1: Low, and x +- 0, where 0 is the share of a mask that the other
  // party drew alone. Values are kept unreduced, so a narrower ring is the same memory.
  int Copies(int i) const { return copies_[size_t(i)]; }
  void FindCopies() {
    const int count = int(t_.nodes().size());
    std::vector<char> zero(static_cast<size_t>(count));
    copies_.assign(size_t(count), -1);
    auto whole = [&](const Node& n, size_t keep) {
      return zero[size_t(n.args[1 - keep])] && node(n.args[keep]).shape == n.shape;
    };
    for (int i = 0; i < count; ++i) {
      const Node& n = node(i);
      if (n.op == Op::kConst)
        zero[size_t(i)] = std::all_of(n.data->begin(), n.data->end(), [](uint64_t v) { return v == 0; });
      else if (n.op == Op::kLow || n.op == Op::kBroadcast || Info(n.op).cls == OpClass::kView)
        zero[size_t(i)] = std::all_of(n.args.begin(), n.args.end(), [&](int a) { return zero[size_t(a)]; });
      if (n.op == Op::kLow)
        copies_[size_t(i)] = 0;
      else if ((n.op == Op::kAdd || n.op == Op::kSub) && n.ring.kind == Ring::kAdd)
        copies_[size_t(i)] = whole(n, 0) ? 0 : n.op == Op::kAdd && whole(n, 1) ? 1 : -1;
    }
  }
  // Reads: whether the node's value needs that operand's.
  static bool Reads(int copies, size_t k) { return copies < 0 || size_t(copies) == k; }
  // Uses: what the role must compute when copies do not read their other operand.
  void Uses() {
    used_.assign(t_.nodes().size(), 0), ends_.assign(t_.nodes().size(), 0);
    for (int p : {0, 1})
      if (int(role_) == p)
        for (const pfss::Trace::Result& r : t_.results(p)) used_[size_t(r.node)] = ends_[size_t(r.node)] = 1;
    for (size_t at = programs_.size(); at-- > 0;)
      for (size_t j = programs_[at].nodes.size(); j-- > 0;) {
        const int i = programs_[at].nodes[j];
        const Node& n = node(i);
        const bool emits = Emits(i);
        if (emits) used_[size_t(i)] = 1;
        if (!used_[size_t(i)] || (!emits && Info(n.op).cls == OpClass::kMessage)) continue;
        for (size_t k = 0; k < n.args.size(); ++k)
          if (Reads(Copies(i), k)) used_[size_t(n.args[k])] = 1;
      }
  }
  static bool Elementwise(const Node& n) { return Info(n.op).cls == OpClass::kElementwise; }
  // Rowwise: may be a member of a group.
  bool Rowwise(int i) const {
    const Node& n = node(i);
    if (n.op == Op::kUnbits && !planar_[size_t(i)]) return false;
    switch (Info(n.op).cls) {
      case OpClass::kWords:
      case OpClass::kMessage:
      case OpClass::kElementwise:
      case OpClass::kRows:
        return Size(n.shape) > 0;
      default:
        return false;
    }
  }

  // Spreads: makes planes of an operand that is none.
  static bool Spreads(const Node& n) {
    return n.op == Op::kMono || n.op == Op::kSelect || n.op == Op::kSelectX ||
           (n.op == Op::kUnbits && n.shape[0] <= kMostPlanes);
  }
  // Planes: which nodes lie as planes of rows: monomials, bits taken apart, and what a borrow or a column of tables
  // makes of them. What is packed plane by plane must end at whole bytes.
  void Planes() {
    auto spread = [&](int from, int to) {
      if (planar_[size_t(from)] && !planar_[size_t(to)] && node(from).shape == node(to).shape &&
          (Elementwise(node(to)) || Source(to) || (Emits(to) && Rows(node(from).shape) % 8 == 0)))
        planar_[size_t(to)] = 1;
    };
    for (int i = 0; i < int(t_.nodes().size()); ++i) {
      const Node& n = node(i);
      if (Spreads(n)) planar_[size_t(i)] = 1;
      for (int a : n.args) spread(a, i);
    }
    for (int i = int(t_.nodes().size()); i-- > 0;) {
      const Node& n = node(i);
      if (n.op == Op::kBorrowA)
        for (size_t j = 1; j < n.args.size(); ++j)
          if (const Node& a = node(n.args[j]); Elementwise(a) || Source(n.args[j])) planar_[size_t(n.args[j])] = 1;
      if (Elementwise(n))
        for (int a : n.args) spread(i, a);
    }
  }
  bool Source(int i) const {
    Op op = node(i).op;
    return op == Op::kRand || (op == Op::kTell && !Mine(node(i)));
  }
  bool Emits(int i) const {
    Op op = node(i).op;
    return (op == Op::kTell || op == Op::kSend) && Mine(node(i));
  }
  static int64_t Rows(const Shape& planes) { return Size(planes) / planes[0]; }

  Shape RowShape(int i) const {
    Shape s = node(i).shape;
    if (planar_[size_t(i)]) s.erase(s.begin());
    return s;
  }
  int PlanesOf(int i) const { return planar_[size_t(i)] ? int(node(i).shape[0]) : 1; }

  // Readable: operand k of node i may be read where it lies in the strip.
  bool Readable(int i, size_t k) const {
    const Node& n = node(i);
    int a = n.args[k];
    if (Size(node(a).shape) == 0 || RowShape(a) != RowShape(i)) return false;
    if (n.op == Op::kBorrowA) return bool(planar_[size_t(a)]) == (k > 0);
    if (Spreads(n)) return !planar_[size_t(a)];
    return n.op != Op::kUnit && planar_[size_t(a)] == planar_[size_t(i)];
  }

  struct Open {
    Instruction ins;
    std::map<int, int> member;  // node -> position
  };

  void Close(Shape shape) {
    auto it = open_.find(shape);
    for (auto& [i, at] : it->second.member)
      if (!Lazy(i)) where_.erase(i);
    list_.push_back(std::move(it->second.ins));
    open_.erase(it);
  }

  void CloseAll() {
    while (!open_.empty()) Close(open_.begin()->first);
    out_ = 0;
  }

  // Store: a lazy node as a tensor in memory, for those who do not read strips.
  void Store(int i) {
    if (!Lazy(i) || !stored_.insert(i).second) return;
    Instruction ins;
    if (const int k = Copies(i); k >= 0) {
      ins.node = i, ins.same = node(i).args[size_t(k)];
      Store(ins.same);
    } else {
      ins.group = true, ins.rows = size_t(Size(node(i).shape));
      ins.members.push_back({.node = i, .kept = true});
    }
    list_.push_back(std::move(ins));
  }

  void Place(int i) {
    const Node& n = node(i);
    bool member = Rowwise(i);
    // a copy is the same memory; only in a group it is worth a register
    const int copies = Copies(i);
    if (copies >= 0 && !where_.count(n.args[size_t(copies)])) member = false;
    Shape shape = member ? RowShape(i) : Shape{};
    for (size_t k = 0; k < n.args.size(); ++k)
      if (auto w = where_.find(n.args[k]); w != where_.end() && !(member && w->second == shape && Readable(i, k)))
        Close(w->second);
    if (!member) {
      for (size_t k = 0; k < n.args.size(); ++k)
        if (Reads(copies, k)) Store(n.args[k]);
      Instruction ins;
      ins.node = i;
      if (copies >= 0) ins.same = n.args[size_t(copies)];
      return list_.push_back(std::move(ins));
    }
    for (size_t k = 0; k < n.args.size(); ++k)
      if (Reads(copies, k) && !Readable(i, k)) Store(n.args[k]);
    Open& g = open_[shape];
    g.ins.group = true, g.ins.rows = size_t(Size(shape));
    Join(&g, i);
    where_[i] = shape;
    if (g.member.size() >= kMost) Close(shape);
    if (Emits(i) && (out_ += PackedBytes(n)) >= kOut) CloseAll();
  }

  void Join(Open* g, int i) {
    const Node& n = node(i);
    Member m{.node = i, .planes = PlanesOf(i), .copies = Copies(i)};
    bool receives = (n.op == Op::kTell || n.op == Op::kSend) && !Mine(n);
    if (!receives) {
      for (size_t k = 0; k < n.args.size(); ++k) {
        int a = n.args[k];
        if (!Reads(m.copies, k)) {
          m.inside.push_back(-1);
          continue;
        }
        if (Lazy(a) && Readable(i, k) && !g->member.count(a)) Join(g, a);
        auto it = g->member.find(a);
        m.inside.push_back(it == g->member.end() || !Readable(i, k) ? -1 : it->second);
      }
    }
    if (m.copies >= 0 || Emits(i)) {
      const size_t k = size_t(std::max(0, m.copies));
      m.alias = m.inside[k] >= 0 && Element(s_, i) == Element(s_, n.args[k]);
    }
    g->member[i] = int(g->ins.members.size());
    g->ins.members.push_back(std::move(m));
  }

  // Lives: what is kept, and when it dies.
  void Lives(std::vector<std::vector<Instruction>>* plan) const {
    std::vector<int> last(t_.nodes().size(), -1);  // the instruction, numbered over all programs, that reads it last
    int number = 0;
    auto reads = [&](const Instruction& ins, auto f) {
      if (ins.same >= 0)
        f(ins.same);
      else if (!ins.group)
        for (int a : node(ins.node).args) f(a);
      for (auto& m : ins.members)
        for (size_t k = 0; k < m.inside.size(); ++k)
          if (m.inside[k] < 0 && Reads(m.copies, k)) f(node(m.node).args[k]);
    };
    for (auto& list : *plan)
      for (auto& ins : list) reads(ins, [&](int a) { last[size_t(a)] = number; }), ++number;
    for (int p : {0, 1})
      if (int(role_) == p)
        for (const pfss::Trace::Result& r : t_.results(p)) last[size_t(r.node)] = number;
    number = 0;
    for (auto& list : *plan)
      for (auto& ins : list) {
        std::set<int> dead;
        if (!ins.group && last[size_t(ins.node)] < 0) dead.insert(ins.node);
        for (auto& m : ins.members)
          if (!Lazy(m.node)) m.kept = last[size_t(m.node)] > number;
        reads(ins, [&](int a) {
          if (last[size_t(a)] == number) dead.insert(a);
        });
        ins.dead.assign(dead.begin(), dead.end());
        ++number;
      }
  }

  // Allocate: registers; one is free again after its last reader in the group.
  void Allocate(Instruction* ins) const {
    auto& members = ins->members;
    size_t n = members.size();
    std::vector<size_t> root(n), last(n);
    for (size_t k = 0; k < n; ++k) {
      const Member& m = members[k];
      root[k] = m.alias ? root[size_t(m.inside[size_t(std::max(0, m.copies))])] : k, last[root[k]] = k;
      for (int a : members[k].inside)
        if (a >= 0) last[root[size_t(a)]] = k;
    }
    std::vector<std::pair<int, int>> idle;  // {bytes, at}
    std::vector<int> size(n);
    std::vector<std::vector<size_t>> ends(n);
    for (size_t k = 0; k < n; ++k)
      if (root[k] == k) ends[last[k]].push_back(k);
    for (size_t k = 0; k < n; ++k) {
      Member& m = members[k];
      if (m.alias) {
        m.at = members[root[k]].at;
      } else {
        int need = m.planes * Element(s_, m.node);
        auto best = idle.end();
        for (auto it = idle.begin(); it != idle.end(); ++it)
          if (it->first >= need && it->first <= 4 * need && (best == idle.end() || it->first < best->first)) best = it;
        if (best == idle.end()) {
          m.at = ins->room, size[k] = need, ins->room += need;
        } else {
          m.at = best->second, size[k] = best->first;
          idle.erase(best);
        }
      }
      int operands = 8 * m.planes;
      if (node(m.node).op == Op::kBorrowA) {
        m.last = true;
        for (size_t j = 1; j < m.inside.size(); ++j) {
          operands += 8 * int(node(node(m.node).args[j]).shape[0]);
          m.last = m.last && m.inside[j] >= 0 && last[root[size_t(m.inside[j])]] == k;
        }
      }
      ins->spare = std::max({ins->spare, operands, m.planes * Element(s_, m.node)});
      for (size_t r : ends[k]) idle.push_back({size[r], members[r].at});
    }
  }

  const Schedule& s_;
  const Trace& t_;
  Role role_;
  const std::vector<Program>& programs_;
  std::vector<char> planar_, used_, ends_;
  std::vector<int> copies_;
  std::vector<Instruction> list_;
  std::map<Shape, Open> open_;  // groups that may still grow
  std::map<int, Shape> where_;  // node -> its open group; sources may be in many
  int64_t out_ = 0;             // bytes emitted since all groups were closed
  std::set<int> stored_;        // lazy nodes that are tensors
};

}  // namespace

ExecutionPlan PlanOf(const Schedule& s, Role role, const std::vector<Program>& programs) {
  return Planner(s, role, programs).Run();
}

}  // namespace suf::backends::internal
