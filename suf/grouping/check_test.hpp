// Properties of every plan, for tests of modules that plan traces.
#pragma once
#include <gtest/gtest.h>

#include <set>

#include "suf/grouping/group_plan.hpp"

namespace suf::grouping {

// Checks the properties of every plan. Each node that the role needs is made once or is lazy. Every operand is there
// when it is read, in the order of the list and by `after` alone. Maps lead into their tensors. Dead values are not
// read again. Every key section ends once.
inline void Check(const pfss::Schedule& s, Role role, const GroupLimits& limits) {
  using namespace pfss;  // NOLINT
  const Trace& t = s.trace();
  const GroupPlan plan = PlanOf(s, role, pfss::Programs(s, role), limits);
  const std::vector<Instruction>& all = plan.instructions;
  std::vector<int> made(t.nodes().size(), -1), dead(t.nodes().size(), -1), computed(t.nodes().size());
  std::vector<std::vector<uint64_t>> before;  // by instruction, one bit for each predecessor
  ASSERT_EQ(plan.ends.size(), plan.programs.size());
  ASSERT_EQ(plan.ends.back(), int(all.size()));
  for (int k = 0; k < int(all.size()); ++k) {
    const Instruction& ins = all[size_t(k)];
    before.emplace_back(all.size() / 64 + 1);
    for (int a : ins.after) {
      ASSERT_LT(a, k);
      before.back()[size_t(a) / 64] |= uint64_t{1} << (a % 64);
      for (size_t w = 0; w < before.back().size(); ++w) before.back()[w] |= before[size_t(a)][w];
    }
    Reads(t, ins, [&](int a) {
      ASSERT_GE(made[size_t(a)], 0) << "#" << k << " reads %" << a << ", which is not in memory";
      const size_t at = size_t(made[size_t(a)]);
      EXPECT_TRUE(before.back()[at / 64] >> (at % 64) & 1) << "#" << k << " does not wait for %" << a;
      EXPECT_LT(dead[size_t(a)], 0) << "#" << k << " reads %" << a << ", which is dead";
    });
    size_t own = 0;  // without sources
    for (size_t j = 0; j < ins.members.size(); ++j) {
      const Member& m = ins.members[j];
      const Node& n = t.node(m.node);
      EXPECT_EQ(Size(n.shape), int64_t(ins.rows) * m.planes);
      const bool received = Receives(n, role);
      EXPECT_EQ(m.operands.size(), received ? 0 : m.copies == 0 && IsView(n.op) ? 1 : n.args.size());
      EXPECT_EQ(m.emits, Info(n.op).cls == OpClass::kMessage && !received);
      for (size_t o = 0; o < m.operands.size(); ++o) {
        const Operand& from = m.operands[o];
        if (from.from == Operand::kNone) {
          EXPECT_TRUE(m.copies >= 0 && m.copies != int(o));
        }
        if (from.from == Operand::kTable) {
          EXPECT_EQ(t.node(n.args[o]).op, Op::kConst);
        }
        if (from.from == Operand::kMember) {
          ASSERT_LT(from.member, int(j));
          EXPECT_LE(from.plane + from.planes, ins.members[size_t(from.member)].planes);
        }
        if (from.from != Operand::kMemory) continue;
        EXPECT_EQ(from.map.count, int64_t(ins.rows) * from.planes);
        for (int64_t x = 0; x < from.map.count;) {
          const Run r = RunAt(from.map, x);
          ASSERT_GE(r.many, 1);
          for (int64_t at : {r.at, r.at + (r.many - 1) * r.stride}) {
            ASSERT_GE(at, 0);
            ASSERT_LT(at, Size(t.node(r.node).shape)) << "%" << m.node << " " << Print(from.map);
          }
          x += r.many;
        }
      }
      const bool lazy = n.op == Op::kRand || (n.op == Op::kTell && received) || m.copies >= 0;
      if (!lazy) {
        ++own;
        EXPECT_EQ(computed[size_t(m.node)]++, 0) << "%" << m.node << " is computed again";
      }
      if (m.kept) made[size_t(m.node)] = k;
    }
    EXPECT_LE(own, limits.members);
    if (!ins.group) {
      if (!ins.members.empty()) {
        EXPECT_EQ(own, 0u);
        EXPECT_EQ(ins.members.back().node, t.node(ins.node).args[0]);
      }
      EXPECT_EQ(computed[size_t(ins.node)]++, 0) << "%" << ins.node << " is computed again";
      made[size_t(ins.node)] = k;
    }
    for (int i : ins.dead) dead[size_t(i)] = k;
  }
  // Messages and results are there.
  for (auto& program : plan.programs)
    for (int i : program.nodes)
      if (Info(t.node(i).op).cls == OpClass::kMessage && !Receives(t.node(i), role)) {
        EXPECT_EQ(computed[size_t(i)], 1) << "%" << i << " is not sent";
      }
  std::multiset<int> over, sections;
  for (auto& ins : all) over.insert(ins.read.begin(), ins.read.end());
  for (auto& unread : plan.unread) over.insert(unread.begin(), unread.end());
  if (role != Role::kDealer) {
    for (const Trace::Result& r : t.results(int(role))) {
      EXPECT_GE(made[size_t(r.node)], 0);
      EXPECT_LT(dead[size_t(r.node)], 0);
    }
    for (const pfss::FrameField& part : s.key(int(role))) sections.insert(part.node);
  }
  EXPECT_EQ(over, sections);
}

inline void CheckAll(const pfss::Schedule& s) {
  constexpr int64_t kNone = int64_t{1} << 40;
  const GroupLimits all[] = {
      {.members = 1000,
       .bytes = kNone,
       .planes = 64,
       .plane_rows = 1,
       .tail = 64,
       .head = 64,
       .table = kNone,
       .drawn = kNone,
       .run = 0},
      {.members = 4,
       .bytes = kNone,
       .planes = 0,
       .plane_rows = 8,
       .tail = 0,
       .head = 0,
       .table = 0,
       .drawn = 0,
       .run = kNone},
      {.members = 64,
       .bytes = 64,
       .planes = 64,
       .plane_rows = 8,
       .tail = 64,
       .head = 0,
       .table = 8,
       .drawn = 32,
       .run = 4},
  };
  for (Role role : {Role::kModel, Role::kData, Role::kDealer})
    for (const GroupLimits& limits : all) {
      SCOPED_TRACE(testing::Message() << Name(role) << ", " << limits.members << " members");
      Check(s, role, limits);
    }
}

}  // namespace suf::grouping
