#include "suf/grouping/group_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace suf::grouping {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

// Returns whether operand k is read from the trace itself.
bool IsTable(Op op, size_t k) {
  if (op == Op::kSelect || op == Op::kSelectX || op == Op::kDense) return k == 2;
  return (op == Op::kDot || op == Op::kMix) && k == 1;
}

class Planner {
 public:
  Planner(const Schedule& s, Role role, std::vector<Program> programs, const GroupLimits& limits)
      : s_(s), t_(s.trace()), limits_(limits), planar_(t_.nodes().size()) {
    plan_.role = role;
    plan_.programs = std::move(programs);
    FindCopies();
    Planes();
    Uses();
  }

  GroupPlan Run() {
    for (auto& program : plan_.programs) {
      for (int i : program.nodes) {
        if (!used_[size_t(i)]) continue;
        if (!Drawn(i)) Fold(i);
        if (!Lazy(i))
          Place(i);
        else if (ends_[size_t(i)])
          Store(i);  // a kept share that nothing of this trace reads
      }
      CloseAll();
      plan_.ends.push_back(int(plan_.instructions.size()));
    }
    Lives();
    Sections();
    return std::move(plan_);
  }

 private:
  const Node& node(int i) const { return t_.node(i); }
  bool Emits(int i) const { return Info(node(i).op).cls == OpClass::kMessage && !Receives(node(i), plan_.role); }
  bool Source(int i) const {
    const Op op = node(i).op;
    return op == Op::kRand || (op == Op::kTell && plan_.role != Role::kDealer);
  }
  // Returns whether the node is drawn from the PRG, or unpacked from a key section, by each reader.
  bool Drawn(int i) const {
    if (Source(i)) return true;
    const int k = Copies(i);
    return k >= 0 && Drawn(node(i).args[size_t(k)]);
  }
  // Returns whether the node is read through a map.
  bool Folded(int i) const { return views_.count(i) != 0; }
  // Returns whether the node is drawn or folded.
  bool Lazy(int i) const { return Drawn(i) || Folded(i); }
  // Returns the operand whose value the node has, or -1. Such nodes are Low and x +- 0, with 0 as the share of a mask
  // that the other party drew alone. Values are kept unreduced, so a narrower ring is the same memory.
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
  // Returns whether the node's value needs that of operand k.
  bool Needs(int i, size_t k) const { return Copies(i) < 0 || size_t(Copies(i)) == k; }
  // Finds the nodes that the role must compute, as copies do not read their other operand.
  void Uses() {
    used_.assign(t_.nodes().size(), 0);
    ends_.assign(t_.nodes().size(), 0);
    if (plan_.role != Role::kDealer)
      for (const pfss::Trace::Result& r : t_.results(int(plan_.role)))
        used_[size_t(r.node)] = ends_[size_t(r.node)] = 1;
    for (size_t at = plan_.programs.size(); at-- > 0;)
      for (size_t j = plan_.programs[at].nodes.size(); j-- > 0;) {
        const int i = plan_.programs[at].nodes[j];
        const Node& n = node(i);
        if (Emits(i)) used_[size_t(i)] = 1;
        if (!used_[size_t(i)] || Receives(n, plan_.role)) continue;
        for (size_t k = 0; k < n.args.size(); ++k)
          if (Needs(i, k) && !IsTable(n.op, k)) used_[size_t(n.args[k])] = 1;
      }
  }
  static bool Elementwise(const Node& n) { return Info(n.op).cls == OpClass::kElementwise; }
  // Returns whether the node may be a member of a group.
  bool Rowwise(int i) const {
    const Node& n = node(i);
    if (n.op == Op::kUnbits && !planar_[size_t(i)]) return false;
    if (n.op == Op::kDot && node(n.args[1]).shape[0] > limits_.table) return false;
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

  // Returns whether the node makes planes of an operand without planes.
  bool Spreads(const Node& n) const {
    return n.op == Op::kMono || n.op == Op::kSelect || n.op == Op::kSelectX ||
           (n.op == Op::kUnbits && n.shape[0] <= limits_.planes);
  }
  // Finds the nodes that lie as planes of rows. These are monomials, separated bits, columns of tables, operands of
  // borrows, and the elementwise nodes between them.
  void Planes() {
    auto spread = [&](int from, int to) {
      if (planar_[size_t(from)] && !planar_[size_t(to)] && node(from).shape == node(to).shape &&
          (Elementwise(node(to)) || Source(to) || (Emits(to) && Size(RowShape(from)) % limits_.plane_rows == 0)))
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
          if (Elementwise(node(n.args[j])) || Source(n.args[j])) planar_[size_t(n.args[j])] = 1;
      if (Elementwise(n))
        for (int a : n.args) spread(i, a);
    }
  }
  Shape RowShape(int i) const {
    Shape s = node(i).shape;
    if (planar_[size_t(i)]) s.erase(s.begin());
    return s;
  }

  // Decides whether a view, or a copy of one, is read through its map.
  void Fold(int i) {
    const Node& n = node(i);
    const int k = Copies(i);
    if (Size(n.shape) == 0 || !(IsView(n.op) || (k >= 0 && Folded(n.args[size_t(k)])))) return;
    IndexMap m = See(IsView(n.op) ? ViewOf(t_, i) : ContiguousMap(n.args[size_t(k)], Size(n.shape)));
    if (k < 0 && limits_.run > 0)
      for (const AxisPart& p : m.pieces)
        if (p.at.axes.size() > 1 && (p.at.axes.back().extent < limits_.run || p.at.axes.back().stride > 1)) return;
    views_.emplace(i, std::move(m));
  }
  // Replaces each folded view in a map by the node that it views. That node is then in a group, in memory or drawn.
  IndexMap See(IndexMap m) {
    auto find = [&](int a) {
      auto it = views_.find(a);
      return it == views_.end() || stored_.count(a) ? nullptr : &it->second;
    };
    if (auto through = ResolveViews(m, find)) return *std::move(through);
    for (const AxisPart& p : m.pieces)
      if (Folded(p.node)) Store(p.node);
    return m;
  }

  // Returns whether a row of a group makes node i: a sum over planes of the group or memory elements.
  bool Sums(int i) const {
    const Node& n = node(i);
    if (n.op != Op::kSum || Size(n.shape) == 0) return false;
    const int64_t axis = n.attrs[0], len = node(n.args[0]).shape[size_t(axis)];
    if (len <= limits_.head) return true;
    auto w = where_.find(n.args[0]);
    return axis == 0 && len <= limits_.tail && w != where_.end() && int64_t(w->second) == Size(n.shape);
  }

  // Returns whether an operation, a sum of rotations, draws its first operand row by row.
  bool Draws(int i) const {
    const Node& n = node(i);
    if (n.op != Op::kRotSum || !Drawn(n.args[0]) || stored_.count(n.args[0])) return false;
    const Shape& s = node(n.args[0]).shape;
    return s.back() * (n.attrs.empty() ? s[s.size() - 2] : n.attrs[0]) <= limits_.drawn;
  }

  // Returns operand k of member i as read from memory.
  Operand Load(int i, size_t k, size_t rows) {
    const Node &n = node(i), &a = node(n.args[k]);
    const int64_t count = Size(a.shape);
    Operand o{.from = Operand::kMemory};
    if (Elementwise(n)) {
      o.map = BroadcastMap(n.args[k], a.shape, n.shape);
    } else if (n.op == Op::kSum) {
      o.map = FrontAxisMap(n.args[k], a.shape, size_t(n.attrs[0]));
    } else if (n.op == Op::kUnit) {  // its columns are rows as well
      o.map = {Size(n.shape), 1, {{n.args[k], 1, MakeAffine({{count, 1}, {n.attrs[0], 0}})}}};
    } else {
      o.map = ContiguousMap(n.args[k], count);
    }
    o.planes = int(o.map.count / int64_t(rows));
    o.map = See(std::move(o.map));
    return o;
  }
  // Returns the plane at which an operand of node i begins. It counts the planes of the operand's node in a group of
  // `rows` rows. Returns -1 if the operand cannot be read at its row.
  int PlaneOf(int i, const Operand& o, int64_t rows) const {
    if (o.from != Operand::kMemory || o.map.pieces.size() != 1 || node(i).op == Op::kUnit) return -1;
    const AxisPart& p = o.map.pieces[0];
    const int64_t size = Size(node(p.node).shape);
    if (!IsContiguous(o.map, p.at.offset) || p.at.offset % rows || size % rows) return -1;
    return Drawn(p.node) && size > rows && !planar_[size_t(p.node)] ? -1 : int(p.at.offset / rows);
  }

  struct Open {
    Instruction ins;
    std::map<int, int> member;  // node -> position
  };

  void Close(size_t rows) {
    auto it = open_.find(rows);
    for (auto& [i, at] : it->second.member) where_.erase(i);
    plan_.instructions.push_back(std::move(it->second.ins));
    open_.erase(it);
  }

  void CloseAll() {
    while (!open_.empty()) Close(open_.begin()->first);
    out_ = 0;
  }

  // Ends the group that makes node i, so that it is in memory. A lazy node is stored there.
  void Land(int i) {
    if (auto w = where_.find(i); w != where_.end()) Close(w->second);
    Store(i);
  }

  // Stores a lazy node as a tensor in memory, for readers outside groups.
  void Store(int i) {
    if (!Lazy(i) || !stored_.insert(i).second) return;
    Instruction ins;
    if (Source(i)) {
      ins.group = true;
      ins.rows = size_t(Size(node(i).shape));
      ins.members.push_back({.node = i, .kept = true});
    } else if (Folded(i)) {
      return Make(i, views_.at(i));
    } else {
      ins.node = i;
      ins.same = node(i).args[size_t(Copies(i))];
      Store(ins.same);
    }
    plan_.instructions.push_back(std::move(ins));
  }

  // Makes a view in memory.
  void Make(int i, IndexMap m) {
    for (const AxisPart& p : m.pieces) Land(p.node);
    Instruction ins;
    if (const int a = m.pieces[0].node; IsContiguous(m) && m.count == Size(node(a).shape)) {
      ins.node = i;
      ins.same = a;
    } else {
      ins.group = true;
      ins.rows = size_t(m.count);
      ins.members.push_back({.node = i, .copies = 0, .operands = {{.from = Operand::kMemory, .map = std::move(m)}}});
    }
    plan_.instructions.push_back(std::move(ins));
  }

  void Place(int i) {
    const Node& n = node(i);
    // A copy is the same memory. Only in a group it is worth a register.
    const int copies = Copies(i);
    if (Info(n.op).cls == OpClass::kView && IsView(n.op)) return Make(i, See(ViewOf(t_, i)));
    if (!(Rowwise(i) || Sums(i)) || (copies >= 0 && !where_.count(n.args[size_t(copies)]))) {
      Open g;
      Instruction& ins = g.ins;
      ins.node = i;
      if (Draws(i)) {
        ins.rows = size_t(Size(node(n.args[0]).shape));
        Draw(&g, n.args[0]);
      }
      for (size_t k = ins.members.empty() ? 0 : 1; k < n.args.size(); ++k)
        if (Needs(i, k) && !IsTable(n.op, k)) Land(n.args[k]);
      if (copies >= 0) ins.same = n.args[size_t(copies)];
      return plan_.instructions.push_back(std::move(ins));
    }
    const size_t rows = size_t(Size(RowShape(i)));
    Member m{.node = i, .planes = int(Size(n.shape) / int64_t(rows)), .emits = Emits(i), .copies = copies};
    for (size_t k = 0; !Receives(n, plan_.role) && k < n.args.size(); ++k) {
      m.operands.emplace_back();
      if (!Needs(i, k)) continue;
      if (IsTable(n.op, k)) {
        m.operands[k].from = Operand::kTable;
        continue;
      }
      const Operand& o = m.operands[k] = Load(i, k, rows);
      const bool here = PlaneOf(i, o, int64_t(rows)) >= 0;
      for (const AxisPart& p : o.map.pieces)
        if (auto w = where_.find(p.node); !(here && (Drawn(p.node) || (w != where_.end() && w->second == rows))))
          Land(p.node);
    }
    Open& g = open_[rows];
    g.ins.group = true;
    g.ins.rows = rows;
    Join(&g, std::move(m));
    where_[i] = rows;
    if (g.member.size() >= limits_.members) Close(rows);
    if (Emits(i) && (out_ += PackedBytes(n)) >= limits_.bytes) CloseAll();
  }

  // Adds a member, and before it the drawn nodes that it reads.
  void Join(Open* g, Member m) {
    const size_t rows = g->ins.rows;
    for (Operand& o : m.operands) {
      const int plane = PlaneOf(m.node, o, int64_t(rows));
      if (plane < 0) continue;
      const int a = o.map.pieces[0].node;
      if (Drawn(a) && !g->member.count(a)) Draw(g, a);
      if (auto it = g->member.find(a); it != g->member.end()) o = {Operand::kMember, it->second, plane, o.planes, {}};
    }
    g->member[m.node] = int(g->ins.members.size());
    g->ins.members.push_back(std::move(m));
  }

  void Draw(Open* g, int a) {
    Member drawn{.node = a, .planes = int(Size(node(a).shape) / int64_t(g->ins.rows)), .copies = Copies(a)};
    for (size_t k = 0; !Source(a) && k < node(a).args.size(); ++k) {
      drawn.operands.emplace_back();
      if (int(k) == drawn.copies)
        drawn.operands[k] = {Operand::kMemory, -1, 0, drawn.planes,
                             ContiguousMap(node(a).args[k], Size(node(a).shape))};
    }
    Join(g, std::move(drawn));
  }

  // Finds the values that are kept, when they die, and the instructions that each instruction follows.
  void Lives() {
    std::vector<Instruction>& all = plan_.instructions;
    std::vector<int> last(t_.nodes().size(), -1), made = last;  // instructions
    for (int k = 0; k < int(all.size()); ++k) {
      Reads(t_, all[size_t(k)], [&](int a) { last[size_t(a)] = k; });
      if (!all[size_t(k)].group) made[size_t(all[size_t(k)].node)] = k;
    }
    if (plan_.role != Role::kDealer)
      for (const pfss::Trace::Result& r : t_.results(int(plan_.role))) last[size_t(r.node)] = int(all.size());
    for (int k = 0; k < int(all.size()); ++k) {
      Instruction& ins = all[size_t(k)];
      std::set<int> dead, after;
      if (!ins.group && last[size_t(ins.node)] < 0) dead.insert(ins.node);
      for (Member& m : ins.members) {
        if (!Drawn(m.node)) m.kept = last[size_t(m.node)] > k;
        if (m.kept) made[size_t(m.node)] = k;
      }
      Reads(t_, ins, [&](int a) {
        if (last[size_t(a)] == k) dead.insert(a);
        after.insert(made[size_t(a)]);
      });
      ins.dead.assign(dead.begin(), dead.end());
      ins.after.assign(after.begin(), after.end());
    }
  }

  // Finds the last reader of each key section.
  void Sections() {
    plan_.unread.resize(plan_.programs.size());
    if (plan_.role == Role::kDealer) return;
    std::map<int, int> last;
    for (int k = 0; k < int(plan_.instructions.size()); ++k)
      for (const Member& m : plan_.instructions[size_t(k)].members)
        if (node(m.node).op == Op::kTell) last[m.node] = k;
    std::map<int, size_t> named;
    for (size_t p = 0; p < plan_.programs.size(); ++p)
      for (int i : plan_.programs[p].nodes) named[i] = p;
    for (const FrameField& part : s_.key(int(plan_.role))) {
      if (auto l = last.find(part.node); l != last.end())
        plan_.instructions[size_t(l->second)].read.push_back(part.node);
      else if (auto p = named.find(part.node); p != named.end())
        plan_.unread[p->second].push_back(part.node);
      else
        plan_.unread.back().push_back(part.node);
    }
  }

  const Schedule& s_;
  const Trace& t_;
  const GroupLimits& limits_;
  GroupPlan plan_;
  std::vector<char> planar_, used_, ends_;
  std::vector<int> copies_;
  std::map<size_t, Open> open_;    // groups that may still grow, by rows
  std::map<int, size_t> where_;    // node -> its open group; a drawn node may be in many
  int64_t out_ = 0;                // bytes emitted since all groups were closed
  std::map<int, IndexMap> views_;  // maps of the folded nodes
  std::set<int> stored_;           // lazy nodes that are stored as tensors
};

}  // namespace

bool Receives(const Node& n, Role role) {
  if (n.op == Op::kTell) return role != Role::kDealer;
  return n.op == Op::kSend && n.attrs[0] != int64_t(role);
}

void Reads(const Trace& t, const Instruction& ins, const std::function<void(int)>& f) {
  if (ins.same >= 0)
    f(ins.same);
  else if (!ins.group)
    for (size_t k = 0; k < t.node(ins.node).args.size(); ++k)
      if (const int a = t.node(ins.node).args[k];
          !IsTable(t.node(ins.node).op, k) && (ins.members.empty() || a != ins.members.back().node))
        f(a);
  for (const Member& m : ins.members)
    for (const Operand& o : m.operands)
      if (o.from == Operand::kMemory)
        for (const AxisPart& p : o.map.pieces) f(p.node);
}

bool ReadsWeight(const Trace& t, int i) {
  const Node& n = t.node(i);
  if (n.op != Op::kMatmul || n.attrs[0]) return false;
  const Node& b = t.node(n.args[1]);
  return b.op == Op::kInput && b.shape.size() == 2;
}

std::set<int> ReadAsWords(const Trace& t, const GroupPlan& plan) {
  std::set<int> out;
  for (const Instruction& ins : plan.instructions)
    Reads(t, ins, [&](int a) {
      if (t.node(a).op != Op::kInput) return;
      const bool weight = !ins.group && ins.same < 0 && ReadsWeight(t, ins.node) && t.node(ins.node).args[0] != a;
      if (!weight) out.insert(a);
    });
  return out;
}

std::vector<int> Instruction::computed() const {
  if (!group) return {node};
  std::vector<int> out;
  out.reserve(members.size());
  for (const Member& m : members) out.push_back(m.node);
  return out;
}

std::span<const Instruction> GroupPlan::of(size_t program) const {
  const int begin = program ? ends[program - 1] : 0;
  return std::span(instructions).subspan(size_t(begin), size_t(ends[program] - begin));
}

int64_t Peak(const GroupPlan& p, const std::function<int64_t(int)>& bytes) {
  std::map<int, int> of, users;  // node -> the owner of its memory; that owner -> its live nodes
  int64_t now = 0, most = 0;
  const auto begin = [&](int i, int same) {
    const int root = same < 0 ? i : of.at(same);
    of[i] = root;
    if (!users[root]++) now += bytes(root);
  };
  for (const Instruction& ins : p.instructions) {
    if (ins.node >= 0) begin(ins.node, ins.same);
    for (const Member& m : ins.members)
      if (m.kept) begin(m.node, -1);
    most = std::max(most, now);
    for (int i : ins.dead)
      if (const int root = of.at(i); !--users[root]) now -= bytes(root);
  }
  return most;
}

GroupPlan PlanOf(const Schedule& s, Role role, std::vector<Program> programs, const GroupLimits& limits) {
  return Planner(s, role, std::move(programs), limits).Run();
}

}  // namespace suf::grouping
