// The lint of pads in the three roles. Each role refuses a trace with one wrong pad, before a bundle is dealt or a
// serial spent. A trace is emitted and linted once.
#include "suf/pfss/lint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/three_roles.hpp"

namespace suf::roles {
namespace {

using pfss::Node, pfss::Op, pfss::Ring, pfss::Trace;
using testing::HasSubstr;

// A message or key section that is a value plus a pad of its own, at full width.
struct Padded {
  int item, sum, value, pad;
};

// The messages (`send`) or key sections that `reader` receives.
std::vector<Padded> Items(const Trace& t, bool send, int reader) {
  pfss::Schedule s(t);
  std::vector<Padded> items;
  auto add = [&](int item) {
    int sum = t.node(item).args[0];
    const Node& n = t.node(sum);
    if ((n.op != Op::kAdd && n.op != Op::kSub) || t.node(n.args[1]).op != Op::kRand) return;
    if (t.node(item).ring.kind == Ring::kAdd && t.node(item).ring.bits > 1 &&
        t.node(n.args[0]).shape == t.node(item).shape)
      items.push_back({item, sum, n.args[0], n.args[1]});
  };
  if (!send)
    for (auto& part : s.key(reader)) add(part.node);
  else
    for (auto& f : s.frames())
      for (auto& part : f.parts)
        if (f.sender != reader) add(part.node);
  return items;
}

// Spoils one item of a closed trace. The digest stays, so no peer could notice.
struct Plant {
  const char *name, *says;
  std::function<void(Trace::Raw&, const std::vector<Padded>&)> spoil;
};

// Two items of one ring and shape, one after the other. So the first value is older than the second pad.
std::pair<Padded, Padded> Twins(const Trace& t, const std::vector<Padded>& items) {
  for (const Padded& a : items)
    for (const Padded& b : items)
      if (a.pad < b.pad && t.node(a.item).ring == t.node(b.item).ring && t.node(a.item).shape == t.node(b.item).shape)
        return {a, b};
  SUF_CHECK(false);
  return {};
}

const Plant kPlants[] = {
    {"ReusedPad", "its pad also covers another message",
     [](Trace::Raw& raw, const std::vector<Padded>& items) {
       auto [a, b] = Twins(raw.t, items);
       raw.node(a.sum).args[1] = b.pad;
     }},
    {"ReusedSection", "its pad also covers another message",
     [](Trace::Raw& raw, const std::vector<Padded>& items) {
       auto [a, b] = Twins(raw.t, items);
       raw.node(b.pad).attrs = raw.node(a.pad).attrs;
     }},
    {"MissingPad", "it has no pad|its last term is not a PRG tensor",
     [](Trace::Raw& raw, const std::vector<Padded>& items) { raw.node(items[1].item).args[0] = items[1].value; }},
    {"KnownToTheReader", "its pad is known to the reader",
     [](Trace::Raw& raw, const std::vector<Padded>& items) {
       int64_t& party = raw.node(items[1].pad).attrs[0];
       party = 1 - party;
     }},
    {"TooNarrow", "its pad does not cover it",
     [](Trace::Raw& raw, const std::vector<Padded>& items) { --raw.node(items[1].pad).ring.bits; }},
};

Emit Spoiled(const Plant& plant, bool send, int reader) {
  return [&plant, send, reader](Trace& t, const nn::Plan& plan, const store::Job& job) {
    EmitTexts(t, plan, job);
    Trace::Raw raw{t};
    plant.spoil(raw, Items(t, send, reader));
  };
}

TEST(Lint, EachRoleRefusesATraceWithAWrongPadBeforeAnythingIsSpent) {
  for (const Plant& plant : kPlants)
    for (bool send : {true, false})
      for (int reader : {0, 1})
        for (int role = 0; role < kRoles; ++role) {
          SCOPED_TRACE(Str(plant.name, send ? " of a message" : " of a key section", " to P", reader, ", role ", role));
          std::array<Emit, kRoles> emit;
          emit[size_t(role)] = Spoiled(plant, send, reader);
          ThreeRoles w(2, emit);
          w.Session([&](proto::DataSession& s) { w.Embed(s); });
          std::string sentence = w.Says(role < 2 ? w.error[role] : w.dealer_error);
          EXPECT_THAT(sentence, HasSubstr("refused: the trace of this plan does not pass the lint"));
          EXPECT_THAT(sentence, testing::ContainsRegex(plant.says));
          EXPECT_THAT(sentence, HasSubstr(send ? "message %" : "key section %"));
          for (int p : {0, 1}) {
            EXPECT_NE(w.Says(w.error[p]), "");
            EXPECT_EQ(w.lane[p]->ledger().floor(), 0u);
            EXPECT_TRUE(w.lane[p]->Bundles().empty());
          }
          EXPECT_EQ(w.dealt, 0);
        }
}

TEST(Lint, RootsOfTreesThatServeElsewhereOrBelongToTheWrongPartyAreRefused) {
  auto refused = [](const std::function<void(Trace::Raw&, Node & tree)>& spoil, const char* says) {
    ModelEngine engine(TheTiny().plan, TheBackend(), [&](Trace& t, const nn::Plan& plan, const store::Job& job) {
      EmitTexts(t, plan, job);
      Trace::Raw raw{t};
      for (int i = 0; i < int(t.nodes().size()); ++i)
        if (t.node(i).op == Op::kDpfGen) return spoil(raw, raw.node(i));
      FAIL() << "the plan has no tree";
    });
    return Fails(Cause::kRefused, says, [&] { (void)engine.Compile(3); });
  };
  EXPECT_TRUE(refused([](Trace::Raw& raw, Node& tree) { raw.node(tree.args[2]).attrs = raw.node(tree.args[1]).attrs; },
                      "a root of its trees is not a PRG tensor of its party"));
  EXPECT_TRUE(refused([](Trace::Raw&, Node& tree) { tree.args[1] = tree.args[2]; }, "a root of its trees is not"));
  for (int p : {0, 1})
    EXPECT_TRUE(refused(
        [&](Trace::Raw& raw, Node& tree) {
          for (const Padded& item : Items(raw.t, true, 1 - p))
            if (item.pad > tree.args[size_t(p) + 1])
              return void(raw.node(tree.args[size_t(p) + 1]).attrs = raw.node(item.pad).attrs);
        },
        "a root of its trees serves elsewhere"));
}

TEST(Lint, ASecondResultIsRefused) {
  ModelEngine engine(TheTiny().plan, TheBackend(), [](Trace& t, const nn::Plan& plan, const store::Job& job) {
    EmitTexts(t, plan, job);
    Trace::Raw raw{t};
    // A bare message under the label of the result's.
    Padded item = Items(t, true, 1)[1];
    raw.node(item.item).args[0] = item.value;
    raw.node(item.item).label = t.node(t.node(t.result(1)).args[0]).label;
  });
  EXPECT_TRUE(Fails(Cause::kRefused, "message %", [&] { (void)engine.Compile(3); }));
}

TEST(Lint, ATraceIsEmittedAndLintedOnceARole) {
  int emitted[kRoles] = {};
  std::array<Emit, kRoles> emit;
  for (int r = 0; r < kRoles; ++r)
    emit[size_t(r)] = [&emitted, r](Trace& t, const nn::Plan& plan, const store::Job& job) {
      ++emitted[r];
      EmitTexts(t, plan, job);
    };
  ThreeRoles w(1, emit);
  w.Session([&](proto::DataSession& s) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(w.Embed(s));
  });
  EXPECT_EQ(w.Says(w.error[0]) + w.Says(w.error[1]), "");
  EXPECT_THAT(emitted, testing::Each(1));
}

}  // namespace
}  // namespace suf::roles
