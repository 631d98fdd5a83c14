#include <gtest/gtest.h>

#include <functional>

#include "suf/pfss/backend.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/ops.hpp"
#include "suf/pfss/poly.hpp"

namespace suf::pfss {
namespace {

// A little protocol: P1's x, scaled by a dealt word, opened, and revealed.
struct Little {
  Trace t;
  SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
  Dealt word = t.deal(Lift(x.r) * 3, 20);

  Schedule Close(Sh y) {
    t.reveal<1>(y);
    t.close();
    return Schedule(t);
  }
};

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
  auto free = w.t.deal(w.x.r, 9);  // a fresh mask: shares cost nothing
  Schedule s = w.Close(Low(Sh(w.word), 7) + Low(Sh(narrow), 7) + Low(Sh(wide), 7) + Low(Sh(free), 7));
  EXPECT_EQ(s.key_bits(0) + s.key_bits(1), 4 * 31);
}

TEST(Trace, RejectsWhatTheTypesCannotSee) {
  Little w;
  EXPECT_THROW(Low(Sh(w.word), 21), Bug);                          // a share is not lifted
  EXPECT_THROW((void)w.t.deal(w.x.r, 13), Bug);                    // a 12-bit mask has no 13 bits
  EXPECT_THROW((void)w.t.open(Sh(w.word), "y", Sec(w.x.r)), Bug);  // the owed word must fill the ring
  EXPECT_THROW((void)(Bits(w.x.hat, 3) + Bits(w.x.hat, 4)), Bug);
  EXPECT_THROW((void)Matmul(w.x.hat, w.x.hat), Bug);
}

TEST(Schedule, CountsFlightsAndBits) {
  Little w;
  auto y = w.t.open(Sh(w.word) * w.x.hat, "y", Sec(Lift(w.x.r)));
  auto z = w.t.open(Low(Sh(w.word), 12) + Low(y.hat, 12), "z");
  Schedule s = w.Close(Low(Sh(w.t.deal(z.r, 12)), 12) + z.hat);
  // x and P1's y leave at 0, P1's half of z before: it waits for nothing. P0 knows y and z at 1 and sends its y, its z
  // and the result.
  EXPECT_EQ(s.flights(), 2);
  EXPECT_EQ(s.frames().size(), 3u);
  Cost c = CostOf(s);
  EXPECT_EQ(c.total.online[0], 4 * (12 + 12 + 12));
  EXPECT_EQ(c.total.online[1], 4 * (12 + 12));
  EXPECT_EQ(c.total.offline, 4 * 12);
  EXPECT_EQ(s.sent(0, true) + s.sent(1, true) + s.sent(1, false),
            (c.total.online[0] + c.total.online[1] + c.total.offline) / 8);
  EXPECT_EQ(c.total.key[0] + c.total.key[1], s.key_bits(0) + s.key_bits(1));
  EXPECT_FALSE(Print(w.t).empty());
}

TEST(Schedule, DealsOnlyWhatAResultNeeds) {
  Little w;
  w.t.deal(Lift(w.x.r) * 5, 40);  // nobody reads it
  Schedule s = w.Close(Low(Sh(w.word), 12) + w.x.hat);
  EXPECT_EQ(s.key_bits(0) + s.key_bits(1), 4 * 20);
}

TEST(Schedule, BundlesAreBalanced) {
  Little w;
  Sh sum = Low(Sh(w.word), 12);
  for (int i = 0; i < 300; ++i) sum = sum + Low(Sh(w.t.deal(Lift(w.x.r) * (i + 7), 12 + i % 50)), 12);
  Schedule s = w.Close(sum);
  EXPECT_NEAR(double(s.key_bits(0)) / double(s.key_bits(1)), 1, 0.02);
}

// The lint proves the good trace and names each planted fault.
TEST(Lint, NamesPlantedFaults) {
  enum Plant { kGood, kTwice, kOld, kBare, kForeign, kNarrow, kUnpaddedKey };
  auto faults = [](Plant plant) {
    Little w;
    Trace::Raw raw{w.t};
    int old = raw.rand(0, Add(12), {4});
    Own<0> y = w.word.a * w.x.hat;
    Own<0> y3 = y * 3;
    int pad = plant == kOld       ? old
              : plant == kForeign ? raw.rand(1, Add(12), {4})
              : plant == kNarrow  ? raw.rand(0, Add(11), {4})
                                  : raw.rand(0, Add(12), {4});
    int other = plant == kTwice ? pad : raw.rand(0, Add(12), {4});
    int first = y.id(), second = w.t.fn(Op::kAdd, {y3.id(), other});
    if (plant == kForeign)
      first = w.t.fn(Op::kLow, {y.id()}, {12});  // P0 cannot add P1's pad: it sends a bare value
    else if (plant != kBare)
      first = w.t.fn(Op::kAdd, {y.id(), pad});
    Pub m(&w.t, raw.send(first, 0)), n(&w.t, raw.send(second, 0));
    Sh out{w.word.a, w.word.b};
    if (plant == kUnpaddedKey) {
      Val<kDealer | kP1> bare(&w.t, raw.tell(w.x.r.id(), 1));
      out = {w.word.a, Own<1>(w.word.b) + Own<1>(bare)};
    }
    Schedule s = w.Close(Low(out, 11) + Low(m, 11) + Low(n, 11));
    LintReport r = Lint(s);
    EXPECT_EQ(r.results, 1);
    return r.faults;
  };
  EXPECT_TRUE(faults(kGood).empty());
  auto says = [&](Plant p, const char* what) {
    auto f = faults(p);
    ASSERT_EQ(f.size(), 1u) << what;
    EXPECT_NE(f[0].find(what), std::string::npos) << f[0];
  };
  says(kTwice, "also covers another message");
  says(kOld, "older than the value");
  says(kBare, "has no pad");
  says(kUnpaddedKey, "has no pad");
  EXPECT_FALSE(faults(kForeign).empty());
}

// The roots of a tree have one seed of 128 bits for each element of alpha: those of fewer would be read past their end,
// or one would serve twice.
TEST(Lint, ComparesRootsWithAlpha) {
  auto faults = [](int party, const std::function<void(Node&)>& spoil) {
    Little w;
    Trace::Tree tree = w.t.tree(w.x.r);
    Sh bit = w.t.window(tree, w.x.hat, 1);
    Sh ints = Map(bit, [](auto v) { return Lift(v); });
    Schedule s = w.Close(Low(ints, 12) + Low(Sh(w.word), 12));
    const int root = party == 0 ? tree.root0.id() : tree.root1.id();
    if (spoil) spoil(Trace::Raw{w.t}.node(root));
    LintReport r = Lint(s);
    EXPECT_EQ(r.trees, spoil ? 0 : 2);  // the correction words go to both
    return r.faults;
  };
  EXPECT_TRUE(faults(0, nullptr).empty());
  const std::pair<const char*, std::function<void(Node&)>> plants[] = {
      {"shorter", [](Node& root) { root.shape = {3}; }},     {"longer", [](Node& root) { root.shape = {5}; }},
      {"one for all", [](Node& root) { root.shape = {1}; }}, {"another order", [](Node& root) { root.shape = {2, 2}; }},
      {"narrower", [](Node& root) { root.ring = Xor(64); }}, {"wider", [](Node& root) { root.ring = Xor(256); }},
      {"numbers", [](Node& root) { root.ring = Add(64); }}};
  for (int party : {0, 1})
    for (auto& [name, spoil] : plants) {
      auto found = faults(party, spoil);
      ASSERT_EQ(found.size(), 2u) << name << " of P" << party;
      for (auto& f : found) EXPECT_NE(f.find("one seed of 128 bits for each tree"), std::string::npos) << f;
    }
}

TEST(Poly, Sizes) {
  EXPECT_EQ(PolySize(0), 2);
  EXPECT_EQ(PolySize(1), 5);
  EXPECT_EQ(PolySize(3), 23);
  for (int d = 1; d < 9; ++d) {
    int words = 0, bits = 0;
    for (int j = 0; j < d; ++j) words += GroupSize(j), bits += j ? GroupBits(j) : 0;
    EXPECT_EQ(words, 3 * (1 << (d - 1)) - 2);  // DESIGN 9
    EXPECT_EQ(bits, (1 << (d - 1)) + (1 << d) - 2 * d - 1);
  }
}

}  // namespace
}  // namespace suf::pfss
