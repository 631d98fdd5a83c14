#include "suf/nn/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "suf/nn/compile.hpp"
#include "suf/nn/tiny.hpp"

namespace suf::nn {
namespace {

using Json = nlohmann::ordered_json;

const Plan& Tiny() {
  static const Plan plan = Compile(TinyWeights(1), TinyTexts(2, 40, 16), TinyOptions());
  return plan;
}

// Refusal: the sentence with which f ends.
std::string Refusal(const std::function<void()>& f, Cause code = Cause::kRefused) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), code) << e.what();
    return e.what();
  }
  return "(no refusal)";
}

TEST(Plan, TextIsCanonical) {
  const std::string text = Serialize(Tiny());
  const Plan back = Parse(text);
  EXPECT_EQ(Serialize(back), text);
  EXPECT_EQ(PlanHash(back), PlanHash(Tiny()));
  EXPECT_EQ(Serialize(Parse(Serialize(Tiny(), 1))), text);
  EXPECT_EQ(Json::parse(text)["hash"].get<std::string>(), Hex(PlanHash(Tiny())));
}

TEST(Plan, DeepNestingIsRefused) {
  EXPECT_THAT(Refusal([] { Parse(R"({"version":1,"tables":)" + std::string(1 << 20, '[')); }),
              testing::HasSubstr("nests deeper"));
}

// A text of 2 MB that would take 70 GB.
TEST(Plan, ManyUsesOfALongTableAreRefused) {
  Json j = Json::parse(Serialize(Tiny()));
  j["tables"].push_back(std::vector<int>(1 << 19, 0));
  Json layer = j["classes"][0]["layers"][0];
  layer["recip"] = Json::array();
  for (int i = 0; i < 64; ++i)
    layer["recip"].push_back({{"w", 0}, {"lo", 0}, {"hi", 1}, {"values", j["tables"].size() - 1}});
  j["classes"][0]["layers"] = std::vector<Json>(256, layer);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's tables have more than 16777216 entries"));
}

TEST(Plan, EqualTablesAreWrittenOnce) {
  const Json tables = Json::parse(Serialize(Tiny()))["tables"];
  std::set<std::string> distinct;
  for (const Json& t : tables) distinct.insert(t.dump());
  EXPECT_EQ(distinct.size(), tables.size());
}

TEST(Plan, BrokenTextIsRefusedWithASentence) {
  using Change = std::function<void(Json&)>;
  auto layer = [](Json& j) -> Json& { return j["classes"][0]["layers"][1]; };
  const std::vector<std::pair<Change, std::string>> table = {
      {[](Json& j) { j["version"] = 7; },
       "the plan has version 7, this program reads version 1; compile the plan again"},
      {[](Json& j) { j.erase("version"); }, "the plan lacks the field version"},
      {[](Json& j) { j["colour"] = 1; }, "the plan's field colour is unknown"},
      {[](Json& j) { j["dims"]["depth"] = 1; }, "the plan's field dims.depth is unknown"},
      {[](Json& j) { j["dims"].erase("d"); }, "the plan lacks the field dims.d"},
      {[](Json& j) { j["dims"]["d"] = "16"; }, "the plan's field dims.d is not a whole number"},
      {[](Json& j) { j["dims"]["d"] = 16.5; }, "the plan's field dims.d is not a whole number"},
      {[](Json& j) { j["dims"]["d"] = uint64_t(1) << 63; },
       "the plan's field dims.d is 9223372036854775808, outside 1 to 16384"},
      {[](Json& j) { j["dims"]["eps"] = 2.0; }, "the plan's field dims.eps is 2, outside 0 to 1"},
      {[](Json& j) { j["dims"]["heads"] = 3; }, "the heads do not divide d"},
      {[](Json& j) { j["tokenizer"] = "abc"; }, "the plan's field tokenizer is not a SHA-256 in lower-case hex"},
      {[](Json& j) { j["classes"] = Json::array(); }, "the plan's field classes has 0 entries, outside 1 to 64"},
      {[](Json& j) { j["classes"][0] = 3; }, "the plan's field classes[0] is not an object"},
      {[](Json& j) { j["max_tokens"] = j["classes"][1]["max_n"] = 8; },
       "classes[1].max_n: the classes do not increase"},
      {[](Json& j) { j["max_tokens"] = 12; }, "the last class is not for max_tokens"},
      {[&](Json& j) { layer(j)["qk"] = 65; }, "the plan's field classes[0].layers[1].qk is 65, outside 3 to 64"},
      {[&](Json& j) { layer(j)["v"] = 3; }, "layers[1].qk: a rescale leaves no bits of its ring"},
      {[&](Json& j) { layer(j)["elo"] = 1000; }, "the plan's field classes[0].layers[1].elo is 1000, outside 0 to"},
      {[&](Json& j) { layer(j)["elo"] = layer(j)["ehi"]; },
       "a table of the exponential has another size than its digit"},
      {[&](Json& j) { layer(j)["offset"].push_back(0); }, "there is not one offset a head"},
      {[&](Json& j) { layer(j)["offset"][0] = "x"; }, "layers[1].offset is not a whole number"},
      {[&](Json& j) { layer(j)["score"] = 30; }, "score = shift_score + low + level does not hold"},
      {[&](Json& j) { layer(j)["ffn1"] = 33; }, "ffn1 = shift_ffn1 + piece_width + piece does not hold"},
      {[&](Json& j) { layer(j)["count_bits"] = 3; }, "the modulus of the counts does not exceed the number of tokens"},
      {[&](Json& j) { layer(j)["floor"] = layer(j)["ehi"].get<int>() + 1000; }, "layers[1].floor"},
      {[&](Json& j) { layer(j)["recip"].erase(0); }, "recip"},
      {[&](Json& j) { layer(j)["attention"]["rsqrt"][0]["w"] = 1; }, "attention.rsqrt"},
      {[&](Json& j) { layer(j)["attention"]["kz"] = 60; }, "it is not the ring of the sum that the norm reads"},
      {[&](Json& j) { layer(j)["attention"]["out"] = 3; }, "it is narrower than its widest reader"},
      {[](Json& j) { j["tables"][0][0] = "x"; }, "the plan's field tables[0] is not a whole number"},
      {[](Json& j) { j["tables"].push_back(Json::array({1})); }, "the plan's content does not match its hash"},
      {[](Json& j) { j["calibration"] = "text"; }, "the plan's content does not match its hash"},
      {[](Json& j) { j["hash"] = std::string(64, '0'); }, "the plan's content does not match its hash"},
      {[](Json& j) { j["certificates"].begin().value()["hard"] = 1; }, ".hard is not true or false"},
      {[](Json& j) { j["certificates"] = 0; }, "the plan's field certificates is not an object"},
  };
  for (const auto& [change, sentence] : table) {
    Json j = Json::parse(Serialize(Tiny()));
    change(j);
    EXPECT_THAT(Refusal([&] { Parse(j.dump()); }), testing::HasSubstr(sentence));
  }
  EXPECT_THAT(Refusal([] { Parse("{"); }), testing::HasSubstr("the plan is not JSON text"));
  EXPECT_THAT(Refusal([] { Parse("[]"); }), testing::HasSubstr("is not an object"));
}

TEST(Plan, PicksTheClassOfALength) {
  EXPECT_EQ(Tiny().For(3).max_n, 8);
  EXPECT_EQ(Tiny().For(8).max_n, 8);
  EXPECT_EQ(Tiny().For(9).max_n, 16);
  EXPECT_EQ(Refusal([] { Tiny().For(17); }, Cause::kInput),
            "a text of 17 tokens is over the plan's limit of 16; shorten it or compile a plan for longer texts");
  EXPECT_THAT(Refusal([] { Tiny().For(2); }, Cause::kInput), testing::HasSubstr("below the limit of 3"));
}

}  // namespace
}  // namespace suf::nn
