// The plan of a function as text: a round trip, and refusal of every alteration.
#include "suf/gates/plan_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/func/library.hpp"
#include "suf/func/text.hpp"

namespace suf::gates {
namespace {

using Json = nlohmann::ordered_json;

const FunctionFile& SomeFile() {
  static const FunctionFile file = [] {
    FunctionFile f{{func::Make("relu", 16, 8).f, {}, Origin::kShared, To::kBoth}, 100};
    f.plan.choice = ChoiceOf(f.plan.f, "Index/digits");
    return f;
  }();
  return file;
}

// Returns the text with a matching hash.
std::string Hashed(Json j) {
  j.erase("hash");
  const Hash h = HashOf({AsView(j.dump())});
  j["hash"] = Hex(h);
  return j.dump();
}

TEST(PlanText, ComesBackAsItWas) {
  for (const func::LibraryEntry& e : func::Library())
    for (Origin from : {Origin::kP0, Origin::kP1, Origin::kShared})
      for (To to : {To::kP0, To::kP1, To::kBoth, To::kShared}) {
        FunctionFile file{{func::Make(std::string(e.name), 16, 8).f, {}, from, to}, 7};
        const auto all = Price(file.plan, compiler::Profiles()[0].prices, 1);
        for (const compiler::Candidate& c : all) {
          if (!c.why_not.empty()) continue;
          file.plan.choice = c.choice;
          const FunctionFile again = ParseFile(Print(file));
          EXPECT_EQ(Print(again), Print(file));
          EXPECT_EQ(Name(again.plan), c.name);
          EXPECT_EQ(again.max_values, 7);
          pfss::Trace a, b;
          Emit(a, file.plan, 2);
          Emit(b, again.plan, 2);
          EXPECT_EQ(a.digest(), b.digest()) << e.name << " " << c.name;
          EXPECT_EQ(pfss::EndingOf(a), EndingOf(file.plan)) << e.name;
          if (from != Origin::kP1 || to != To::kP1) break;  // other ends have one lowering only
        }
      }
}

TEST(PlanText, WhatWasAlteredIsRefused) {
  const Json good = Json::parse(Print(SomeFile()));
  EXPECT_TRUE(IsFunctionPlan(good.dump()));
  struct Case {
    const char* field;
    Json value;
    const char* says;
    bool hashed = true;
  };
  const Case cases[] = {
      {"kind", "model", "kind is 'model', not 'function'"},
      {"kind", 3, "kind is missing or no text"},
      {"version", 2, "has version 2, this program reads version 1"},
      {"version", "1", "version is missing or no whole number"},
      {"function", "suf f", "the plan's field function: "},
      {"function", good["function"].get<std::string>() + "# more\n", "does not match its hash"},
      {"lowering", "RowLut", "the plan's field lowering: 'RowLut' is no lowering of relu: "},
      {"lowering", "Nope", "'Nope' is no lowering of relu"},
      {"lowering", "Blocks", "'Blocks' is no lowering of relu"},
      {"lowering", "StepDcf", "does not match its hash", false},
      {"from", "p2", "the plan's field from: it does not know p2; use one of p0, p1, shared"},
      {"from", "p0", "does not match its hash", false},
      {"to", "all", "use one of p0, p1, both, shared"},
      {"to", "p0", "does not match its hash", false},
      {"max_values", 0, "max_values is 0, outside 1 to "},
      {"max_values", -5, "max_values is -5, outside 1 to "},
      {"max_values", uint64_t{1} << 63, "max_values is 9223372036854775808, outside 1 to "},
      {"max_values", 1.5, "max_values is missing or no whole number"},
      {"hash", "00", "does not match its hash", false},
      {"colour", "red", "the plan's field colour is unknown"},
      {"nodes", Json::array(), "this is the plan of a model, not of a function"},
  };
  for (const Case& c : cases) {
    Json j = good;
    j[c.field] = c.value;
    const std::string text = c.hashed ? Hashed(j) : j.dump();
    EXPECT_TRUE(Fails(Cause::kRefused, c.says, [&] { (void)ParseFile(text); })) << c.field << " " << c.value;
  }
  for (auto& [field, value] : good.items()) {
    Json j = good;
    j.erase(field);
    EXPECT_TRUE(
        Fails(Cause::kRefused, Str("the plan's field ", field, " is missing"), [&] { (void)ParseFile(j.dump()); }));
  }
  EXPECT_TRUE(Fails(Cause::kRefused, "no JSON object", [] { (void)ParseFile("[1]"); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "the plan is not JSON text: it ends too early", [] { (void)ParseFile("{"); }));
  const std::string deep = std::string(100000, '[');
  EXPECT_TRUE(Fails(Cause::kRefused, "nests deeper than 64 levels, at column 65", [&] { (void)ParseFile(deep); }));
}

}  // namespace
}  // namespace suf::gates
