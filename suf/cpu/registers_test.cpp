#include "suf/cpu/registers.hpp"

#include <set>

#include "suf/backends/rig_test.hpp"

namespace suf::cpu {
namespace {

using namespace pfss;  // NOLINT
using backends::Fixture;

// Returns the nodes of a role for which packed computes something. A copy of another value is no step.
std::set<int> Steps(const Schedule& s, Role role) {
  std::set<int> steps;
  const ExecutionPlan plan = PlanOf(s, role);
  for (size_t k = 0; k < plan.registers.size(); ++k) {
    const grouping::Instruction& ins = plan.plan.instructions[k];
    if (!ins.group && ins.same < 0) steps.insert(ins.node);
    for (size_t j = 0; j < ins.members.size(); ++j)
      if (!plan.registers[k].members[j].alias) steps.insert(ins.members[j].node);
  }
  return steps;
}

// The party that did not draw a mask has a share of zero. The trace subtracts it, but packed runs no step for that,
// before a product or in a chain of additions. The zeros are never made.
TEST(Registers, ZeroSharesCostNothing) {
  for (int k : {16, 33, 64}) {
    Fixture f;
    auto x = f.Wire1("x", {6, 8}, k);
    auto w = f.t.input<kP0>("w", {8, 5});
    f.inputs[0].Set("w", f.Random(40, 64));
    auto masked = x.hat - x.s.a;  // P0's half of x: it drew nothing
    auto y = Matmul(Own<0>(masked), w);
    auto more = (x.hat << 1) - x.s.a;
    auto chain = Low((x.s.a + (more * 3)) - x.s.a, k) + Column(Sum(x.hat));
    f.t.reveal<1>(Sh{Sum(y) + Sum(Low(chain, k)), Broadcast(f.t.constant(0), {6})});
    SCOPED_TRACE(k);
    auto run = backends::Compare(f);
    Schedule s(f.t);
    std::set<int> steps = Steps(s, Role(0));
    int copies = 0;
    for (int i = 0; i < int(f.t.nodes().size()); ++i) {
      const Node& n = f.t.node(i);
      bool zero = n.op == Op::kConst && n.data->size() == 1 && n.data->at(0) == 0;
      bool zeros = n.op == Op::kBroadcast && f.t.node(n.args[0]).op == Op::kConst;
      bool copy = false;
      if (n.op == Op::kAdd || n.op == Op::kSub)
        for (int a : n.args) copy = copy || f.t.node(a).op == Op::kBroadcast;
      if (copy && n.know & kP0) ++copies;
      if (zero || zeros || (copy && n.know & kP0)) {
        EXPECT_FALSE(steps.count(i)) << "%" << i << " " << Name(n.op);
      }
    }
    EXPECT_EQ(copies, k == 64 ? 5 : 4);  // at 64 bits the revealed zero is not narrowed first
    EXPECT_TRUE(steps.count(y.id()));
  }
}

}  // namespace
}  // namespace suf::cpu
