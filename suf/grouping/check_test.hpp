// Properties of every plan, for tests of modules that plan traces.
#pragma once
#include <gtest/gtest.h>

#include <set>

#include "suf/grouping/group_plan.hpp"

namespace suf::grouping {

// Checks the properties of every plan. Each node that the role needs is made once or is lazy. Every operand is there
// when it is read, in the order of the list and by `after` alone. Maps lead into their tensors. Dead values are not
// read again. Every key section ends once.
class PlanChecker {
 public:
  PlanChecker(const pfss::Schedule& s, Role role, const GroupLimits& limits)
      : s_(s),
        t_(s.trace()),
        role_(role),
        limits_(limits),
        plan_(PlanOf(s, role, pfss::Programs(s, role), limits)),
        made_(t_.nodes().size(), -1),
        dead_(made_),
        computed_(made_.size()) {}

  void Check() {
    ASSERT_EQ(plan_.ends.size(), plan_.programs.size());
    ASSERT_EQ(plan_.ends.back(), int(plan_.instructions.size()));
    for (int k = 0; k < int(plan_.instructions.size()); ++k) {
      CheckOrder(k);
      CheckInstruction(k);
      if (testing::Test::HasFatalFailure()) return;
    }
    CheckMessages();
    CheckSections();
  }

 private:
  // Checks that an instruction waits for earlier ones, among them those whose values it reads.
  void CheckOrder(int k) {
    const Instruction& ins = plan_.instructions[size_t(k)];
    std::vector<uint64_t>& mine = before_.emplace_back(plan_.instructions.size() / 64 + 1);
    for (int a : ins.after) {
      ASSERT_LT(a, k);
      mine[size_t(a) / 64] |= uint64_t{1} << (a % 64);
      for (size_t w = 0; w < mine.size(); ++w) mine[w] |= before_[size_t(a)][w];
    }
    Reads(t_, ins, [&](int a) {
      ASSERT_GE(made_[size_t(a)], 0) << "#" << k << " reads %" << a << ", which is not in memory";
      const size_t at = size_t(made_[size_t(a)]);
      EXPECT_TRUE(mine[at / 64] >> (at % 64) & 1) << "#" << k << " does not wait for %" << a;
      EXPECT_LT(dead_[size_t(a)], 0) << "#" << k << " reads %" << a << ", which is dead";
    });
  }

  // Checks what an instruction computes, and notes the values that it makes and the last readers.
  void CheckInstruction(int k) {
    const Instruction& ins = plan_.instructions[size_t(k)];
    size_t own = 0;  // members without sources
    for (size_t j = 0; j < ins.members.size(); ++j) {
      CheckMember(ins, j);
      const Member& m = ins.members[j];
      if (!IsLazy(m)) {
        ++own;
        Compute(m.node);
      }
      if (m.kept) made_[size_t(m.node)] = k;
    }
    EXPECT_LE(own, limits_.members);
    if (!ins.group) {
      if (!ins.members.empty()) {
        EXPECT_EQ(own, 0u);
        EXPECT_EQ(ins.members.back().node, t_.node(ins.node).args[0]);
      }
      Compute(ins.node);
      made_[size_t(ins.node)] = k;
    }
    for (int i : ins.dead) dead_[size_t(i)] = k;
  }
  void Compute(int i) { EXPECT_EQ(computed_[size_t(i)]++, 0) << "%" << i << " is computed again"; }
  // Returns whether a member may be computed wherever it is read.
  bool IsLazy(const Member& m) const {
    const pfss::Node& n = t_.node(m.node);
    return n.op == pfss::Op::kRand || (n.op == pfss::Op::kTell && Receives(n, role_)) || m.copies >= 0;
  }

  void CheckMember(const Instruction& ins, size_t j) const {
    const Member& m = ins.members[j];
    const pfss::Node& n = t_.node(m.node);
    EXPECT_EQ(pfss::Size(n.shape), int64_t(ins.rows) * m.planes);
    const bool received = Receives(n, role_);
    EXPECT_EQ(m.operands.size(), received ? 0 : m.copies == 0 && IsView(n.op) ? 1 : n.args.size());
    EXPECT_EQ(m.emits, pfss::Info(n.op).cls == pfss::OpClass::kMessage && !received);
    for (size_t o = 0; o < m.operands.size(); ++o) CheckOperand(ins, j, o);
  }
  void CheckOperand(const Instruction& ins, size_t j, size_t o) const {
    const Member& m = ins.members[j];
    const Operand& from = m.operands[o];
    if (from.from == Operand::kNone) {
      EXPECT_TRUE(m.copies >= 0 && m.copies != int(o));
    }
    if (from.from == Operand::kTable) {
      EXPECT_EQ(t_.node(t_.node(m.node).args[o]).op, pfss::Op::kConst);
    }
    if (from.from == Operand::kMember) {
      ASSERT_LT(from.member, int(j));
      EXPECT_LE(from.plane + from.planes, ins.members[size_t(from.member)].planes);
    }
    if (from.from != Operand::kMemory) return;
    EXPECT_EQ(from.map.count, int64_t(ins.rows) * from.planes);
    for (int64_t x = 0; x < from.map.count;) {
      const ElementRun r = RunAt(from.map, x);
      ASSERT_GE(r.many, 1);
      for (int64_t at : {r.at, r.at + (r.many - 1) * r.stride}) {
        ASSERT_GE(at, 0);
        ASSERT_LT(at, pfss::Size(t_.node(r.node).shape)) << "%" << m.node << " " << Print(from.map);
      }
      x += r.many;
    }
  }

  // Checks that every message of the role is sent.
  void CheckMessages() const {
    for (auto& program : plan_.programs)
      for (int i : program.nodes)
        if (pfss::Info(t_.node(i).op).cls == pfss::OpClass::kMessage && !Receives(t_.node(i), role_)) {
          EXPECT_EQ(computed_[size_t(i)], 1) << "%" << i << " is not sent";
        }
  }

  // Checks that results are in memory and that each key section of a party is released once.
  void CheckSections() const {
    std::multiset<int> over, sections;
    for (auto& ins : plan_.instructions) over.insert(ins.read.begin(), ins.read.end());
    for (auto& unread : plan_.unread) over.insert(unread.begin(), unread.end());
    if (role_ != Role::kDealer) {
      for (const pfss::Trace::Result& r : t_.results(int(role_))) {
        EXPECT_GE(made_[size_t(r.node)], 0);
        EXPECT_LT(dead_[size_t(r.node)], 0);
      }
      for (const pfss::FrameField& part : s_.key(int(role_))) sections.insert(part.node);
    }
    EXPECT_EQ(over, sections);
  }

  const pfss::Schedule& s_;
  const pfss::Trace& t_;
  Role role_;
  const GroupLimits& limits_;
  GroupPlan plan_;
  std::vector<int> made_, dead_;               // by node, the instructions that make it and read it last
  std::vector<int> computed_;                  // by node, how often it is computed
  std::vector<std::vector<uint64_t>> before_;  // by instruction, one bit for each predecessor
};

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
      PlanChecker(s, role, limits).Check();
    }
}

}  // namespace suf::grouping
