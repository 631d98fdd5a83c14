#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "suf/pfss/backend.hpp"
#include "suf/pfss/dag.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/little_test.hpp"
#include "suf/pfss/poly.hpp"

namespace suf::pfss {
namespace {

// The trace of a hostile plan is refused before its counts overflow.
TEST(Trace, AValueOfTooManyBitsIsRefused) {
  Trace t;
  EXPECT_NO_THROW(t.input<kP0>("a", {int64_t{1} << 40}));
  for (Shape shape : {Shape{int64_t{1} << 51}, Shape{int64_t{1} << 40, int64_t{1} << 40}}) try {
      t.input<kP0>(Str("b", shape.size()), shape);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kRefused);
      EXPECT_STREQ(e.what(),
                   "the trace has more than 4194304 operations or 2^56 bits of values; use a shorter text or a "
                   "smaller plan");
    }
}

// Emission code passes x.shape(), a reference into the trace, to functions that add nodes.
TEST(Trace, ReferencesToNodesStayValidWhileItGrows) {
  Trace t;
  const Pub first = t.constant({1, 2, 3}, {3});
  const Shape& shape = first.shape();
  for (uint64_t i = 0; i < 10'000; ++i) (void)t.constant({i}, {1});
  EXPECT_EQ(&shape, &first.shape());
  EXPECT_EQ(shape, (Shape{3}));
}

TEST(Trace, FoldsWhatIsItsOperand) {
  Little w;
  auto same = [](auto a, auto b) { return a.id() == b.id(); };
  EXPECT_TRUE(same(w.x.hat + 0, w.x.hat));
  EXPECT_TRUE(same(0 + w.x.hat, w.x.hat));
  EXPECT_TRUE(same(w.x.hat * 1, w.x.hat));
  EXPECT_TRUE(same(1 * w.x.hat, w.x.hat));
  EXPECT_TRUE(same(w.x.hat - 0, w.x.hat));
  EXPECT_TRUE(same(w.x.hat << 0, w.x.hat));
  EXPECT_TRUE(same(w.x.hat >> 0, w.x.hat));
  EXPECT_TRUE(same(Low(w.x.hat, 12), w.x.hat));
  EXPECT_TRUE(same(Low(Low(w.x.hat, 9), 5), Low(w.x.hat, 5)));
  EXPECT_TRUE(same(w.x.hat + 7, w.x.hat + 7));
  EXPECT_FALSE(same(0 - w.x.hat, w.x.hat));
  EXPECT_EQ((w.x.hat + 7).bits(), 12);
  EXPECT_EQ((w.x.hat << 5).bits(), 17);
  EXPECT_EQ((w.x.hat >> 5).bits(), 7);
}

TEST(Trace, AValueIsDealtOnceAtTheWidestRing) {
  Little w;
  auto narrow = w.t.deal(Lift(w.x.r) * 3, 7);
  auto wide = w.t.deal(Lift(w.x.r) * 3, 31);
  auto free = w.t.deal(w.x.r, 9);  // shares of a fresh mask cost nothing
  Schedule s = w.Close(Low(Sh(w.word), 7) + Low(Sh(narrow), 7) + Low(Sh(wide), 7) + Low(Sh(free), 7));
  EXPECT_EQ(s.key_bits(0) + s.key_bits(1), 4 * 31);
}

// Emits pure nodes in one of two orders, then two openings in one of two orders. Returns digest and DagDigest.
std::pair<Hash, Hash> Digests(bool pure, bool sends, int64_t factor) {
  Little w;
  Pub a, b;
  auto first = [&] { a = w.x.hat * factor; };
  auto second = [&] { b = w.x.hat + 11; };
  if (pure) {
    second();
    first();
  }
  if (!pure) {
    first();
    second();
  }
  Sh x = Low(Sh(w.word) + a, 12), y = Low(Sh(w.word) + b, 12);
  Wire<kPub> u = w.t.open(sends ? y : x, "u"), v = w.t.open(sends ? x : y, "v");
  Sh sum = Sh(w.word) + u.hat + v.hat;
  w.t.reveal<1>(Low(sum, 12));
  w.t.close();
  return {w.t.digest(), DagDigest(w.t)};
}

TEST(Trace, DagDigestLetsPureNodesMove) {
  auto [digest, dag] = Digests(false, false, 5);
  auto [moved, same] = Digests(true, false, 5);
  EXPECT_NE(digest, moved);
  EXPECT_EQ(dag, same);
  EXPECT_NE(dag, Digests(false, true, 5).second);  // messages keep their order
  EXPECT_NE(dag, Digests(false, false, 6).second);
}

TEST(Trace, RejectsWhatTheTypesCannotSee) {
  Little w;
  EXPECT_THROW(Low(Sh(w.word), 21), Bug);                          // a share cannot be lifted
  EXPECT_THROW((void)w.t.deal(w.x.r, 13), Bug);                    // the mask has 12 bits
  EXPECT_THROW((void)w.t.open(Sh(w.word), "y", Sec(w.x.r)), Bug);  // the owed word must fill the ring
  EXPECT_THROW((void)(Bits(w.x.hat, 3) + Bits(w.x.hat, 4)), Bug);
  EXPECT_THROW((void)Matmul(w.x.hat, w.x.hat), Bug);
}

// The table of operations has unique names, and numbers that never change, because they enter the digest.
TEST(Ops, AreATable) {
  std::set<std::string> names;
  for (const OpInfo& o : Ops()) {
    EXPECT_EQ(&Info(o.op), &o);
    EXPECT_TRUE(names.insert(o.name).second) << o.name;
    EXPECT_EQ(o.shape != nullptr, Pure(o.cls)) << o.name;
    EXPECT_STREQ(Name(o.op), o.name);
  }
  EXPECT_EQ(names.size(), 52u);
  const std::pair<Op, int> fixed[] = {{Op::kConst, 0},      {Op::kSend, 4},       {Op::kMatmul, 8},   {Op::kSuffix, 15},
                                      {Op::kReshape, 19},   {Op::kBroadcast, 23}, {Op::kHot, 24},     {Op::kDpfGen, 35},
                                      {Op::kDpfWindow, 36}, {Op::kPack, 37},      {Op::kUnpack, 38},  {Op::kLess, 39},
                                      {Op::kDense, 45},     {Op::kDpfParity, 46}, {Op::kDcfEval, 49}, {Op::kConcat, 50},
                                      {Op::kWait, 51}};
  for (auto [op, number] : fixed) EXPECT_EQ(int(op), number) << Name(op);
}

TEST(Ops, CheckOperandsAndAttributes) {
  Little w;
  int x = w.x.hat.id();
  auto wide = Reshape(w.x.hat, {2, 2});
  EXPECT_THROW(w.t.fn(Op::kAdd, {x}), Bug);
  EXPECT_THROW(w.t.fn(Op::kAdd, {x, x, x}), Bug);
  EXPECT_THROW(w.t.fn(Op::kAdd, {x, x}, {1}), Bug);
  EXPECT_THROW(w.t.fn(Op::kLift, {}), Bug);
  EXPECT_THROW(w.t.fn(Op::kRand, {}, {0, 0}), Bug);  // not a pure function
  EXPECT_EQ(Pack(wide).shape(), (Shape{3}));
  EXPECT_EQ(Unpack(Pack(wide), 2).shape(), (Shape{2, 2}));
  EXPECT_EQ(Pack(wide).bits(), 12);
  EXPECT_THROW((void)Pack(w.x.hat), Bug);                          // not a matrix
  EXPECT_THROW((void)Pack(Reshape(w.x.hat, {1, 4})), Bug);         // not a square
  EXPECT_THROW((void)Unpack(w.x.hat, 2), Bug);                     // 2 rows have 3 pairs
  EXPECT_THROW((void)Unpack(Between(w.x.hat, 0, 0, 3), 3), Bug);   // 3 rows have 6 pairs
  EXPECT_THROW((void)Unpack(Between(w.x.hat, 0, 0, 3), -3), Bug);  // (-3)(-2)/2 is also 3
  EXPECT_EQ(Concat<kPub>({wide, wide, wide}, 1).shape(), (Shape{2, 6}));
  EXPECT_EQ(Concat<kPub>({w.x.hat, Low(w.x.hat, 5)}, -1).shape(), (Shape{8}));
  EXPECT_EQ(Concat<kPub>({w.x.hat, Low(w.x.hat, 5)}, 0).bits(), 5);
  EXPECT_EQ(Concat<kPub>({wide}, 0).id(), wide.id());
  EXPECT_THROW((void)Concat<kPub>({wide, Between(wide, 0, 0, 1)}, 1), Bug);
  EXPECT_THROW((void)Concat<kPub>({wide, w.x.hat}, 0), Bug);
  EXPECT_THROW((void)Concat<kPub>({Bits(w.x.hat, 3), Bits(w.x.hat, 4)}, 0), Bug);
  EXPECT_EQ(Wait(wide, 0).id(), wide.id());
  EXPECT_THROW((void)Wait(wide, -1), Bug);
  EXPECT_THROW((void)Wait(wide, 17), Bug);
  auto units = Unit(w.x.hat, 4096);
  auto three = Between(w.x.hat, 0, 0, 3);
  EXPECT_EQ(RotSum(Between(units, 0, 0, 3), three).shape(), (Shape{4096}));
  EXPECT_EQ(RotSum(Between(units, 0, 0, 3), three, 2).shape(), (Shape{2, 4096}));
  EXPECT_THROW((void)RotSum(units, w.x.hat, 2), Bug);
  EXPECT_THROW(w.t.fn(Op::kRotSum, {units.id(), x}, {2, 2}), Bug);
  EXPECT_EQ(Unpack(Reshape(w.x.hat, {4, 1}), 1).shape(), (Shape{4, 1, 1}));
}

// Operands of strings and tables that infer.cpp refuses, each beside valid ones.
TEST(Ops, CheckStringsAndTables) {
  Little w;
  const std::vector<uint64_t> many(65537, 1), most(65536, 1);
  Pub x = w.x.hat, five = Low(x, 5);  // Add(12), Add(5)
  Pub bits = Less(x, {1, 2, 3});
  EXPECT_EQ(bits.ring(), Xor(3));
  EXPECT_EQ(Less(x, most).bits(), 65536);
  EXPECT_THROW((void)Less(x, many), Bug);
  EXPECT_THROW((void)Less(x, {}), Bug);
  EXPECT_THROW((void)Less(bits, {1}), Bug);
  EXPECT_EQ(Unbits(bits).shape(), (Shape{3, 4}));
  EXPECT_EQ(Unbits(bits).ring(), Add(1));
  EXPECT_THROW((void)Unbits(x), Bug);
  auto constant = [&](Shape s) { return w.t.constant(std::vector<uint64_t>(size_t(Size(s)), 5), s); };
  EXPECT_EQ(Mix(bits, constant({7, 1})).ring(), Xor(7));
  EXPECT_THROW((void)Mix(bits, constant({7, 2})), Bug);  // three bits take one word
  EXPECT_THROW((void)Mix(bits, constant({7})), Bug);
  EXPECT_THROW((void)Mix(bits, constant({65537, 1})), Bug);
  EXPECT_THROW((void)Mix(x, constant({7, 1})), Bug);
  EXPECT_THROW(w.t.fn(Op::kMix, {bits.id(), bits.id()}), Bug);  // masks must be constants
  Pub hot = Hot(five);
  EXPECT_EQ(Above(hot, five, {1, 2}).ring(), Xor(2));
  EXPECT_THROW((void)Above(hot, five, {}), Bug);
  EXPECT_THROW((void)Above(hot, five, many), Bug);
  EXPECT_THROW((void)Above(hot, x, {1}), Bug);              // the index has more bits than the table
  EXPECT_THROW((void)Above(hot, Bits(five, 5), {1}), Bug);  // the index must be a number
  EXPECT_THROW((void)Above(hot, Between(five, 0, 0, 2), {1}), Bug);
  EXPECT_THROW((void)Above(Bits(x, 12), five, {1}), Bug);  // a table has a power of two bits
  EXPECT_EQ(SelectX(hot, Bits(five, 5), constant({2, 32})).shape(), (Shape{2, 4}));
  EXPECT_THROW((void)SelectX(hot, five, constant({2, 32})), Bug);
  EXPECT_THROW((void)SelectX(hot, Bits(five, 4), constant({2, 32})), Bug);
  EXPECT_THROW((void)SelectX(hot, Bits(five, 5), constant({2, 31})), Bug);
  EXPECT_THROW((void)SelectX(hot, Bits(five, 5), constant({32})), Bug);
  EXPECT_EQ(Turn(five, constant({32})).shape(), (Shape{4, 32}));
  EXPECT_EQ(Turn(five, constant({32})).ring(), Add(64));
  EXPECT_THROW((void)Turn(five, constant({31})), Bug);
  EXPECT_THROW((void)Turn(five, constant({1, 32})), Bug);
  EXPECT_THROW((void)Turn(Bits(five, 5), constant({32})), Bug);
  EXPECT_THROW((void)Turn(Lift(five), constant({32})), Bug);
  EXPECT_EQ(Dense(hot, five, constant({32}), 64).ring(), Xor(64));
  EXPECT_THROW((void)Dense(hot, five, constant({32}), 65), Bug);
  EXPECT_THROW((void)Dense(hot, five, constant({32}), 0), Bug);
  EXPECT_THROW((void)Dense(hot, five, constant({33}), 3), Bug);
  EXPECT_THROW((void)Dense(hot, x, constant({32}), 3), Bug);
}

// Operands of trees and comparisons that infer.cpp refuses.
TEST(Ops, CheckTreesAndComparisons) {
  Little w;
  Pub x = w.x.hat;
  Trace::Tree tree = w.t.tree(w.x.r);
  const std::vector<uint64_t> many(65537, 1);
  EXPECT_EQ(w.t.window(tree, x >> 9, 8, 9).ring(), Xor(8));
  EXPECT_THROW((void)w.t.window(tree, x >> 9, 9, 9), Bug);  // level 9 has eight nodes
  EXPECT_THROW((void)w.t.window(tree, x >> 9, 2, 8), Bug);  // the place is of another level
  EXPECT_THROW((void)w.t.window(tree, x, 0), Bug);
  EXPECT_THROW((void)w.t.tree(Low(w.x.r, 7)), Bug);
  EXPECT_EQ(w.t.parity(tree, x, {0, 1, 2}).ring(), Xor(3));
  EXPECT_THROW((void)w.t.parity(tree, x, {}), Bug);
  EXPECT_THROW((void)w.t.parity(tree, x, many), Bug);
  EXPECT_THROW((void)w.t.parity(tree, Low(x, 11), {0}), Bug);
  auto table = [&](int64_t n) { return w.t.constant(std::vector<uint64_t>(size_t(n), 5), {n}); };
  EXPECT_EQ(w.t.dense(tree, x, table(4096), 3).ring(), Xor(3));
  EXPECT_THROW((void)w.t.dense(tree, x, table(4095), 3), Bug);
  EXPECT_THROW((void)w.t.dense(tree, x, table(4096), 65), Bug);
  Sec beta = Stack<kDealer>({Lift(Sec(w.x.r)), Lift(Sec(w.x.r)) * 2});
  auto keys = w.t.comparison(w.x.r, beta, 20);
  EXPECT_EQ(w.t.below(keys, x, {0, 1, 2}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(w.t.below(keys, x, {0, 1, 2}).ring(), Add(20));
  EXPECT_THROW((void)w.t.below(keys, x, {}), Bug);
  EXPECT_THROW((void)w.t.below(keys, Low(x, 11), {0}), Bug);
  EXPECT_THROW((void)w.t.comparison(w.x.r, Lift(Sec(w.x.r)), 20), Bug);  // a payload needs an axis of words
  EXPECT_THROW((void)w.t.comparison(w.x.r, Low(beta, 19), 20), Bug);
}

// A second tree or comparison of the same value has the same key, so a second read costs nothing.
TEST(Trace, AKeyIsOneAValue) {
  auto bits = [](bool first, bool second) {
    Little w;
    Sh y = Low(Sh(w.word), 1);
    auto read = [&](int m) {
      y = y + Map(w.t.window(w.t.tree(w.x.r), w.x.hat, m), [](auto v) { return Sum(Unbits(v), 0); });
    };
    if (first) read(3);
    if (second) read(5);
    Schedule s = w.Close(y);
    return s.key_bits(0) + s.key_bits(1);
  };
  EXPECT_GT(bits(true, false), bits(false, false));
  EXPECT_EQ(bits(true, true), bits(true, false));
  EXPECT_EQ(bits(true, true), bits(false, true));
  Little w;
  Sec beta = Stack<kDealer>({Lift(Sec(w.x.r))});
  EXPECT_EQ(w.t.comparison(w.x.r, beta, 9).key.id(), w.t.comparison(w.x.r, beta, 9).key.id());
  EXPECT_NE(w.t.comparison(w.x.r, beta, 9).key.id(), w.t.comparison(w.x.r, beta, 10).key.id());
}

TEST(Schedule, CountsFlightsAndBits) {
  Little w;
  auto y = w.t.open(Sh(w.word) * w.x.hat, "y", Sec(Lift(w.x.r)));
  auto z = w.t.open(Low(Sh(w.word), 12) + Low(y.hat, 12), "z");
  Schedule s = w.Close(Low(Sh(w.t.deal(z.r, 12)), 12) + z.hat);
  // P1 sends its share of z before the inference, and x and its share of y at tick 0. P0 knows y and z at tick 1, and
  // sends its shares of both and the result.
  EXPECT_EQ(s.flights(), 2);
  EXPECT_EQ(s.frames().size(), 3u);
  Cost c = CostOf(s);
  EXPECT_EQ(c.total.online[0], 4 * (12 + 12 + 12));
  EXPECT_EQ(c.total.online[1], 4 * (12 + 12));
  EXPECT_EQ(c.total.offline, 4 * 12);
  EXPECT_EQ(s.sent(0, true) + s.sent(1, true) + s.sent(1, false),
            (c.total.online[0] + c.total.online[1] + c.total.offline) / 8);
  EXPECT_EQ(c.total.key[0] + c.total.key[1], s.key_bits(0) + s.key_bits(1));
}

// After a wait a party knows the value later, and sends dependent messages later. A value that is known before the
// inference does not wait.
TEST(Schedule, WaitsAreTurns) {
  for (int ticks : {0, 1, 4}) {
    Little w;
    Pub later = Wait(w.x.hat, ticks);
    auto y = w.t.open(Sh(w.word) * later, "y", Sec(Lift(w.x.r)));
    auto early = Wait(Sh(w.word).a, 3);
    Schedule s = w.Close(Low(Sh(w.word), 12) + y.hat);
    for (int p : {0, 1}) EXPECT_EQ(s.at(later.id(), p), s.at(w.x.hat.id(), p) + ticks);
    EXPECT_EQ(s.at(early.id(), 0), -1);
    EXPECT_EQ(s.frames().back().tick, 1 + ticks);
    EXPECT_EQ(s.flights(), 2);  // waits add no dependent message
  }
}

// Repeated calls for an input of a role return one node, and other shapes, widths or ticks are refused.
TEST(Trace, AnInputIsItsName) {
  Little w;
  const auto a = w.t.input<kP0>("given", {2, 3});
  EXPECT_EQ(w.t.input<kP0>("given", {2, 3}).id(), a.id());
  EXPECT_THROW((void)w.t.input<kP0>("given", {3, 2}), Bug);
  EXPECT_NE(w.t.input<kP1>("given", {2, 3}).id(), a.id());
  EXPECT_THROW((void)w.t.input<kP0>("given", {2, 3}, 32), Bug);
  EXPECT_THROW((void)w.t.input<kP0>("given", {2, 3}, 64, 0), Bug);
}

TEST(Schedule, DealsOnlyWhatAResultNeeds) {
  Little w;
  w.t.deal(Lift(w.x.r) * 5, 40);  // never read
  Schedule s = w.Close(Low(Sh(w.word), 12) + w.x.hat);
  ASSERT_EQ(UnusedMessages(s).size(), 1u);
  EXPECT_EQ(w.t.node(UnusedMessages(s)[0]).ring, Add(40));
  EXPECT_EQ(s.key_bits(0) + s.key_bits(1), 4 * 20);
}

TEST(Schedule, BundlesAreBalanced) {
  Little w;
  Sh sum = Low(Sh(w.word), 12);
  for (int i = 0; i < 300; ++i) sum = sum + Low(Sh(w.t.deal(Lift(w.x.r) * (i + 7), 12 + i % 50)), 12);
  Schedule s = w.Close(sum);
  EXPECT_NEAR(double(s.key_bits(0)) / double(s.key_bits(1)), 1, 0.02);
}

// The same trace for both values: P0's bundle receives all corrections, and only the keys differ.
TEST(Schedule, CorrectionsGoToP0) {
  std::array<std::array<int64_t, 2>, 2> key{}, sent{};
  std::array<int, 2> flights{};
  for (const KeysTo to : {KeysTo::kBalanced, KeysTo::kP0}) {
    Trace t;
    t.SetKeysTo(to);
    SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
    Sh sum = Low(Sh(t.deal(Lift(x.r) * 3, 20)), 12);
    for (int i = 0; i < 300; ++i) sum = sum + Low(Sh(t.deal(Lift(x.r) * (i + 7), 12 + i % 50)), 12);
    EXPECT_THROW(t.SetKeysTo(to), Bug);  // too late
    t.reveal<1>(sum);
    t.close();
    const Schedule s(t);
    EXPECT_TRUE(Lint(s).faults.empty());
    const Cost cost = CostOf(s);
    for (size_t p : {0, 1}) {
      key[size_t(to)][p] = s.key_bits(int(p));
      sent[size_t(to)][p] = s.sent(int(p), true);
      EXPECT_EQ(cost.total.key[p], s.key_bits(int(p)));
    }
    flights[size_t(to)] = s.flights();
  }
  EXPECT_EQ(key[0][0] + key[0][1], key[1][0] + key[1][1]);
  EXPECT_EQ(key[1][1], 0);  // there are no DPF words
  EXPECT_EQ(flights[0], flights[1]);
  EXPECT_EQ(sent[0], sent[1]);
}

// Emits and closes a small trace: P1 learns the low bits of a product.
void EmitProduct(Trace& t) {
  t.scope("input");
  SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
  t.scope("product");
  Dealt word = t.deal(Lift(x.r) * 3, 20);
  Wire<kPub> y = t.open(Sh(word) * x.hat, "y", Sec(Lift(x.r)));
  t.scope("result");
  Pub bits = Low(y.hat, 5);
  Sh out = Low(Sh(word), 5) + bits;
  t.reveal<1>(out);
  t.close();
}

// The texts of that trace and of its schedule, checked line by line when they were recorded.
TEST(Print, TextOfATrace) {
  Trace t;
  EmitProduct(t);
  EXPECT_EQ(Print(t), R"(# input
%0 = input [0] "x" : own1 Z12 (4)
%1 = rand [1 0] : rnd1 Z12 (4)
%2 = add %0 %1 : own1 Z12 (4)
%3 = const {0} : const Z64 ()
%4 = broadcast %3 [4] : const Z64 (4)
%5 = send %2 [1] "x" : pub Z12 (4)
# product
%6 = lift %1 : rnd1 Z64 (4)
%7 = const {3} : const Z64 ()
%8 = mul %6 %7 : rnd1 Z64 (4)
%9 = rand [1 1] : rnd1 Z20 (4)
%10 = sub %8 %9 : sec Z20 (4)
%11 = tell %10 [1 9] : rnd0 Z20 (4)
%12 = low %11 [20] : rnd0 Z20 (4)
%13 = low %9 [20] : rnd1 Z20 (4)
%14 = mul %12 %5 : own0 Z12 (4)
%15 = mul %13 %5 : own1 Z12 (4)
%16 = rand [0 0] : rnd0 Z12 (4)
%17 = rand [1 2] : rnd1 Z12 (4)
%18 = add %14 %16 : own0 Z12 (4)
%19 = add %15 %17 : own1 Z12 (4)
%20 = send %18 [0] "y" : pub Z12 (4)
%21 = send %19 [1] "y" : pub Z12 (4)
%22 = add %20 %21 : pub Z12 (4)
%23 = add %16 %17 : sec Z12 (4)
%24 = sub %23 %6 : sec Z12 (4)
# result
%25 = low %22 [5] : pub Z5 (4)
%26 = low %11 [5] : rnd0 Z5 (4)
%27 = low %9 [5] : rnd1 Z5 (4)
%28 = add %26 %25 : own0 Z5 (4)
%29 = send %28 [0] "result" : pub Z5 (4)
%30 = add %29 %27 : own1 Z5 (4)
)");
}

TEST(Print, TextOfASchedule) {
  Trace t;
  EmitProduct(t);
  EXPECT_EQ(Print(Schedule(t)), R"(flights 2
frame P1 to P0, tick 0, 12 bytes
  %5 "x": 4 x 12 bits at 0
  %21 "y": 4 x 12 bits at 6
frame P0 to P1, tick 1, 9 bytes
  %20 "y": 4 x 12 bits at 0
  %29 "result": 4 x 5 bits at 6
key P0, 10 bytes
  %11: 4 x 20 bits at 0
key P1, 0 bytes
step P0, tick 1, receives frame 0, sends frame 1: %5 %11 %12 %14 %16 %18 %20 %21 %22 %25 %26 %28 %29
step P1, tick 0, sends frame 0: %0 %1 %2 %5 %9 %13 %15 %17 %19 %21
step P1, tick 2, receives frame 1: %27 %29 %30
)");
}

TEST(Print, ShowsTheFirstValuesOfAConstant) {
  Little w;
  auto few = w.t.constant({1, ~uint64_t{0}}, {2});
  auto many = w.t.constant(std::vector<uint64_t>(9, 7), {9});
  Schedule s = w.Close(Low(Sh(w.word), 12));
  std::string text = Print(w.t);
  EXPECT_NE(text.find(Str("%", few.id(), " = const {1 -1} : const Z64 (2)\n")), std::string::npos);
  EXPECT_NE(text.find(Str("%", many.id(), " = const {7 7 7 7 7 7 7 7 ..} : const Z64 (9)\n")), std::string::npos);
}

// A kernel outside the capabilities throws Bug, because Start refuses traces that need it.
TEST(Kernels, MissingOnesThrowBug) {
  const struct : Kernels {
  } none;
  const KeyBatch b{{}, 0, 8, 0};
  EXPECT_THROW(none.DpfGen(b, nullptr, {}, nullptr), Bug);
  EXPECT_THROW(none.DpfWindow(b, 0, nullptr, nullptr, 0, nullptr, 1, nullptr), Bug);
  EXPECT_THROW(none.DpfParity(b, 0, nullptr, nullptr, nullptr, 1, nullptr), Bug);
  EXPECT_THROW(none.DpfDense(b, 0, nullptr, nullptr, nullptr, nullptr, nullptr), Bug);
  EXPECT_THROW(none.DcfGen(b, nullptr, nullptr, {}, nullptr), Bug);
  EXPECT_THROW(none.DcfEval(b, 0, nullptr, nullptr, nullptr, 1, nullptr), Bug);
}

TEST(Poly, Sizes) {
  EXPECT_EQ(PolySize(0), 2);
  EXPECT_EQ(PolySize(1), 5);
  EXPECT_EQ(PolySize(3), 23);
  for (int d = 1; d < 9; ++d) {
    int words = 0, bits = 0;
    for (int j = 0; j < d; ++j) {
      words += GroupSize(j);
      bits += j ? GroupBits(j) : 0;
    }
    EXPECT_EQ(words, 3 * (1 << (d - 1)) - 2);  // docs/mathematics.md#borrow
    EXPECT_EQ(bits, (1 << (d - 1)) + (1 << d) - 2 * d - 1);
  }
}

}  // namespace
}  // namespace suf::pfss
