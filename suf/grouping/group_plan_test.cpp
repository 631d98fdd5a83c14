// Checks plans of small traces as text, and the properties of every plan.
#include "suf/grouping/check_test.hpp"
#include "suf/pfss/little_test.hpp"

namespace suf::grouping {
namespace {

using namespace pfss;  // NOLINT

constexpr GroupLimits kWide{.members = 1000,
                            .bytes = int64_t{1} << 40,
                            .planes = 64,
                            .plane_rows = 1,
                            .tail = 64,
                            .head = 4,
                            .table = 1000,
                            .drawn = 64,
                            .run = 0};

GroupPlan PlanOf(const Schedule& s, Role role, const GroupLimits& limits = kWide) {
  return PlanOf(s, role, Programs(s, role), limits);
}

TEST(Plan, OfAWord) {
  Little w;
  auto o = w.t.open(Sh(w.word) * w.x.hat, "y");
  Schedule s = w.Close(-Sh(o.s) + o.hat);
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kModel)), R"(program 0
#0 %3 const
#1 group of 4 rows, after #0, read %11, dead %3
  %5 send
  %11 tell
  %12 copy %11
  %14 mul %12 %5
  %16 rand
  %18 add %14 %16
  %20 send %18, emits
  %21 send
  %22 add %20 %21
  %24 sub [%3(4*0)] %16
  %26 add %24 %22
  %27 send %26, emits
)");
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kDealer)), R"(program 0
#0 %7 const
#1 group of 4 rows, after #0, dead %7
  %1 rand
  %6 lift %1
  %8 mul %6 [%7(4*0)]
  %9 rand
  %10 sub %8 %9
  %11 tell %10, emits
)");
  CheckAll(s);
}

// Tests broadcast loads, planes, tables and a product: the reads of each group and its dependencies.
TEST(Plan, OfTablesAndAProduct) {
  Little w;
  auto hot = w.t.deal(Hot(Low(Sec(w.x.r), 3)));
  auto table = w.t.constant({1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}, {2, 8});
  auto a = Select(hot.a, Low(w.x.hat, 3), table);
  auto b = Select(hot.b, Low(w.x.hat, 3), table);
  auto o = w.t.open(Low(Sh{a, -b}, 12), "selected");  // (2, 4)
  auto m = Matmul(o.hat, o.hat, true);                // (2, 2)
  auto column = Column(Sum(m));                       // compilers are free to order the operands of +
  Schedule s = w.Close(-Sh(o.s) + o.hat + column);
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kModel)), R"(program 0
#0 %3 const
#1 group of 8 rows
  %31 send, kept
#2 group of 4 rows, after #1, dead %31
  %5 send
  %20 copy %5
  %16 rand
  %21 select %16 %20 table, 2 planes
  %24 copy %21, 2 planes
  %26 rand, 2 planes
  %28 add %24 %26, 2 planes
  %30 send %28, 2 planes, emits
  %32 add %30 [%31], 2 planes, kept
#3 %34 matmul, after #2
#4 group of 2 rows, after #3, dead %34
  %35 sum [%34(2*1 2*2)], kept
#5 group of 4 rows, after #0 #2 #4, dead %3 %32 %35
  %26 rand, 2 planes
  %37 sub [%3(8*0)] %26, 2 planes
  %39 add %37 [%32], 2 planes
  %40 add %39 [%35(2*1 4*0)], 2 planes
  %41 send %40, 2 planes, emits
)");
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kDealer)), R"(program 0
#0 group of 4 rows
  %1 rand
  %14 copy %1
  %15 hot %14
  %16 rand
  %17 sub %15 %16
  %18 tell %17, emits
)");
  CheckAll(s);
}

// Adds the halves of pairs, rotated and joined.
Schedule JoinedPairs(Little& w) {
  auto o = w.t.open(Sh(w.word) * w.x.hat, "y");
  auto pairs = Reshape(o.hat, {2, 2});
  auto turned = Permute(pairs, {1, 0}) + 1;
  auto both = Stack<kPub>({Between(pairs, 1, 1, 2), Between(turned, 1, 0, 1)}) * 3;  // (2, 2, 1)
  auto second = Reshape(turned, {4}), first = Reshape(both, {4}), sum = first + second;
  return w.Close(-Sh(o.s) + sum);
}

// Tests that views are read by their maps.
TEST(Plan, OfViews) {
  Little w;
  Schedule s = JoinedPairs(w);
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kModel)), R"(program 0
#0 %3 const
#1 %7 const
#2 %26 const
#3 group of 4 rows, read %11
  %5 send
  %11 tell
  %12 copy %11
  %14 mul %12 %5
  %16 rand
  %18 add %14 %16
  %20 send %18, emits
  %21 send
  %22 add %20 %21, kept
#4 group of 4 rows, after #2 #3, dead %26
  %27 add [%22(2*1 2*2)] [%26(4*0)], kept
#5 group of 4 rows, after #0 #1 #3 #4, dead %3 %7 %22 %27
  %31 mul [{1: %22(2*2 +1), 2: %27(2*2)}/2] [%7(4*0)]
  %34 add %31 [%27]
  %16 rand
  %35 sub [%3(4*0)] %16
  %37 add %35 %34
  %38 send %37, emits
)");
  CheckAll(s);
}

// Tests that a view of short runs is made once in memory.
TEST(Plan, OfViewsOfShortRuns) {
  Little w;
  Schedule s = JoinedPairs(w);
  GroupLimits made = kWide;
  made.run = 1000;
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kModel, made)), R"(program 0
#0 %3 const
#1 %7 const
#2 group of 4 rows, read %11
  %5 send
  %11 tell
  %12 copy %11
  %14 mul %12 %5
  %16 rand
  %18 add %14 %16
  %20 send %18, emits
  %21 send
  %22 add %20 %21, kept
#3 group of 4 rows, after #2
  %25 copy [%22(2*1 2*2)], kept
#4 %26 const
#5 group of 4 rows, after #3 #4, dead %25 %26
  %27 add [%25] [%26(4*0)], kept
#6 group of 4 rows, after #0 #1 #2 #5, dead %3 %7 %22 %27
  %31 mul [{1: %22(2*2 +1), 2: %27(2*2)}/2] [%7(4*0)]
  %34 add %31 [%27]
  %16 rand
  %35 sub [%3(4*0)] %16
  %37 add %35 %34
  %38 send %37, emits
)");
  CheckAll(s);
}

// Tests sums: of planes in a group, of two elements in memory, and one as an operation of its own.
TEST(Plan, OfSums) {
  Little w;
  auto hot = w.t.deal(Hot(Low(Sec(w.x.r), 3)));
  auto table = w.t.constant(std::vector<uint64_t>(40, 5), {5, 8});
  auto a = Sum(Select(hot.a, Low(w.x.hat, 3), table), 0);
  auto b = Sum(Select(hot.b, Low(w.x.hat, 3), table), 0);
  auto o = w.t.open(Low(Sh{a, -b}, 12), "planes");
  auto rows = Reshape(Broadcast(Column(Sum(Reshape(o.hat, {2, 2}))), {2, 2}), {4});
  auto all = Sum(Reshape(Broadcast(Column(o.hat), {4, 6}), {24}));
  auto sum = o.hat + rows + all;
  Schedule s = w.Close(-Sh(o.s) + sum);
  EXPECT_EQ(Print(w.t, PlanOf(s, Role::kModel)), R"(program 0
#0 %3 const
#1 group of 4 rows
  %5 send
  %20 copy %5
  %16 rand
  %21 select %16 %20 table, 5 planes
  %22 sum %21
  %26 copy %22
  %28 rand
  %30 add %26 %28
  %32 send %30, emits
  %33 send
  %34 add %32 %33, kept
#2 group of 24 rows, after #1
  %43 copy [%34(4*1 6*0)], kept
#3 %44 sum, after #2, dead %43
#4 group of 2 rows, after #1
  %37 sum [%34(2*1 2*2)], kept
#5 group of 4 rows, after #0 #1 #3 #4, dead %3 %34 %37 %44
  %45 add [%34] [%37(2*1 2*0)]
  %46 add %45 [%44(4*0)]
  %28 rand
  %47 sub [%3(4*0)] %28
  %49 add %47 %46
  %50 send %49, emits
)");
  CheckAll(s);
}

// Tests that a sum of rotations draws its operand as it reads it, unless a row is too long.
TEST(Plan, OfSumsOfRotations) {
  Little w;
  auto unit = w.t.deal(Unit(Low(Sec(w.x.r), 3), 8), 7);
  const auto at = Low(w.x.hat, 3);
  auto o = w.t.open(Sh{RotSum(unit.a, at), RotSum(unit.b, at)}, "counts");
  auto sum = Sum(o.hat);
  Schedule s = w.Close(-Sh(o.s) + sum);
  const GroupPlan plan = PlanOf(s, Role::kModel);
  EXPECT_EQ(Print(w.t, plan), R"(program 0
#0 %3 const
#1 group of 4 rows
  %5 send
  %21 copy %5, kept
#2 %22 rotsum, after #1, dead %21
  %16 rand
  %19 copy %16
#3 group of 8 rows, after #2, dead %22
  %24 rand
  %26 add [%22] %24
  %28 send %26, emits
  %29 send
  %30 add %28 %29, kept
#4 %32 sum, after #3, dead %30
#5 group of 8 rows, after #0 #4, dead %3 %32
  %24 rand
  %33 sub [%3(8*0)] %24
  %35 add %33 [%32(8*0)]
  %36 send %35, emits
)");
  GroupLimits most = kWide;
  most.drawn = 31;
  const GroupPlan whole = PlanOf(s, Role::kModel, most);
  EXPECT_NE(Print(w.t, whole).find("  %16 rand, kept\n#2 %19 is %16, after #1, dead %16\n"), std::string::npos);
  const auto elements = [&](int i) { return Size(w.t.node(i).shape); };
  EXPECT_EQ(Peak(plan, elements), 1 + 8 + 8);        // %3, %22 and %30
  EXPECT_EQ(Peak(whole, elements), 1 + 32 + 4 + 8);  // %3, %16 or %19, %21 and %22
  CheckAll(s);
}

}  // namespace
}  // namespace suf::grouping
