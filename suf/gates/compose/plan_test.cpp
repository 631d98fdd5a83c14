// The plan of a composition as text: a round trip, a known hash, refusal of every alteration, and safe choices.
#include "suf/gates/compose/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::gates {
namespace {

using testing::HasSubstr;

constexpr const char* kPlanned =
    "x = input p1 12:4 [n, 3]\n"
    "v = input p0 8:0 [3]\n"
    "k = input shared 6:0:u [n]\n"
    "y, b = reluars(x, shift=2) outputs y, w\n"
    "s = dot(y, v)\n"
    "f = function(k, \"step\")\n"
    "output s -> p1\n"
    "output b -> shared\n"
    "output f -> both\n"
    "function step\n"
    "suf step domain 6 ring 8 outputs 1 degree 0\n"
    "piece 0 : 1\n"
    "piece 20 : -4\n"
    "end 64\n"
    "channel signed 8 0 y\n"
    "end function\n";

CompositionPlan PlanFor(const std::string& text, int64_t max_rows) {
  auto c = std::make_shared<const Composition>(ParseComposition(text));
  return {c, DefaultChoices(*c), max_rows};
}

// Returns the text with a matching hash.
std::string WithHash(nlohmann::ordered_json j) {
  j.erase("hash");
  const Hash h = HashOf({AsView(j.dump())});
  j["hash"] = Hex(h);
  return j.dump();
}

TEST(CompositionPlan, ComesBackAsItWas) {
  const CompositionPlan plan = PlanFor(kPlanned, 100);
  const CompositionPlan again = ParseCompositionPlan(Print(plan));
  EXPECT_EQ(Print(again), Print(plan));
  EXPECT_EQ(HashOfPlan(again), HashOfPlan(plan));
  EXPECT_EQ(again.choices, plan.choices);
  EXPECT_EQ(again.max_rows, 100);
  Trace a, b;
  Emit(a, *plan.composition, plan.choices, 3);
  Emit(b, *again.composition, again.choices, 3);
  EXPECT_EQ(a.digest(), b.digest());
}

TEST(CompositionPlan, EveryLoweringComesBack) {
  CompositionPlan plan = PlanFor(kPlanned, 7);
  int others = 0;
  for (size_t i = 0; i < plan.choices.size(); ++i) {
    const Composition::ComposedGate& g = plan.composition->gates()[i];
    for (const std::string& option : g.gate->Options(g.use)) {
      CompositionPlan other = plan;
      other.choices[i] = option;
      EXPECT_EQ(ParseCompositionPlan(Print(other)).choices, other.choices);
      if (option == plan.choices[i]) continue;
      EXPECT_NE(HashOfPlan(other), HashOfPlan(plan)) << option;
      ++others;
    }
  }
  EXPECT_GT(others, 1);
}

constexpr const char* kKnownHash = "7a7a5db48869ef247f669ed77522c8d545e7ff5e9c4aad24116e07b5c682281a";

// The plan was hashed by Python's hashlib and json.
TEST(CompositionPlan, HasAKnownHash) {
  const CompositionPlan plan = PlanFor("x = input p1 8:0 [n]\ny = times(x, by=3)\noutput y -> p1\n", 5);
  EXPECT_EQ(Hex(HashOfPlan(plan)), kKnownHash);
  EXPECT_THAT(Print(plan), HasSubstr(Str("\n \"hash\": \"", kKnownHash, "\"\n}\n")));
}

TEST(CompositionPlan, AnAlteredPlanIsRefused) {
  using Json = nlohmann::ordered_json;
  const Json good = Json::parse(Print(PlanFor(kPlanned, 100)));
  const std::string text = good["composition"];
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    EXPECT_NE(out.find(from), out.npos) << from;
    return out.replace(out.find(from), from.size(), to);
  };
  std::string many;
  for (size_t i = 0; i <= kMostStatements; ++i) many += Str("x", i, " = input p1 8:0\n");
  Json fewer = good["lowerings"], unknown = good["lowerings"], number = good["lowerings"];
  fewer.erase(0);
  unknown[0] = "Nope";
  number[1] = 3;
  struct AlteredField {
    const char* field;
    Json value;
    const char* says;
    bool hashed = true;
  };
  const AlteredField cases[] = {
      {"kind", "model", "kind is 'model', not 'composition'"},
      {"kind", "function", "this is the plan of a function, not of a composition"},
      {"kind", 3, "kind is missing or no text"},
      {"version", 2, "has version 2, this program reads version 1 of a composition's"},
      {"version", "1", "version is missing or no whole number"},
      {"composition", 7, "composition is missing or no text"},
      {"composition", "", "the plan's field composition: the composition has no output"},
      {"composition", changed("shift=2", "shift=99"), "the plan's field composition: line 4"},
      {"composition", changed("\"step\"", "silu"),
       "the plan's field composition: line 10, column 1: found the function"},
      {"composition", "x = input p1 8:0\ny = function(x, silu)\noutput y -> p1\n",
       "the plan's field composition: line 2, column 5: no function is given"},
      {"composition", text + "# more\n", "does not match its hash"},
      {"composition", changed("12:4", "12:5"), "does not match its hash", false},
      {"composition", changed("s -> p1", "s -> p0"), "does not match its hash", false},
      {"composition", many, "the plan's field composition: line 4097, column 1: found more than 4096 statements"},
      {"composition", std::string(kMostCompositionText + 1, ' '), "found a text of 16777217 bytes"},
      {"lowerings", "Nope", "lowerings is missing or no list of texts"},
      {"lowerings", number, "lowerings is missing or no list of texts"},
      {"lowerings", fewer, "lowerings has 2 texts, and the composition has 3 gates"},
      {"lowerings", unknown, "lowerings: line 4, column 8: \"Nope\" is no lowering of reluars"},
      {"max_rows", 0, "max_rows is 0, outside 1 to 67108864"},
      {"max_rows", -5, "max_rows is -5, outside 1 to "},
      {"max_rows", kMostValues + 1, "max_rows is 67108865, outside 1 to "},
      {"max_rows", uint64_t{1} << 63, "max_rows is 9223372036854775808, outside 1 to "},
      {"max_rows", 1.5, "max_rows is missing or no whole number"},
      {"max_rows", 99, "does not match its hash", false},
      {"hash", "00", "does not match its hash", false},
      {"colour", "red", "the plan's field colour is unknown"},
      {"nodes", Json::array(), "this is the plan of a model, not of a composition"},
  };
  for (const AlteredField& c : cases) {
    Json j = good;
    j[c.field] = c.value;
    const std::string altered = c.hashed ? WithHash(j) : j.dump();
    EXPECT_TRUE(Fails(Cause::kRefused, c.says, [&] { (void)ParseCompositionPlan(altered); })) << c.field;
  }
  for (auto& [field, value] : good.items()) {
    Json j = good;
    j.erase(field);
    EXPECT_TRUE(Fails(Cause::kRefused, Str("the plan's field ", field, " is missing"),
                      [&] { (void)ParseCompositionPlan(j.dump()); }));
  }
  Json turned = Json::object();  // the same fields in another order
  turned["max_rows"] = good["max_rows"];
  turned.update(good);
  EXPECT_TRUE(Fails(Cause::kRefused, "does not match its hash", [&] { (void)ParseCompositionPlan(turned.dump()); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "no JSON object", [] { (void)ParseCompositionPlan("[1]"); }));
  const std::string big((size_t{1} << 26) + 1, ' ');
  EXPECT_TRUE(Fails(Cause::kRefused, "the plan has 67108865 bytes, the limit is 67108864",
                    [&] { (void)ParseCompositionPlan(big); }));
}

TEST(CompositionPlan, ARowOfManyNumbersTakesFewerRows) {
  const std::string text = "x = input p1 8:0 [n, 65536]\ny = times(x, by=3)\noutput y -> p1\n";
  EXPECT_EQ(ParseCompositionPlan(Print(PlanFor(text, 1 << 24))).max_rows, 1 << 24);
  const std::string wide = Print(PlanFor(text, (1 << 24) + 1));
  EXPECT_TRUE(Fails(Cause::kRefused, "max_rows is 16777217, and x would have over 2^40 numbers",
                    [&] { (void)ParseCompositionPlan(wide); }));
}

TEST(CompositionPlan, KindsOfPlansAreToldApart) {
  const std::string composition = Print(PlanFor(kPlanned, 100));
  const FunctionFile file{{*PlanFor(kPlanned, 1).composition->text().gates[2].function, {}, Origin::kP1, To::kP1}, 7};
  const std::string function = Print(file);
  EXPECT_TRUE(IsCompositionPlan(composition) && !IsFunctionPlan(composition));
  EXPECT_TRUE(IsFunctionPlan(function) && !IsCompositionPlan(function));
  EXPECT_FALSE(IsCompositionPlan("{\"nodes\": []}") || IsFunctionPlan("{\"nodes\": []}"));
  EXPECT_TRUE(Fails(Cause::kRefused, "this is the plan of a composition, not of a function",
                    [&] { (void)ParseFile(composition); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "this is the plan of a function, not of a composition",
                    [&] { (void)ParseCompositionPlan(function); }));
}

// Returns how a P0 that learns outputs can learn more by altering its messages.
std::string SteeringOf(const Composition& c, const GateChoices& choices) {
  Trace t;
  Emit(t, c, choices, 2);
  return pfss::Steering(t, 0);
}

Composition Read(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return Composition(ParseComposition(text));
}

// With some lowerings of a function P0's openings reach P1's bare share.
TEST(CompositionPlan, SafeChoicesHaveNoSteering) {
  const std::string text =
      Str("k = input shared 6:0:u [n]\nf = function(k, \"step\")\ng = times(k, by=3, ring=6)\noutput g -> p1\n",
          "output f -> both\n", std::string(kPlanned).substr(std::string(kPlanned).find("function step")));
  const Composition both = Read(text), ours = Read(text, "f -> both", "f -> p1");
  EXPECT_EQ(RevealsToP0(both), std::vector<size_t>{1});
  EXPECT_TRUE(RevealsToP0(ours).empty());
  const Composition::ComposedGate& f = both.gates()[0];
  GateChoices choices = DefaultChoices(both), steered;
  for (const std::string& option : f.gate->Options(f.use)) {
    choices[0] = option;
    if (!SteeringOf(both, choices).empty()) steered = choices;
  }
  ASSERT_FALSE(steered.empty());
  EXPECT_TRUE(Fails(Cause::kRefused, "a P0 that alters its messages learns more of P1's values than f (message ",
                    [&] { RefuseSteering(both, steered); }));
  RefuseSteering(ours, steered);  // P0 learns nothing
  // prices at which one part of the cost decides
  std::vector<compiler::Prices> all(5);
  all[0].flight = all[1].wire = all[2].key = all[3].block = all[4].word = 1;
  for (const compiler::Profile& p : compiler::Profiles()) all.push_back(p.prices);
  bool cheaper = false;
  for (const compiler::Prices& prices : all) {
    const GateChoices safe = ChooseSafe(both, prices, 8, false), trusting = ChooseSafe(both, prices, 8, true);
    EXPECT_EQ(SteeringOf(both, safe), "");
    RefuseSteering(both, safe);
    EXPECT_EQ(trusting, Choose(both, prices, 8));
    EXPECT_EQ(ChooseSafe(ours, prices, 8, false), Choose(ours, prices, 8));
    cheaper |= safe != trusting;
  }
  EXPECT_TRUE(cheaper) << "no cheapest choice has a steering";
}

// Every lowering of reluars has one.
// No single change removes the steering of a result that two statements share.
TEST(CompositionPlan, TwoStatementsAreMadeSafeOneAfterTheOther) {
  const Composition c(ParseComposition(
      "x = input p1 8:0 [n]\ny = relu(x)\nz = clamp(x, low=-3, high=2)\ns = add(y, z)\noutput s -> p0\n"));
  EXPECT_NE(SteeringOf(c, DefaultChoices(c)), "");
  EXPECT_EQ(SteeringOf(c, ChooseSafe(c, compiler::Profiles()[0].prices, 1024, false)), "");
}

TEST(CompositionPlan, ASteeringOfEveryChoiceIsRefused) {
  const Composition c = Read(kPlanned, "s -> p1", "s -> both");
  EXPECT_EQ(RevealsToP0(c), (std::vector<size_t>{0, 2}));
  const GateChoices choices = ChooseSafe(c, compiler::Profiles()[0].prices, 8, false);
  EXPECT_TRUE(
      Fails(Cause::kRefused, "learns more of P1's values than s and f (message ", [&] { RefuseSteering(c, choices); }));
}

}  // namespace
}  // namespace suf::gates
