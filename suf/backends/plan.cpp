#include "suf/backends/internal/plan.hpp"

#include <algorithm>
#include <map>

namespace suf::backends::internal {

using namespace pfss;  // NOLINT: the whole file speaks of traces

bool Fusable(const Trace& t, int node) {
  const Node& n = t.node(node);
  auto small = [&](int i) { return t.node(i).ring.bits <= 64; };
  switch (n.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kShl:
    case Op::kShr:
    case Op::kLow:
    case Op::kLift:
    case Op::kBits:
    case Op::kBroadcast:
    case Op::kBorrow:
    case Op::kBorrowAt0:
      return small(node) && std::all_of(n.args.begin(), n.args.end(), small) && Size(n.shape) > 0;
    default:
      return false;
  }
}

namespace {

// Allocate: registers of a group; a node's is free again after its last reader there.
void Allocate(const Trace& t, Instruction* ins) {
  size_t n = ins->nodes.size();
  std::vector<size_t> last(n);
  std::vector<int> idle;
  ins->slot.resize(n), ins->inside.assign(n, {-1, -1});
  for (size_t k = 0; k < n; ++k) {
    last[k] = k;
    const auto& args = t.node(ins->nodes[k]).args;
    for (size_t j = 0; j < std::min<size_t>(2, args.size()); ++j)
      if (auto it = std::find(ins->nodes.begin(), ins->nodes.end(), args[j]); it != ins->nodes.end()) {
        ins->inside[k][j] = int(it - ins->nodes.begin());
        last[size_t(ins->inside[k][j])] = k;
      }
  }
  for (size_t k = 0; k < n; ++k) {
    if (idle.empty())
      ins->slot[k] = ins->registers++;
    else
      ins->slot[k] = idle.back(), idle.pop_back();
    for (size_t j = 0; j <= k; ++j)
      if (last[j] == k) idle.push_back(ins->slot[j]);
  }
}

}  // namespace

ExecutionPlan PlanOf(const Schedule& s, Role role, const std::vector<Program>& programs) {
  const Trace& t = s.trace();
  ExecutionPlan out;
  std::vector<int> last(t.nodes().size(), -1);  // the instruction, numbered over all programs, that reads a node last
  int number = 0;
  for (auto& program : programs) {
    std::vector<Instruction> list;
    std::map<Shape, Instruction> open;  // groups that may still grow
    std::map<int, Shape> member;        // node -> its open group
    // close: a group runs once somebody outside it needs one of its values; so no open group ever reads from another
    auto close = [&](const Shape& shape) {
      auto it = open.find(shape);
      Instruction g = std::move(it->second);
      open.erase(it);
      for (int i : g.nodes) member.erase(i);
      list.push_back(std::move(g));
    };
    for (int i : program.nodes) {
      const Node& n = t.node(i);
      // values are kept unreduced, so a narrower ring is the same memory; only inside a group it is worth a register
      bool fuse = Fusable(t, i) && !(n.op == Op::kLow && !member.count(n.args[0]));
      for (int a : n.args)
        if (auto m = member.find(a); m != member.end() && !(fuse && m->second == n.shape && n.op != Op::kBorrow))
          close(Shape(m->second));
      // words of a borrow are planes of another shape: those of this shape must be its opened bits alone
      if (fuse) {
        Instruction& g = open[n.shape];
        g.group = true, g.nodes.push_back(i), member[i] = n.shape;
        if (g.nodes.size() >= 64) close(Shape(n.shape));
      } else {
        list.push_back({false, {i}, {}, {}});
      }
    }
    while (!open.empty()) close(Shape(open.begin()->first));
    for (auto& ins : list) {
      for (int i : ins.nodes)
        for (int a : t.node(i).args) last[a] = number;
      ++number;
    }
    out.push_back(std::move(list));
  }
  for (int p : {0, 1})
    if (t.result(p) >= 0 && int(role) == p) last[t.result(p)] = number;
  number = 0;
  for (auto& list : out)
    for (auto& ins : list) {
      std::vector<int> seen;
      for (int i : ins.nodes) {
        if (ins.group) ins.kept.push_back(last[i] > number);
        if (last[i] < 0) ins.dead.push_back(i);
        for (int a : t.node(i).args)
          if (last[a] == number && std::find(seen.begin(), seen.end(), a) == seen.end()) seen.push_back(a);
      }
      ins.dead.insert(ins.dead.end(), seen.begin(), seen.end());
      if (ins.group) Allocate(t, &ins);
      ++number;
    }
  return out;
}

}  // namespace suf::backends::internal
