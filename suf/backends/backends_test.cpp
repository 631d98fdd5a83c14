// Runs every operation of the trace, at many ring widths, on clear and on every variant of packed. Keys, frames and
// results must be the same.

#include <deque>
#include <thread>

#include "suf/backends/rig_test.hpp"
#include "suf/pfss/poly.hpp"

namespace suf::backends {
namespace {

// Opens values that are linear in shares of the mask and public values, then reveals.
TEST(Backends, ArithmeticAndViews) {
  for (int k : {1, 5, 8, 9, 16, 17, 31, 32, 33, 40, 63, 64}) {
    Fixture f;
    auto x = f.Wire1("x", {3, 4, 7}, k);
    auto y = f.Wire1("y", {4, 7}, k);
    auto d = x.hat - y.hat;
    auto e = Lift(x.hat) * 3 + Lift(y.hat);
    auto g = k > 2 ? Lift(x.hat >> (k / 2)) : Lift(x.hat);
    auto h = (d << 3) * g;
    auto masks = f.t.deal(Sec(x.r) * 5, k);
    auto prod = Sh(masks) * Column(Sum(y.hat)) + d;
    auto p = Map(prod, [](auto v) { return Permute(v, {2, 0, 1}); });
    auto q = Between(p, 1, 1, 3);
    auto w = f.t.open(q, "q");
    auto u = Reshape(w.hat, {2 * 4, 7});
    auto sq = Matmul(u, u, true);
    auto rs = Suffix(sq);
    auto back = f.t.open(Sh(w.s), "again");
    auto st = Stack<kPub>({Low(e, k), Low(h, k)});
    auto total = Sum(Sum(Sum(st, 0)), 0);
    auto flat = Reshape(rs, {64}) + Sum(total);
    auto parity = f.t.open(Sh(f.t.deal(Low(Sec(w.r), 1), 1)) + Low(w.hat, 1), "parity");
    auto more = Between(flat, 0, 0, 8) + Sum(Reshape(back.hat, {8, 7})) + Reshape(Sum(Lift(parity.hat), 0), {8});
    auto word = Broadcast(more, {5, 8});
    f.t.reveal<1>(Sh(f.t.deal(Sum(Reshape(Sec(x.r), {84}), 0) * Sum(Reshape(Sec(y.r), {28}), 0), k)) +
                  Reshape(Between(word, 0, 2, 3), {8}));
    SCOPED_TRACE(k);
    Compare(f);
  }
}

// Compares Pack and Unpack with index arithmetic written here, in rings of every element size. It tests masked words,
// and shares of a value that is never opened: hat - (shares of r).
TEST(Backends, Triangles) {
  for (int k : {1, 7, 8, 13, 16, 30, 32, 47, 64})
    for (int64_t n : {1, 2, 5, 33}) {
      Fixture f;
      auto x = f.Wire1("x", {3, n, n}, k);
      auto packed = Map(x, [](auto v) { return Pack(v); });
      auto again = f.t.open(-Sh(packed.s) + packed.hat, "packed");
      auto square = Map(again, [&](auto v) { return Unpack(v, n); });
      Sh y = -Sh(square.s) + square.hat;
      f.t.reveal<1>(y);
      SCOPED_TRACE(testing::Message() << k << " bits, " << n << " rows");
      auto run = Compare(f);
      auto in = f.given.at("x");
      ASSERT_EQ(run.result[1].size(), in.size());
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j) {
            size_t at = size_t((b * n + i) * n + j);
            ASSERT_EQ(run.result[1][at], j <= i ? in[at] : 0) << b << " " << i << " " << j;
          }
    }
}

// Splits into unequal parts along every axis and joins them, in rings of every element size. One part comes three ticks
// later.
TEST(Backends, PartsJoinAgain) {
  for (int k : {1, 8, 13, 30, 47, 64})
    for (int axis : {0, 1, 2}) {
      Fixture f;
      auto x = f.Wire1("x", {3, 5, 4}, k);
      auto parts = [&]<unsigned A>(Val<A> v) {
        return Concat<A>({Between(v, axis, 0, 2), Between(v, axis, 2, v.shape()[size_t(axis)])}, axis);
      };
      auto y = Map(x, parts);
      EXPECT_EQ(y.hat.shape(), x.hat.shape());
      auto opened = f.t.open(-Sh(y.s) + y.hat, "joined");
      f.t.reveal<1>(-Sh(opened.s) + Wait(opened.hat, 3));
      SCOPED_TRACE(testing::Message() << k << " bits, axis " << axis);
      auto run = Compare(f);
      EXPECT_EQ(run.result[1], f.given.at("x"));
    }
}

// Shifts, lifts and comparisons use the representative of the narrower ring. This also holds if a view is read as the
// node behind it, in memory or in that node's group.
TEST(Backends, NarrowerCopiesOfViews) {
  for (int k : {9, 33, 64}) {
    Fixture f;
    auto x = f.Wire1("x", {6, 4}, k);
    auto read = [&](auto v) {
      auto low = Low(Reshape(Permute(v, {1, 0}), {24}), k / 2);
      auto part = Low(Between(Reshape(v, {24}), 0, 0, 24), k / 3);
      auto sum = Lift(low >> 2) + Lift(part);
      return sum * 5 + Lift(Low(Reshape(low, {24}), 2) >> 1);
    };
    auto y = read(x.hat * 3);
    f.t.reveal<1>(Sh(f.t.deal(read(x.r), 60)) + Low(y, 60));
    SCOPED_TRACE(k);
    Compare(f);
  }
}

// Tests the views of rotary positions: (n, h dh) by heads and halves, rotated by public cosines and sines. The result
// is compared with complex arithmetic on the inputs.
TEST(Backends, ViewsTurnPairs) {
  const int64_t n = 5, heads = 3, half = 4;
  for (int k : {20, 33, 64}) {
    Fixture f;
    auto x = f.Wire1("x", {n, heads * 2 * half}, k);
    std::vector<uint64_t> c = f.Random(n * half, 10), s = f.Random(n * half, 10);
    auto cos = f.t.constant(c, {n, 1, half}), sin = f.t.constant(s, {n, 1, half});
    auto turn = [&]<unsigned A>(Val<A> v) {
      auto pairs = Reshape(v, {n, heads, 2, half});
      auto first = Reshape(Between(pairs, 2, 0, 1), {n, heads, half});
      auto second = Reshape(Between(pairs, 2, 1, 2), {n, heads, half});
      auto fc = first * cos;
      auto ss = second * sin;
      auto fs = first * sin;
      auto sc = second * cos;
      auto a = fc - ss;
      auto b = fs + sc;
      return Reshape(Permute(Stack<A>({a, b}), {1, 2, 0, 3}), {n, heads * 2 * half});
    };
    auto y = Map(x, turn);
    auto opened = f.t.open(-Sh(y.s) + y.hat, "turned");
    f.t.reveal<1>(-Sh(opened.s) + opened.hat);
    SCOPED_TRACE(k);
    auto run = Compare(f);
    auto in = f.given.at("x");
    for (int64_t i = 0; i < n; ++i)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t j = 0; j < half; ++j) {
          size_t at = size_t((i * heads + h) * 2 * half + j), p = size_t(i * half + j);
          uint64_t re = in[at], im = in[at + size_t(half)];
          EXPECT_EQ(run.result[1][at], (re * c[p] - im * s[p]) & ring::Mask(k));
          EXPECT_EQ(run.result[1][at + size_t(half)], (re * s[p] + im * c[p]) & ring::Mask(k));
        }
  }
}

// Operands of a function of shares, one list for each party.
struct ShareLists {
  std::vector<Own<0>> a;
  std::vector<Own<1>> b;
  void Add(const Dealt& d) {
    a.push_back(d.a);
    b.push_back(d.b);
  }
};

// Deals one-hot tables of the digits of x's mask.
std::vector<Dealt> DealDigits(Fixture& f, const SharedWire<kPub>& x, const Shape& widths) {
  std::vector<Dealt> tables;
  int lo = 0;
  for (int64_t w : widths) {
    tables.push_back(f.t.deal(Hot(Low(Sec(x.r) >> lo, int(w)))));
    lo += int(w);
  }
  return tables;
}
// Opens the comparisons of the digits of x with those of its mask.
SharedWire<kPub> OpenDigits(Fixture& f, const SharedWire<kPub>& x, const std::vector<Dealt>& tables,
                            const Shape& widths) {
  ShareLists lists;
  for (const Dealt& d : tables) lists.Add(d);
  auto a = Digits(x.hat, lists.a, widths);
  auto b = Digits(x.hat, lists.b, widths);
  return f.t.open(Sh{a, b}, "bits");
}

// Returns shares of the borrow of `digits` digits, in the arithmetic world. Group j is dealt in ring_of(j) bits.
template <class F>
Sh BorrowShares(Fixture& f, const SharedWire<kPub>& bits, int digits, F ring_of) {
  ShareLists groups;
  for (int j = 0; j < digits; ++j) groups.Add(f.t.deal(Mono(bits.r, j), ring_of(j)));
  auto a = BorrowA(bits.hat, groups.a);
  auto b = BorrowA(bits.hat, groups.b);
  return Sh{a, b} + BorrowAt0(bits.hat, digits);
}
// Opens the borrow in the XOR world, in two stages.
SharedWire<kPub> OpenCarry(Fixture& f, const SharedWire<kPub>& bits, int digits) {
  ShareLists groups;
  for (int j = 1; j < digits; ++j) groups.Add(f.t.deal(MonoX(bits.r, j)));
  auto a = BorrowX(bits.hat, Own<0>(bits.s.a), groups.a);
  auto b = BorrowX(bits.hat, Own<1>(bits.s.b), groups.b);
  return f.t.open(Sh{a, b} + Bits(BorrowAt0(bits.hat, digits), 1), "carry");
}

// Returns opened reads of a table of 32 places, added up.
Pub TableReads(Fixture& f, const SharedWire<kPub>& x, const Dealt& table) {
  auto at = Low(x.hat >> 5, 5);
  auto rot0 = Rotate(table.a, at, 17);
  auto rot1 = Rotate(table.b, at, 17);
  auto turned = f.t.open(Sh{rot0, rot1}, "turned");
  auto columns = f.t.constant(f.Random(3 * 32, 20), {3, 32});
  auto sa = Select(table.a, at, columns);
  auto sb = Select(table.b, at, columns);
  auto selected = f.t.open(Low(Sh{sa, -sb}, 33), "select");
  auto list = f.t.constant(f.Random(9, 30), {9});
  auto da = Dot(rot0, list, 4);
  auto db = Dot(rot1, list, 4);
  auto dot = f.t.open(Low(Sh{da, -db}, 29), "dot");
  auto ones = f.t.deal(Unit(Low(Sec(x.r), 3), 8), 9);
  auto na = Take(ones.a, Low(x.hat, 3));
  auto nb = Take(ones.b, Low(x.hat, 3));
  auto taken = f.t.open(Sh{na, nb}, "ones");
  return Lift(turned.hat) + Sum(selected.hat, 0) + Lift(dot.hat) + Lift(taken.hat);
}

// Returns opened histograms of the rows of x, added up. Packed pairs of `rows` rows are read from memory, and drawn.
Pub Histograms(Fixture& f, const SharedWire<kPub>& x, int64_t rows) {
  auto unit = f.t.deal(Unit(Low(Sec(x.r), 4), 16), 7);
  auto ra = RotSum(unit.a, Low(x.hat, 4));
  auto rb = RotSum(unit.b, Low(x.hat, 4));
  auto count = f.t.open(Suffix(Sh{ra, rb}), "count");
  auto first = [&](auto v) { return Between(v, 1, 0, rows * (rows + 1) / 2); };
  auto at = Low(first(x.hat), 4);
  auto pa = RotSum(first(unit.a), at, rows);
  auto pb = RotSum(first(unit.b), at, rows);
  auto by_row = f.t.open(Suffix(Sh{pa, pb}), "by row");
  auto pairs = f.t.deal(Unit(Low(Sec(first(x.r)), 4), 16), 7);
  auto da = RotSum(pairs.a, at, rows);
  auto db = RotSum(pairs.b, at, rows);
  auto drawn = f.t.open(Sh{da, db}, "drawn by row");
  return Lift(count.hat) + Sum(Lift(by_row.hat) + Lift(drawn.hat), 1);
}

TEST(Backends, TablesAndPolynomials) {
  for (int k : {12, 24, 40}) {
    Fixture f;
    auto x = f.Wire1("x", {37, k == 24 ? 61 : 19}, k);  // one strip or three, planes that end within a byte
    const Shape widths = {3, 2, 5, 1};
    const std::vector<Dealt> tables = DealDigits(f, x, widths);
    auto bits = OpenDigits(f, x, tables, widths);
    auto borrow = f.t.open(BorrowShares(f, bits, 4, [&](int j) { return j % 2 ? k : k + 3; }), "borrow");
    auto carry = OpenCarry(f, bits, 4);
    auto reads = TableReads(f, x, tables[2]);
    auto sign = Lift(Point(tables[2].a, Low(Sec(x.r) >> 5, 5))) * 2 - 1;
    auto dealt = f.t.deal(sign * Lift(Sec(x.r)), k);
    // The pairs are the first 15 or 55 elements of a row of x.
    auto histograms = Histograms(f, x, k == 24 ? 10 : 5);
    auto all = Sum(Lift(borrow.hat) + Lift(carry.hat) + reads) + Sum(histograms, -1);
    f.t.reveal<1>(Sum(Sh(dealt)) + all);
    SCOPED_TRACE(k);
    auto run = Compare(f);
    // The opened borrows are not visible here, because the carry's hat is masked; the gates' tests assert them.
    EXPECT_EQ(run.result[1].size(), 37u);
  }
}

// Tests the longest borrows: eight digits in one stage, ten in two. `z mod 2^D` is hat - r + 2^D borrow of their low
// bits. P1 learns the value that it gave.
TEST(Backends, LongestBorrows) {
  for (bool two : {false, true}) {
    const int digits = two ? kMostDigitsX : 8;
    Fixture f;
    auto x = f.Wire1("x", {150}, 13);
    const Shape widths(size_t(digits), 1);
    auto bits = OpenDigits(f, x, DealDigits(f, x, widths), widths);
    auto low = f.t.deal(Lift(Low(Sec(x.r), digits)), 20);
    Sh y = -Sh(low) + Lift(Low(x.hat, digits));
    if (two) {
      auto carry = OpenCarry(f, bits, digits);
      auto sigma = f.t.deal(Lift(carry.r), 20);
      auto hat = Lift(carry.hat);
      y = y + ((Sh(sigma) * (1 - hat * 2) + hat) << digits);
    } else {
      y = y + (BorrowShares(f, bits, digits, [](int) { return 20; }) << digits);
    }
    f.t.reveal<1>(Low(y, 20));
    SCOPED_TRACE(digits);
    auto run = Compare(f);
    for (size_t i = 0; i < 150; ++i) EXPECT_EQ(run.result[1][i], f.given["x"][i] & ring::Mask(digits)) << i;
  }
}

TEST(Backends, Trees) {
  for (int n : {11, 12, 20, 33}) {
    Fixture f;
    auto x = f.Wire1("x", {21}, n);
    auto tree = f.t.tree(Sec(x.r));
    auto w = f.t.window(tree, x.hat - 100, 201);
    auto opened = f.t.open(w, "window");
    auto list = f.t.constant(f.Random(100, 40), {100});
    auto a = Dot(w.a, list, 51);
    auto b = Dot(w.b, list, 51);
    auto e = f.t.point_of_p0(tree, Sec(x.r));
    auto dealt = f.t.deal(Lift(e) * 2 - 1, 40);
    auto table = f.t.deal(Hot(Low(Sec(x.r), 8)));
    auto ta = Rotate(table.a, Low(x.hat, 8), 100);
    auto tb = Rotate(table.b, Low(x.hat, 8), 100);
    auto top = f.t.open(Sh{ta, tb}, "top");
    auto both = f.t.open(Low(Sh{a, -b}, 40), "dot");
    auto all = both.hat + Dot(opened.hat, list, 51) + Dot(top.hat, list, 0);
    f.t.reveal<1>(Sh(dealt) * all);
    SCOPED_TRACE(n);
    Compare(f);
  }
}

// Programs are planned in advance. A program of another trace or role, or one out of turn, is a Bug and not ignored.
TEST(Backends, RunsTheProgramsOfItsSchedule) {
  Fixture f;
  auto x = f.Wire1("x", {4}, 20);
  auto y = f.t.open(Sh(f.t.deal(Lift(x.r) * 3, 20)) * x.hat, "y");
  f.t.reveal<1>(-Sh(y.s) + y.hat);
  f.t.close();
  Schedule s(f.t);
  struct Nothing : Io {
    View In(int) override { throw Error(Cause::kInput, "asked"); }
    std::span<uint8_t> Out(int) override { throw Error(Cause::kInput, "asked"); }
    Data Input(int) override { throw Error(Cause::kInput, "asked"); }
  } io;
  exec::Pool pool(1);
  auto packed = cpu::MakePacked(pool);
  auto randomness = packed->Expand({{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}});
  const auto programs = Programs(s, Role(1));
  ASSERT_GE(programs.size(), 2u);
  auto run = [&](Program p) { packed->Start(s, Role(1))->Run(p, *randomness, io); };
  EXPECT_THROW(run(programs[0]), Error);  // it begins, and then its Io throws
  EXPECT_THROW(run(programs[1]), Bug);
  EXPECT_THROW(run(Programs(s, Role(0))[0]), Bug);
  Program shorter = programs[0];
  shorter.nodes.pop_back();
  EXPECT_THROW(run(shorter), Bug);
  Program other = programs[0];
  other.role = Role(0);
  EXPECT_THROW(run(other), Bug);
}

// A weight in the place of another one in memory is another weight.
TEST(Backends, KeepsNoWeightOfAnOldInput) {
  Fixture f;
  auto x = f.Wire1("x", {3, 4}, 40);
  auto w = f.t.input<kP1>("w", {4, 5});
  auto y = Matmul(Own<1>(x.hat), w);
  f.t.reveal<1>(Sh{Broadcast(f.t.constant(0), {3, 5}), y});
  f.t.close();
  Schedule s(f.t);
  exec::Pool pool(2);
  auto packed = cpu::MakePacked(pool), clear = reference::MakeClear();
  WipedVector<uint64_t> memory;
  for (int i = 0; i < 3; ++i) {
    auto fresh = f.Random(20, 64);
    if (i == 0) memory.resize(fresh.size());
    std::copy(fresh.begin(), fresh.end(), memory.begin());
    f.inputs[1].Set("w", run::Inputs::AnyArray(std::shared_ptr<const WipedVector<uint64_t>>(&memory, [](auto*) {})));
    EXPECT_EQ(RunOn(f, s, *packed, *packed, *packed).result[1], RunOn(f, s, *clear, *clear, *clear).result[1]);
  }
}

// Words that are made for their reader are made once a version if only products read them. Otherwise each run makes
// them.
TEST(Backends, MakesWordsWhenTheyAreRead) {
  for (bool also_as_words : {false, true}) {
    Fixture f;
    auto x = f.Wire1("x", {3, 4}, 40);
    auto w = f.t.input<kP1>("w", {4, 5});
    auto y = Matmul(Own<1>(x.hat), w);
    if (also_as_words) y = y + Broadcast(Sum(w, 0), {3, 5});
    f.t.reveal<1>(Sh{Broadcast(f.t.constant(0), {3, 5}), y});
    f.t.close();
    const Schedule s(f.t);
    exec::Pool pool(2);
    const auto packed = cpu::MakePacked(pool), clear = reference::MakeClear();
    for (int version = 0; version < 2; ++version) {
      const auto words = f.Random(20, 64);
      int made = 0;
      f.inputs[1].SetMade<uint64_t>("w", words.size(), [&] {
        ++made;
        return WipedVector<uint64_t>(words.begin(), words.end());
      });
      const auto first = RunOn(f, s, *packed, *packed, *packed).result[1];
      EXPECT_EQ(RunOn(f, s, *packed, *packed, *packed).result[1], first);
      EXPECT_EQ(made, also_as_words ? 2 : 1);
      EXPECT_EQ(RunOn(f, s, *clear, *clear, *clear).result[1], first);
    }
  }
}

// Four runs at a time share one backend, two of them with other weights. Each leases a pool, reads its own weights and
// keeps its plan.
TEST(Backends, RunsSideBySideKeepTheirWeights) {
  const auto packed = cpu::MakePacked(exec::Pools(2)), clear = reference::MakeClear();
  std::deque<Fixture> all(4);
  std::vector<std::jthread> threads;
  for (size_t k = 0; k < all.size(); ++k) {
    Fixture& f = all[k];
    const auto x = f.Wire1("x", {3, 4}, 40);
    const auto w = f.t.input<kP1>("w", {4, 5});
    f.t.reveal<1>(Sh{Broadcast(f.t.constant(0), {3, 5}), Matmul(Own<1>(x.hat), w)});
    f.t.close();
    if (k < 2)
      f.inputs[1].Set("w", f.Random(20, 60 + int(k)));
    else
      f.inputs[1] = all[k - 2].inputs[1];  // shares arrays and versions
  }
  for (Fixture& f : all)
    threads.emplace_back([&] {
      const Schedule s(f.t);
      const auto want = RunOn(f, s, *clear, *clear, *clear).result[1];
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(RunOn(f, s, *packed, *packed, *packed).result[1], want);
        packed->KeepPlans(i % 2 ? 0 : kPlanBytes);  // plans of other runs are in use
      }
    });
}

}  // namespace
}  // namespace suf::backends
