#include "suf/pfss/lint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "suf/pfss/backend.hpp"
#include "suf/pfss/little_test.hpp"

namespace suf::pfss {
namespace {

// The lint passes the good trace and names each planted fault.
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
      first = w.t.fn(Op::kLow, {y.id()}, {12});  // P0 cannot add P1's pad, so it sends a bare value
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

// The roots of a tree need one seed of 128 bits for each element of alpha. With fewer seeds a read would pass the end,
// or a seed would serve twice.
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

// The roots of a comparison belong to its parties. They are emitted after alpha and the payload, without other use.
TEST(Lint, HoldsComparisonsToTheirRoots) {
  auto faults = [](const std::function<void(Trace::Raw&, Node & key, const Trace::Tree& tree)>& spoil) {
    Little w;
    Trace::Comparison c = w.t.comparison(w.x.r, Reshape(Sec(w.x.r) * 3, {1, 4}), 12);
    Trace::Tree tree = w.t.tree(w.x.r);
    Sec late = Reshape(Sec(w.x.r) * 5, {1, 4});
    Sh less = w.t.below(c, w.x.hat, {0});
    Sh bit = w.t.window(tree, w.x.hat, 1);
    Sh ints = Map(bit, [](auto v) { return Lift(v); });
    Dealt more = w.t.deal(late, 12);
    Sh flat = Map(less, [](auto v) { return Reshape(v, {4}); }) + Map(Sh(more), [](auto v) { return Reshape(v, {4}); });
    Schedule s = w.Close(Low(ints, 12) + Low(Sh(w.word), 12) + flat);
    Trace::Raw raw{w.t};
    if (spoil) spoil(raw, raw.node(w.t.node(c.key.id()).args[0]), tree);
    LintReport r = Lint(s);
    EXPECT_EQ(r.trees + int(r.faults.size()), 4);
    return r.faults;
  };
  EXPECT_TRUE(faults(nullptr).empty());
  struct Fault {
    const char* says;
    std::function<void(Trace::Raw&, Node& key, const Trace::Tree& tree)> spoil;
  };
  const Fault plants[] = {
      {"one seed of 128 bits", [](Trace::Raw& raw, Node& key, const auto&) { raw.node(key.args[3]).shape = {3}; }},
      {"PRG tensor of its party", [](Trace::Raw&, Node& key, const auto&) { key.args[3] = key.args[2]; }},
      {"PRG tensor of its party", [](Trace::Raw& raw, Node& key, const auto&) { raw.node(key.args[2]).attrs[0] = 1; }},
      {"after alpha and the payload",  // a payload made after the roots
       [](Trace::Raw&, Node& key, const auto&) { key.args[1] = key.args[3] + 2; }},
      {"after alpha and the payload", [](Trace::Raw&, Node& key, const auto&) { key.args[0] = key.args[3] + 2; }},
      {"serves elsewhere", [](Trace::Raw&, Node& key, const Trace::Tree& t) { key.args[2] = t.root0.id(); }},
      {"serves elsewhere", [](Trace::Raw& raw, Node& key,
                              const Trace::Tree& t) { raw.node(key.args[3]).attrs = raw.node(t.root1.id()).attrs; }},
  };
  for (auto& [says, spoil] : plants) {
    auto found = faults(spoil);
    ASSERT_EQ(found.size(), 2u) << says;
    for (auto& f : found) EXPECT_NE(f.find(says), std::string::npos) << f;
  }
}

// The DCFs of myl7 have a seed of 128 bits for each word of the payload.
TEST(Lint, AForeignSchemeHasASeedAWord) {
  Capabilities can{"other"};
  can.schemes = {fss::DcfScheme::kMyl7};
  for (int spoilt : {-1, 2, 3}) {
    Trace t(can);
    auto x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
    Sec beta = Stack<kDealer>({Sec(x.r), Low(Sec(x.r) * 3, 12)});
    Trace::Comparison c = t.comparison(x.r, beta, 12);
    Sh less = t.below(c, x.hat, {0});
    t.reveal<1>(less);
    t.close();
    Schedule s(t);
    Trace::Raw raw{t};
    const Node& key = t.node(t.node(c.key.id()).args[0]);
    EXPECT_EQ(t.node(key.args[2]).ring, Xor(256));
    EXPECT_EQ(key.ring, Xor(int(fss::DcfKeyBits(12, 2, 12, fss::DcfScheme::kMyl7))));
    if (spoilt >= 0) raw.node(key.args[size_t(spoilt)]).ring = Xor(128);
    const LintReport r = Lint(s);
    EXPECT_EQ(r.faults.size(), spoilt < 0 ? 0u : 2u);
    for (auto& f : r.faults) EXPECT_NE(f.find("one seed of 128 bits for each tree"), std::string::npos) << f;
  }
}

// A derived wire is a linear image of opened wires, and its mask is the same image of their masks. Such a mask is not a
// pad: no message may rely on it, and no party may receive it bare.
TEST(Lint, AMaskOfADerivedWireIsNeverOpened) {
  enum Plant { kGood, kPad, kAlone, kTold };
  auto lint = [](Plant plant) {
    Little w;
    Trace::Raw raw{w.t};
    Wire<kPub> y = w.t.open(Low(Sh(w.word), 12), "y");
    Pub hat = w.x.hat - y.hat;  // never opened itself
    Sec derived = w.x.r - y.r;
    auto own = w.x.s.b * 3;  // an image of a mask, which P1 knows
    Dealt read = w.t.deal(Lift(derived) * 5, 20);
    Sh out = Low(Sh(read), 11) + Low(hat, 11);
    Own<1> value = w.word.b * w.x.hat;
    if (plant == kPad)
      out = out + Low(Pub(&w.t, raw.send(w.t.fn(Op::kAdd, {value.id(), own.id()}), 1)), 11);
    else if (plant == kAlone)
      out = out + Low(Pub(&w.t, raw.send(own.id(), 1)), 11);
    else if (plant == kTold)
      out = {out.a, Own<1>(out.b) + Low(Own<1>(Val<kDealer | kP1>(&w.t, raw.tell(derived.id(), 1))), 11)};
    Schedule s = w.Close(out);
    const LintReport r = Lint(s);
    EXPECT_EQ(r.results, 1);
    return r.faults;
  };
  EXPECT_TRUE(lint(kGood).empty());
  for (auto [plant, says] :
       {std::pair{kPad, "its last term is not a PRG tensor"}, {kAlone, "it has no pad"}, {kTold, "not a PRG tensor"}}) {
    const auto found = lint(plant);
    ASSERT_EQ(found.size(), 1u) << says;
    EXPECT_NE(found[0].find(says), std::string::npos) << found[0];
  }
}

// Steering checks each message of P1 that P0's result needs and the shares that P1 keeps. It excepts one opening.
class Steering : public testing::Test {
 protected:
  // Returns the finding for a trace that `emit` builds from P0's share a and P1's share b.
  template <class Emit>
  std::string Read(const Emit& emit) {
    Trace t;
    const Own<0> a = t.input<kP0>("share", {4}, 12, 0);
    const Own<1> b = t.input<kP1>("share", {4}, 12, 0);
    emit(t, a, b);
    t.close();
    EXPECT_TRUE(Lint(Schedule(t)).faults.empty());
    return pfss::Steering(t, 0);
  }
};

TEST_F(Steering, ReadsEveryMessageThatTheResultNeeds) {
  auto opened = [](Trace& t, const Own<0>& a, const Own<1>& b) { return t.open(Sh{a, b}, "x"); };
  auto scaled = [](Trace& t, const SharedWire<kPub>& x) { return Low(Sh(t.deal(Lift(x.r) * 3, 20)) * x.hat, 12); };
  EXPECT_EQ(Read([&](Trace& t, auto a, auto b) { t.reveal<0>(scaled(t, opened(t, a, b))); }), "");
  // a second opening: its value depends on x
  auto again = [&](Trace& t, auto a, auto b) { return scaled(t, t.open(scaled(t, opened(t, a, b)), "again")); };
  EXPECT_THAT(Read([&](Trace& t, auto a, auto b) { t.reveal<0>(again(t, a, b)); }),
              testing::MatchesRegex("message [0-9]+ \"result\" depends on P0's message [0-9]+ \"again\""));
  EXPECT_THAT(Read([&](Trace& t, auto a, auto b) { t.keep(again(t, a, b)); }),
              testing::MatchesRegex("the share that P1 keeps depends on P0's message [0-9]+ \"again\""));
  // P0 learns nothing, or only a value that does not need the second opening
  EXPECT_EQ(Read([&](Trace& t, auto a, auto b) { t.reveal<1>(again(t, a, b)); }), "");
  EXPECT_EQ(Read([&](Trace& t, auto a, auto b) {
              const SharedWire<kPub> x = opened(t, a, b);
              t.reveal<1>(scaled(t, t.open(scaled(t, x), "again")));
              t.reveal<0>(scaled(t, x));
            }),
            "");
}

TEST_F(Steering, ExceptsOneOpeningOfOneInputWordForWord) {
  auto reveal = [](Trace& t, const Wire<kPub>& x) {
    Sh y = t.deal(Lift(x.r) * 3, 12);
    t.reveal<0>(Low(y * x.hat, 8));
  };
  // with the same input under two pads, P0 could open two values
  EXPECT_THAT(Read([&](Trace& t, auto a, auto b) {
                SharedWire<kPub> x = t.open(Sh{a, b}, "x"), again = t.open(Sh{a, b}, "again");
                reveal(t, {x.hat + again.hat, x.r + again.r});
              }),
              testing::HasSubstr("\"again\""));
  // a function of the input is not the input
  EXPECT_THAT(Read([&](Trace& t, auto a, auto b) {
                reveal(t, t.open(Sh{a * 3, b}, "scaled"));
              }),
              testing::HasSubstr("\"scaled\""));
  EXPECT_THAT(Read([&](Trace& t, auto a, auto b) {
                reveal(t, t.open(Low(Sh{a, b}, 9), "narrowed"));
              }),
              testing::HasSubstr("\"narrowed\""));
}

TEST_F(Steering, AMessageOfP1ThatOnlyP0AddsUpIsRead) {
  // P1's bare share depends on no message of P0, but it cancels the pad of a message that does
  const std::string found = Read([](Trace& t, const Own<0>& a, const Own<1>& b) {
    SharedWire<kPub> x = t.open(Sh{a, b}, "x");
    Sh word = t.deal(Lift(x.r) * 3, 12);
    Wire<kPub> z = t.open(word, "z");
    SharedWire<kP0> m = t.open<kP0>(Sh{Low(Own<0>(z.hat), 12), Low(b, 12) * Low(Own<1>(z.hat), 12)}, "m");
    t.reveal<0>(Sh{Low(m.hat, 12), Own<1>(m.s.b) * -1});
  });
  EXPECT_THAT(found, testing::HasSubstr("\"m\""));
}

// Each result of P0 is read apart. One that needs no input of P1, and nothing that hides one, has no steering.
TEST_F(Steering, ReadsEachResultApart) {
  auto scaled = [](Trace& t, const SharedWire<kPub>& x) { return Low(Sh(t.deal(Lift(x.r) * 3, 20)) * x.hat, 12); };
  auto mine = [](Trace& t, const Own<0>& a) { return t.give<0>(a, 12, "own"); };
  auto theirs = [](Trace& t, const Own<1>& b) { return t.give<1>(b, 12, "theirs"); };
  // P0's own value is opened twice, P1's value beside it once
  auto twice = [&](Trace& t, const Own<0>& a) { return scaled(t, t.open(scaled(t, mine(t, a)), "again")); };
  EXPECT_EQ(Read([&](Trace& t, auto a, auto b) {
              t.reveal<0>(twice(t, a));
              t.reveal<1>(scaled(t, theirs(t, b)));
            }),
            "");
  // and P0 learns both results
  EXPECT_EQ(Read([&](Trace& t, auto a, auto b) {
              t.reveal<0>(twice(t, a));
              t.reveal<0>(scaled(t, theirs(t, b)));
            }),
            "");
  // the second result depends on P0's opening of the first
  EXPECT_THAT(Read([&](Trace& t, auto a, auto b) {
                Sh y = twice(t, a);
                t.reveal<0>(y);
                t.reveal<0>(y + scaled(t, theirs(t, b)));
              }),
              testing::HasSubstr("\"again\""));
  // a kept share beside a result is not sent
  EXPECT_EQ(Read([&](Trace& t, auto a, auto b) {
              t.keep(scaled(t, t.open(scaled(t, t.open(Sh{a, b}, "x")), "again")));
              t.reveal<0>(scaled(t, theirs(t, b)));
            }),
            "");
}

// A result that needs no input of P1, but the mask of one. An altered opening would scale the mask in P1's bare share.
TEST_F(Steering, AMaskOfAnInputCountsAsTheInput) {
  EXPECT_THAT(Read([](Trace& t, const Own<0>& a, const Own<1>& b) {
                SharedWire<kPub> x = t.give<0>(a, 12, "own"), w = t.give<1>(b, 12, "theirs");
                t.reveal<1>(Low(Sh(t.deal(Lift(w.r) * 3, 20)) * w.hat, 12));
                Wire<kPub> z = t.open(Low(Sh(t.deal(Lift(x.r) * 3, 20)) * x.hat, 12), "z");
                t.reveal<0>(Low(Sh(t.deal(Lift(w.r) * 5 + Lift(z.r), 20)) * z.hat, 12));
              }),
              testing::HasSubstr("\"z\""));
}

// An input that P0 gives alone may have a range that gates rely on. P0 can open a number outside of it.
TEST_F(Steering, AnInputOfARangeIsNotExcepted) {
  EXPECT_THAT(Read([](Trace& t, const Own<0>& a, const Own<1>& b) {
                SharedWire<kPub> x = t.give<0>(a, 12, "own"), w = t.give<1>(b, 12, "theirs");
                t.reveal<0>(Low(Sh(t.deal(Lift(x.r) + Lift(w.r), 20)) * x.hat, 12));
              }),
              testing::HasSubstr("\"own\""));
}

// One opening is excepted for all results together.
TEST_F(Steering, TwoResultsHaveTheSameExceptedOpening) {
  auto scaled = [](Trace& t, const SharedWire<kPub>& x) { return Low(Sh(t.deal(Lift(x.r) * 3, 20)) * x.hat, 12); };
  Trace t;
  const Own<0> a = t.input<kP0>("a", {4}, 12, 0), c = t.input<kP0>("c", {4}, 12, 0);
  const Own<1> b = t.input<kP1>("b", {4}, 12, 0), d = t.input<kP1>("d", {4}, 12, 0);
  const SharedWire<kPub> x = t.open(Sh{a, b}, "x"), z = t.open(Sh{c, d}, "z");
  t.reveal<0>(scaled(t, x));
  t.reveal<0>(Low(Sh(t.deal(Lift(x.r) * 5, 20)) * x.hat, 12));
  t.reveal<0>(scaled(t, z));
  t.close();
  const SteeringReport report = ReadSteering(t, 0);
  EXPECT_EQ(report.messages, 1);
  EXPECT_THAT(report.first, testing::HasSubstr("\"z\""));
}

}  // namespace
}  // namespace suf::pfss
