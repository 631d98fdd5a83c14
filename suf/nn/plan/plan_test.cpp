#include "suf/nn/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "suf/base/digest.hpp"
#include "suf/func/text.hpp"
#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/read/build.hpp"

namespace suf::nn {
namespace {

using Json = nlohmann::ordered_json;

const Plan& AfterPlan() {
  static const Plan plan = Small(After(true)).plan;
  return plan;
}
const Plan& BeforePlan() {
  static const Plan plan = Small(Before()).plan;
  return plan;
}

TEST(Plan, TextIsCanonical) {
  for (const Plan* plan : {&AfterPlan(), &BeforePlan()}) {
    const std::string text = Serialize(*plan);
    const Plan back = Parse(text);
    EXPECT_EQ(Serialize(back), text);
    EXPECT_EQ(PlanHash(back), PlanHash(*plan));
    EXPECT_EQ(Serialize(Parse(Serialize(*plan, 1))), text);
    EXPECT_EQ(Json::parse(text)["hash"].get<std::string>(), Hex(PlanHash(*plan)));
    EXPECT_EQ(back.graph.Text(), plan->graph.Text());
    ASSERT_EQ(back.classes.size(), plan->classes.size());
    for (size_t c = 0; c < back.classes.size(); ++c)
      for (size_t i = 0; i < back.graph.size(); ++i) {  // fields that follow from the graph are derived again
        const Operator &a = *back.classes[c].ops[i], &b = *plan->classes[c].ops[i];
        EXPECT_EQ(a.form, b.form) << i;
        EXPECT_EQ(a.wrapped, b.wrapped) << i;
        EXPECT_EQ(a.one_row, b.one_row) << i;
        EXPECT_EQ(a.dim, b.dim) << i;
      }
  }
}

// The text of a plan of four nodes, to the letter.
TEST(Plan, GoldenText) {
  Graph g;
  g.Scope("embed");
  Lookup l;
  l.table = g.Tensor("table", {3, 2}, Leaf::kTable);
  GraphNode* x = g.Add(std::move(l), {}, "z_embed");
  g.Scope("head");
  Norm n;
  n.dim = 2;
  n.eps = 0.5;
  x = g.Add(std::move(n), {x}, "normalised");
  g.Add(RevealResult{}, {FullMap(g, x, "w", 2, 1, true, "head", "z_head")}, "logits");
  g.Number();
  Checkpoint w;
  w.Set("table", {{3, 2}, {0.5f, -1, 1, 0.25f, -0.75f, 1}});
  w.Set("w", {{2, 1}, {1, 0.5f}});
  w.Set("w.bias", {{1}, {0.125f}});
  CompileOptions o;
  o.min_tokens = o.max_tokens = 1;
  o.calibration = "abc";
  const std::pair<const char*, int> options[] = {{"rsqrt_pieces", 2}, {"rsqrt_bits", 2}, {"norm.layer", 2},
                                                 {"activation", 4},   {"embedding", 4},  {"span", 12}};
  for (auto [name, value] : options) o.policy.Set(name, value);
  EXPECT_EQ(
      Serialize(Compile(g, w, std::vector<std::vector<int32_t>>{{0}, {1}, {2}}, o)),
      R"({"version":6,"nodes":[{"op":"lookup","in":[],"scope":"embed","label":"z_embed","table":"table[3,2]","positions":"",)"
      R"("types":0,"known":false},)"
      R"({"op":"norm","in":[0],"scope":"head","label":"normalised","dim":2,"eps":0.5,"unit":false,"by_length":false,"key":"layer"},)"
      R"({"op":"map","in":[1],"scope":"head","label":"z_head","terms":[{"kind":"full","input":0,"weight":"w[2,1]"}],"bias":"w.bias[1]",)"
      R"("by_length":false,"key":"head","rotary":0,"base":0.0},{"op":"result","in":[2],"scope":"head","label":"logits","key":"logits"}],)"
      R"("tokenizer":"0000000000000000000000000000000000000000000000000000000000000000",)"
      R"("table":"0000000000000000000000000000000000000000000000000000000000000000","min_tokens":1,"max_tokens":1,)"
      R"("variants":[{"name":"plain","profile":"","keys_to":"balanced"}],)"
      R"("classes":[{"variant":0,"max_n":1,"nodes":[{"ring":16,"scale":4,"certificates":[{"width":"","bits":5,"hard":true}]},)"
      R"({"ring":21,"scale":4,"kz":10,"cut":2,"square_of":"x","under":0,"square":6,"epsilon":16,"floor":2,"top":6,"rsqrt":0,"product":9,"shift":2,"stages":2,"last":1,"rows":"RowLut",)"
      R"("certificates":[{"width":"square","bits":6,"hard":true},{"width":"product","bits":7,"hard":true},)"
      R"({"width":"input","bits":5,"hard":true},{"width":"","bits":5,"hard":true}]},)"
      R"({"ring":21,"scale":18,"full":14,"gamma":0,"diag":0,"mean":0,"up":0,"turn":0,"certificates":[{"width":"","bits":19,"hard":true}]},)"
      R"({"ring":14,"scale":10,"shift":8,"stages":1,"certificates":[{"width":"","bits":11,"hard":true}]}],"choices":[]}],"calibration":"abc",)"
      R"("result":"unit","texts":"one","labels":[],"similarity":"","prompts":[],"default_prompt":"","longest":0,)"
      R"("functions":["suf octaves domain 6 ring 64 outputs 1 degree 0\nrun 0 0 : 43 , 43 , 43 , 43 , 43 , 39 , 36 , 33 , 31 , 29 , )"
      R"(28 , 27 , 26 , 25 , 24 , 23 , 22 , 22 , 21 , 20 , 20 , 20 , 19 , 19 , 18 , 18 , 18 , 17 , 17 , 17 , 16 , 16 , 16 , 16 , 15 , )"
      R"(15 , 15 , 15 , 15 , 14 , 14 , 14 , 14 , 14 , 14 , 13 , 13 , 13 , 13 , 13 , 13 , 13 , 12 , 12 , 12 , 12 , 12 , 12 , 12 , 12 , )"
      R"(12 , 12 , 11 , 11\nend 64\nchannel unsigned 64 0 y\n"],)"
      R"("hash":"d8f55b70711920351f200bebff74dd2834043525ed9aba5cf27c8acffd16d601"})"
      "\n");
}

// A row in parts is an attribute that other norms do not have. A model may cut texts at more tokens than a plan takes.
TEST(Plan, PartsOfARowAndLongModelsAreRead) {
  Plan plan = Small(HeadNorms()).plan;
  plan.about.longest = 131072;
  const std::string text = Serialize(plan);
  EXPECT_NE(text.find(R"("dim":8,"groups":2,"eps")"), text.npos);
  EXPECT_EQ(text.find("groups", text.find("groups") + 1), text.npos);  // keys have one head
  const Plan back = Parse(text);
  EXPECT_EQ(Serialize(back), text);
  EXPECT_EQ(back.about.longest, 131072);
}

TEST(Plan, EqualFunctionsAreWrittenOnce) {
  const Json functions = Json::parse(Serialize(BeforePlan()))["functions"];
  std::set<std::string> distinct;
  for (const Json& t : functions) distinct.insert(t.dump());
  EXPECT_EQ(distinct.size(), functions.size());
  EXPECT_LT(functions.size(), 2 * 9u);  // the classes share some
}

TEST(Plan, DeepNestingIsRefused) {
  EXPECT_THAT(Refusal([] { Parse(R"({"version":3,"functions":)" + std::string(1 << 20, '[')); }),
              testing::HasSubstr("nests deeper than 64 levels, at column 89;"));
}

// Refuses a text of 1 MB that would take gigabytes.
TEST(Plan, ManyUsesOfALongFunctionAreRefused) {
  Json j = Json::parse(Serialize(AfterPlan()));
  std::string text = "suf f domain 16 ring 64 outputs 1 degree 0\nrun 0 0 : 1";
  for (int i = 1; i < 1 << 16; ++i) text += " , 1";
  j["functions"].push_back(text + "\nend 65536\nchannel unsigned 64 0 y\n");
  Json one = j["classes"][0];
  for (Json& node : one["nodes"])
    for (const char* function : {"rsqrt", "recip", "high_table", "low_table", "lines"})
      if (node.contains(function)) node[function] = j["functions"].size() - 1;
  j["classes"] = std::vector<Json>(64, one);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's functions have more than 16777216 pieces"));
}

TEST(Plan, TooManyOfAThingAreRefused) {
  const Json good = Json::parse(Serialize(AfterPlan()));
  Json j = good;
  j["functions"] = std::vector<std::string>((1 << 16) + 1, "");
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's field functions has 65537 entries, the limit is 65536"));
  j = good;
  j["nodes"] = std::vector<Json>((1 << 12) + 1, good["nodes"][0]);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's field nodes has 4097 entries, the limit is 4096"));
  j = good;
  j["classes"] = std::vector<Json>(65, good["classes"][0]);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's field classes has 65 entries, the limit is 64"));
  j = good;
  j["nodes"][10]["in"] = std::vector<int>(9, 0);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's field nodes[10].in has 9 entries, the limit is 8"));
  j = good;
  j["nodes"][10]["terms"] = std::vector<Json>(9, good["nodes"][10]["terms"][0]);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan's field nodes[10].terms has 9 entries, the limit is 8"));
  j = good;
  j["classes"][0]["nodes"][1]["certificates"] = std::vector<Json>(9, good["classes"][0]["nodes"][1]["certificates"][0]);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("nodes[1].certificates has 9 entries, the limit is 8"));
  j = good;
  j["classes"][0]["nodes"].erase(0);
  EXPECT_THAT(Refusal([&] { Parse(j.dump()); }),
              testing::HasSubstr("the plan has parameters of 18 nodes, its graph has 19"));
}

// Returns a plan with two variants, as JSON.
Json Two() {
  Json j = Json::parse(Serialize(AfterPlan()));
  j["variants"].push_back({{"name", "other-2"}, {"profile", "wan"}, {"keys_to", "p0"}});
  for (Json c : std::vector<Json>(j["classes"].begin(), j["classes"].end())) {
    c["variant"] = 1;
    j["classes"].push_back(c);
  }
  return j;
}

TEST(Plan, KeysToIsAnAttributeOfAVariant) {
  Plan plan = AfterPlan();
  const Hash before = PlanHash(plan);
  plan.variants[0].keys_to = pfss::KeysTo::kP0;
  EXPECT_EQ(Parse(Serialize(plan)).variants, plan.variants);
  EXPECT_NE(PlanHash(plan), before);
}

TEST(Plan, BrokenVariantsAreRefused) {
  using Change = std::function<void(Json&)>;
  const std::pair<Change, const char*> rows[] = {
      {[](Json&) {}, "the plan's content does not match its hash"},  // everything before the hash is sound
      {[](Json& j) { j["variants"] = Json::array(); }, "the plan is inconsistent at variants: there is none"},
      {[](Json& j) { j["variants"][1]["name"] = "plain"; }, "variants[1].name: another variant has this name"},
      {[](Json& j) { j["variants"][1]["name"] = "A"; }, "variants[1].name: 'A' is no name of a variant"},
      {[](Json& j) { j["variants"][1]["name"] = std::string(25, 'a'); },
       "variants[1].name has 25 bytes, the limit is 24; compile the plan again"},
      {[](Json& j) { j["variants"][1].erase("profile"); }, "the plan lacks the field variants[1].profile"},
      {[](Json& j) { j["variants"][1].erase("keys_to"); }, "the plan lacks the field variants[1].keys_to"},
      {[](Json& j) { j["variants"][1]["keys_to"] = "p1"; },
       "the plan's field variants[1].keys_to: \"p1\" says no bundle that receives corrections; take balanced or p0"},
      {[](Json& j) { j["variants"] = std::vector<Json>(9, j["variants"][0]); },
       "variants has 9 entries, the limit is 8"},
      {[](Json& j) {
         j["variants"].push_back({{"name", "c"}, {"profile", ""}, {"keys_to", "balanced"}});
       },
       "classes: a variant has none"},
      {[](Json& j) { j["classes"][1]["variant"] = 1; },
       "the last class of the variant before it is not for max_tokens"},
      {[](Json& j) { j["classes"][3]["variant"] = 0; }, "classes: a variant has none"},
      {[](Json& j) { j["classes"][2]["variant"] = 0; }, "classes[2].max_n: the classes do not increase"},
      {[](Json& j) { j["classes"][0]["variant"] = 8; }, "classes[0].variant is 8, outside 0 to 7"},
  };
  ASSERT_EQ(Two()["classes"].size(), 4u);
  for (auto& [change, sentence] : rows) {
    Json j = Two();
    change(j);
    EXPECT_THAT(Refusal([&] { Parse(j.dump()); }), testing::HasSubstr(sentence));
  }
}

// The nodes of the plan After, by index.
enum {
  kLookup,
  kNorm,
  kQueryKey,
  kRescale,
  kScores = 6,
  kSoftmax,
  kMixed,
  kProj = 10,
  kActivation = 13,
  kSecondNorm = 15,
  kPool,
  kPoolMap,
  kUnit
};

Json& NodeOf(Json& j, int i) { return j["nodes"][size_t(i)]; }
// Returns the parameters of a node in the second class.
Json& FieldsOf(Json& j, int i) { return j["classes"][1]["nodes"][size_t(i)]; }

// A change of a plan's text, and a part of the error message that refuses it.
using BrokenText = std::pair<std::function<void(Json&)>, std::string>;

void ExpectBroken(const std::vector<BrokenText>& table) {
  const Json good = Json::parse(Serialize(AfterPlan()));
  for (const auto& [change, sentence] : table) {
    Json j = good;
    change(j);
    const std::string said = Refusal([&, text = j.dump()] { Parse(text); });
    EXPECT_THAT(said, testing::HasSubstr(sentence));
    EXPECT_NE(said, "(no refusal)");
  }
}

TEST(BrokenPlan, Head) {
  ExpectBroken({
      {[](Json& j) { j["version"] = 1; },
       "the plan has version 1, this program reads version 6; compile the plan again"},
      {[](Json& j) { j["version"] = "2"; }, "the plan's field version is not a whole number"},
      {[](Json& j) { j.erase("version"); }, "the plan lacks the field version"},
      {[](Json& j) { j["colour"] = 1; }, "the plan's field colour is unknown"},
      {[](Json& j) { j["tokenizer"] = "abc"; }, "the plan's field tokenizer is not a SHA-256 in lower-case hex"},
      {[](Json& j) { j["tokenizer"] = std::string(64, 'A'); },
       "the plan's field tokenizer is not a SHA-256 in lower-case hex"},
      {[](Json& j) { j["tokenizer"] = std::string(65, 'a'); },
       "the plan's field tokenizer has 65 bytes, the limit is 64; compile the plan again"},
      {[](Json& j) { j["min_tokens"] = 0; }, "the plan's field min_tokens is 0, outside 1 to 65536"},
      {[](Json& j) { j["max_tokens"] = uint64_t(1) << 63; },
       "the plan's field max_tokens is 9223372036854775808, outside 1 to 65536"},
      {[](Json& j) { j["max_tokens"] = 12; }, "max_tokens"},
      {[](Json& j) { j["min_tokens"] = 9; }, "classes[0].max_n: the classes do not increase"},
      {[](Json& j) { j["min_tokens"] = 17; }, "the plan is inconsistent at max_tokens: it is below min_tokens"},
      {[](Json& j) { j["max_tokens"] = 12; }, "the last class is not for max_tokens"},
      {[](Json& j) { j["calibration"] = std::string(65, 'x'); },
       "the plan's field calibration has 65 bytes, the limit is 64; compile the plan again"},
      {[](Json& j) {
         j["prompts"] = Json::array({{{"name", "a"}, {"text", std::string(4097, 'x')}}});
       },
       "the plan's field prompts[0].text has 4097 bytes, the limit is 4096; compile the plan again"},
      {[](Json& j) {
         j["prompts"] = Json::array({{{"name", "a"}, {"text", std::string("x\0", 2)}}});
       },
       "the plan's prompt \"a\" has a NUL byte; compile the plan again"},
      {[](Json& j) { j["calibration"] = "text"; }, "the plan's content does not match its hash"},
      {[](Json& j) { j["hash"] = std::string(64, '0'); }, "the plan's content does not match its hash"},
      {[](Json& j) { j["hash"] = "0"; }, "the plan's field hash is not a SHA-256"},
      {[](Json& j) { j.erase("hash"); }, "the plan lacks the field hash"},
  });
}

TEST(BrokenPlan, Classes) {
  ExpectBroken({
      {[](Json& j) { j["classes"] = Json::array(); }, "the last class is not for max_tokens"},
      {[](Json& j) { j["classes"][0] = 3; }, "the plan's field classes[0] is not an object"},
      {[](Json& j) { j["classes"] = 3; }, "the plan's field classes is not a list"},
      {[](Json& j) { j["max_tokens"] = j["classes"][1]["max_n"] = 8; },
       "classes[1].max_n: the classes do not increase"},
      {[](Json& j) { j["classes"][0]["max_n"] = 8.5; }, "the plan's field classes[0].max_n is not a whole number"},
      {[](Json& j) { j["classes"][0]["colour"] = 8; }, "the plan's field classes[0].colour is unknown"},
  });
}

TEST(BrokenPlan, Functions) {
  ExpectBroken({
      {[](Json& j) { j["functions"][0] = 3; }, "the plan's field functions[0] is not a text"},
      {[](Json& j) { j["functions"][0] = "suf"; }, "the plan's field functions[0]: "},
      {[](Json& j) { j["functions"].push_back("x"); }, "the plan's content does not match its hash"},
      {[](Json& j) { j.erase("functions"); }, "the plan lacks the field functions"},
      {[](Json& j) { FieldsOf(j, kNorm)["rsqrt"] = j["functions"].size(); },
       "the plan's field classes[1].nodes[1].rsqrt is "},
      {[](Json& j) { FieldsOf(j, kSoftmax)["low_table"] = FieldsOf(j, kNorm)["rsqrt"]; },
       "the plan's function low_table is no table of single places"},
      {[](Json& j) { FieldsOf(j, kActivation)["lines"] = FieldsOf(j, kNorm)["rsqrt"]; },
       "the plan's function lines is not made of lines of one width"},
      {[](Json& j) { FieldsOf(j, kNorm)["rsqrt"] = FieldsOf(j, kActivation)["lines"]; },
       "the plan\'s function rsqrt has the wrong form: lines is no function on octaves"},
      {[](Json& j) { FieldsOf(j, kNorm)["square"] = 1; }, "the plan's function rsqrt ends after 2^1, which"},
  });
}

TEST(BrokenPlan, Nodes) {
  ExpectBroken({
      {[](Json& j) { j["nodes"] = Json::array(); }, "the plan is inconsistent at nodes: there is none"},
      {[](Json& j) { NodeOf(j, 0)["op"] = "volume"; },
       "the plan has an operator volume, which this program does not know; use the program that made the plan"},
      {[](Json& j) { NodeOf(j, 0)["op"] = "rotary"; },
       "the plan has an operator rotary, which this program does not know"},
      {[](Json& j) { NodeOf(j, 0)["op"] = std::string(41, 'x'); },
       "the plan's field nodes[0].op has 41 bytes, the limit is 40; compile the plan again"},
      {[](Json& j) { NodeOf(j, 0)["scope"] = std::string(61, 'x'); },
       "the plan's field nodes[0].scope has 61 bytes, the limit is 60; compile the plan again"},
      {[](Json& j) { NodeOf(j, 0)["label"] = 1; }, "the plan's field nodes[0].label is not a text"},
      {[](Json& j) { NodeOf(j, 1)["in"] = {1}; }, "the plan's field nodes[1].in is 1, outside 0 to 0"},
      {[](Json& j) { NodeOf(j, 1)["in"] = {-1}; }, "the plan's field nodes[1].in is -1, outside 0 to 0"},
      {[](Json& j) { NodeOf(j, 1)["in"] = {0.5}; }, "the plan's field nodes[1].in is not a whole number"},
      {[](Json& j) { NodeOf(j, 1)["in"] = Json::array(); },
       "the operator embed/normalised reads 0 nodes, it takes 1 to 1"},
      {[](Json& j) { NodeOf(j, 1).erase("in"); }, "the plan lacks the field nodes[1].in"},
      {[](Json& j) { NodeOf(j, 1)["depth"] = 1; }, "the plan's field nodes[1].depth is unknown"},
      {[](Json& j) { NodeOf(j, 1)["dim"] = "16"; }, "the plan's field nodes[1].dim is not a whole number"},
      {[](Json& j) { NodeOf(j, 1)["eps"] = 2.0; }, "the plan's field nodes[1].eps is 2, outside 0 to 1"},
      {[](Json& j) { NodeOf(j, 1)["eps"] = "x"; }, "the plan's field nodes[1].eps is not a number"},
      {[](Json& j) { NodeOf(j, 1)["unit"] = 1; }, "the plan's field nodes[1].unit is not true or false"},
  });
}

TEST(BrokenPlan, Attributes) {
  ExpectBroken({
      {[](Json& j) { NodeOf(j, 0)["table"] = ""; }, "the plan's field nodes[0].table is empty"},
      {[](Json& j) { NodeOf(j, 0)["table"] = "centre("; }, "the plan's field nodes[0].table"},
      {[](Json& j) { NodeOf(j, 0)["table"] = 5; }, "the plan's field nodes[0].table is not a text"},
      {[](Json& j) { NodeOf(j, 0)["table"] = std::string((1 << 16) + 1, 'a'); },
       "the plan's field nodes[0].table has 65537 bytes, the limit is 65536; compile the plan again"},
      {[](Json& j) { NodeOf(j, kProj)["terms"][0]["kind"] = "one"; },
       "the plan has a linear term of the kind one; this program knows full, diag and mean"},
      {[](Json& j) { NodeOf(j, kProj)["terms"][1]["kind"] = "mean"; }, "a map's terms: a kind is there twice"},
      {[](Json& j) { NodeOf(j, kProj)["terms"].erase(1); }, "a map's terms: a mean term has no diagonal one beside it"},
      {[](Json& j) {
         NodeOf(j, kProj)["terms"] = Json::array();
         NodeOf(j, kProj)["bias"] = "";
       },
       "(0/proj/z_proj): a map's terms: there is none"},
      // a bias alone: its linear map would read a missing input
      {[](Json& j) { NodeOf(j, kProj)["terms"] = Json::array(); },
       "the plan is inconsistent at nodes[10] (0/proj/z_proj): a map's terms: there is none"},
      {[](Json& j) { NodeOf(j, kProj)["terms"][1]["weight"] = "g[15]"; },
       "a map's weight: it has another width than the others"},
      {[](Json& j) { NodeOf(j, kProj)["terms"][1]["weight"] = "g[16,16]"; }, "a map's weight: it has the wrong shape"},
      {[](Json& j) { NodeOf(j, kProj)["bias"] = "g[15]"; }, "a map's bias: it has the wrong shape"},
      {[](Json& j) { NodeOf(j, kProj)["rotary"] = 3; }, "a map's rotary: the heads do not divide the result"},
      {[](Json& j) { NodeOf(j, kRescale)["kind"] = "loose"; },
       "the plan has a rescale of the kind loose, which this program does not know"},
      {[](Json& j) { NodeOf(j, kPool)["kind"] = "max"; }, "the plan pools by max, which this program does not know"},
      {[](Json& j) { NodeOf(j, kScores)["serving"] = 3; },
       "(0/attention/scores): the heads of k do not divide those of q"},
      {[](Json& j) { NodeOf(j, kScores)["relative"] = "r[3,31]"; },
       "(0/attention/scores): the relative bias has the wrong shape"},
      {[](Json& j) { NodeOf(j, kMixed)["serving"] = 3; },
       "(0/attention/mixed): the heads of v do not divide those of the scores"},
      {[](Json& j) { NodeOf(j, kUnit)["dim"] = 8; }, "(pool/unit): its input has another width"},
      {[](Json& j) { NodeOf(j, kUnit)["groups"] = 2; }, "(pool/unit): its input has another width"},
      {[](Json& j) { NodeOf(j, kUnit)["groups"] = 1; }, "groups is 1, outside 2 to 1024"},
  });
}

TEST(BrokenPlan, Parameters) {
  ExpectBroken({
      {[](Json& j) { FieldsOf(j, kQueryKey)["ring"] = 65; },
       "the plan's field classes[1].nodes[2].ring is 65, outside 1 to 64"},
      {[](Json& j) { FieldsOf(j, kQueryKey).erase("scale"); }, "the plan lacks the field classes[1].nodes[2].scale"},
      {[](Json& j) { FieldsOf(j, kQueryKey)["colour"] = 65; },
       "the plan's field classes[1].nodes[2].colour is unknown"},
      {[](Json& j) { FieldsOf(j, kQueryKey)["scale"] = 3; },
       "(0/attention/z_qk): its scale does not follow from its input's"},
      {[](Json& j) { FieldsOf(j, kRescale)["shift"] = 3; },
       "(0/attention/q,k): its scale does not follow from its shift"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["offset"].push_back(0); },
       "(0/attention/e): there is not one offset a head"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["offset"][0] = "x"; },
       "the plan's field classes[1].nodes[7].offset is not a whole number"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["offset"] = 7; },
       "the plan's field classes[1].nodes[7].offset is not a list"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["offset"][0] = int64_t{1} << 60; },
       "an offset is far outside the ring of the scores"},
      {[](Json& j) { FieldsOf(j, kScores)["ring"] = FieldsOf(j, kScores)["ring"].get<int>() - 1; },
       "its input's ring is narrower than its shift, low digit and level"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["low_table"] = FieldsOf(j, kSoftmax)["high_table"]; },
       "a table of the exponential has another size than its digit"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["count_bits"] = 3; },
       "the modulus of the counts does not exceed the number of tokens"},
      {[](Json& j) { FieldsOf(j, kSoftmax)["floor"] = 1000; }, "its floor leaves no level above it"},
      {[](Json& j) { FieldsOf(j, kMixed)["row_sum"] = 61; }, "row_sum <= product <= ring does not hold"},
      {[](Json& j) { FieldsOf(j, kSecondNorm)["kz"] = 64; },
       "(0/outer/normalised): it reads more bits than its input has"},
      {[](Json& j) { FieldsOf(j, kNorm)["top"] = 0; }, "(embed/normalised): floor < top <= square does not hold"},
      {[](Json& j) { FieldsOf(j, kActivation)["shift"] = 3; },
       "(0/inner/gelu): its scale does not follow from its input's"},
      {[](Json& j) { FieldsOf(j, kActivation)["slope"] = 63; },
       "the plan's field classes[1].nodes[13].slope is 63, outside 0 to 62"},
      {[](Json& j) { FieldsOf(j, kPool)["ring"] = 64; }, "(pool/pooled): its input's ring or scale is not its own"},
  });
}

// Returns the plan After with inputs of its activation up to about a hundred, which has pieces around zero alone.
const Plan& SidedPlan() {
  static const Plan plan = [] {
    const Graph g = After(true);
    Checkpoint w = RandomWeights(g, 1);
    Checkpoint::CheckpointTensor t = w.Get("w1");
    for (float& x : t.values) x *= 40;
    w.Set("w1", t);
    return Compile(g, w, SmallTexts(101, 40, int(kPositions)), SmallOptions());
  }();
  return plan;
}

// Returns the function of an activation's lines in the second class.
std::string& LinesOf(Json& j) {
  return j["functions"][FieldsOf(j, kActivation)["lines"].get<size_t>()].get_ref<std::string&>();
}

// An even grid is written as it always was. Pieces with sides are a function of two more pieces, and have no other
// field.
TEST(Plan, LinesAreFunctions) {
  for (const Plan* plan : {&AfterPlan(), &SidedPlan()}) {
    Json j = Json::parse(Serialize(*plan));
    const auto& a = dynamic_cast<const Activation&>(*plan->classes[1].ops[kActivation]);
    EXPECT_EQ(a.sided(), plan == &SidedPlan());
    if (a.sided())
      EXPECT_EQ(func::Parse(LinesOf(j)).pieces.size(), a.lines.offset.size() + 2);
    else
      EXPECT_EQ(LinesOf(j), func::Print(func::Uniform("lines", a.lines.a, a.lines.offset, a.lines.rise, 64)));
    std::set<std::string> fields;
    for (const auto& [name, value] : FieldsOf(j, kActivation).items()) fields.insert(name);
    EXPECT_EQ(fields, (std::set<std::string>{"ring", "scale", "shift", "lines", "input_scale", "slope", "lowering",
                                             "certificates"}));
    EXPECT_EQ(Serialize(Parse(j.dump())), Serialize(*plan));
    pfss::Trace t;
    EXPECT_NO_THROW(Build(t, *plan, 11));
  }
}

TEST(BrokenPlan, Sides) {
  const Json good = Json::parse(Serialize(SidedPlan()));
  using Change = std::function<void(func::Suf&)>;
  const char* form = "the plan's function lines is not made of lines of one width; compile the plan again";
  const std::pair<Change, const char*> functions[] = {
      {[](func::Suf& f) { f.pieces.back().begin += 1; }, form},
      {[](func::Suf& f) { f.pieces[1].begin -= 1; }, form},
      {[](func::Suf& f) { f.pieces.erase(f.pieces.begin() + 3); }, form},
      {[](func::Suf& f) {
         f.pieces.erase(f.pieces.begin());
         f.pieces[0].begin = 0;
       },
       form},
      {[](func::Suf& f) { f.end -= 1; }, form},
      {[](func::Suf& f) {
         f.degree = 2;
         for (func::Piece& p : f.pieces) p.poly[0].push_back(1);
       },
       form},
      {[](func::Suf& f) {  // a wider ring
         for (func::Piece& p : f.pieces)
           if (p.begin > 0) p.begin += f.end / 2;
         f.n += 1;
         f.end *= 2;
       },
       "its input's ring is narrower than its shift and pieces"},
      {[](func::Suf& f) {  // no piece differs from its side
         for (func::Piece& p : f.pieces) p.poly[0] = {0, 0};
       },
       "its lowering does not apply"}};
  for (const auto& [change, sentence] : functions) {
    Json j = good;
    func::Suf f = func::Parse(LinesOf(j));
    change(f);
    LinesOf(j) = func::Print(f);
    EXPECT_THAT(Refusal([&] { Parse(j.dump()); }), testing::HasSubstr(sentence));
  }
  for (const char* name : {"WindowBoth/1", "Index/digits", "Index/parity", "StepDcf", "RowLut"}) {
    Json j = good;
    FieldsOf(j, kActivation)["lowering"] = name;
    EXPECT_THAT(Refusal([&] { Parse(j.dump()); }), testing::HasSubstr("its lowering does not apply"));
  }
}

TEST(BrokenPlan, Certificates) {
  ExpectBroken({
      {[](Json& j) { FieldsOf(j, kUnit)["certificates"][0]["hard"] = 1; }, "certificates[0].hard is not true or false"},
      {[](Json& j) { FieldsOf(j, kUnit)["certificates"][0]["bits"] = 65; },
       "certificates[0].bits is 65, outside 0 to 64"},
      {[](Json& j) { FieldsOf(j, kUnit)["certificates"][0]["width"] = std::string(21, 'x'); },
       "certificates[0].width has 21 bytes, the limit is 20; compile the plan again"},
      {[](Json& j) { FieldsOf(j, kUnit)["certificates"][0]["colour"] = 1; }, "certificates[0].colour is unknown"},
      {[](Json& j) { FieldsOf(j, kUnit)["certificates"] = 0; },
       "the plan's field classes[1].nodes[18].certificates is not a list"},
  });
}

TEST(BrokenPlan, NoObject) {
  EXPECT_THAT(Refusal([] { Parse("{"); }), "the plan is not JSON text: it ends too early; compile the plan again");
  EXPECT_THAT(Refusal([] { Parse("[]"); }), testing::HasSubstr("the plan is not an object"));
}

// Returns a plan's text under its right hash, as anyone can write it.
std::string Hashed(Json j) {
  j.erase("hash");
  j["hash"] = Hex(HashOf({AsView(j.dump())}));
  return j.dump();
}

// Roles show plans that they did not write. Text that a terminal would obey, and text that is hidden or reversed, is
// refused. The error message shows it escaped.
TEST(Plan, TextsArePrintable) {
  const std::pair<const char*, const char*> texts[] = {{"a\x1b[2Kb", "\"a\\x1b[2Kb\""},
                                                       {"\r", "\"\\r\""},
                                                       {"a\xe2\x80\xae", "\"a\\u{202e}\""},
                                                       {"\xc2\x9b"
                                                        "A",
                                                        "\"\\u{9b}A\""}};
  const Json good = Json::parse(Serialize(AfterPlan()));
  const auto field = [](Json& j, const char* name) -> Json& { return j["classes"][0]["nodes"][1][name]; };
  using Put = std::pair<const char*, std::function<void(Json&, const std::string&)>>;
  const Put fields[] = {
      {"nodes[0].scope", [](Json& j, const std::string& s) { j["nodes"][0]["scope"] = s; }},
      {"nodes[0].label", [](Json& j, const std::string& s) { j["nodes"][0]["label"] = s; }},
      {"nodes[0].op", [](Json& j, const std::string& s) { j["nodes"][0]["op"] = s; }},
      {"nodes[0].table", [](Json& j, const std::string& s) { j["nodes"][0]["table"] = s; }},
      {"nodes[1].key", [](Json& j, const std::string& s) { j["nodes"][1]["key"] = s; }},
      {"variants[0].name", [](Json& j, const std::string& s) { j["variants"][0]["name"] = s; }},
      {"variants[0].profile", [](Json& j, const std::string& s) { j["variants"][0]["profile"] = s; }},
      {"classes[0].nodes[1].rows", [&](Json& j, const std::string& s) { field(j, "rows") = s; }},
      {"classes[0].nodes[1].certificates[0].width",
       [&](Json& j, const std::string& s) { field(j, "certificates")[0]["width"] = s; }},
      {"classes[0].choices[0].what",
       [](Json& j, const std::string& s) {
         j["classes"][0]["choices"] = {{{"what", s}, {"choice", "1"}, {"runner_up", "2"}, {"microseconds", 1}}};
       }},
      {"classes[0].choices[0].runner_up",
       [](Json& j, const std::string& s) {
         j["classes"][0]["choices"] = {{{"what", "x"}, {"choice", "1"}, {"runner_up", s}, {"microseconds", 1}}};
       }},
      {"calibration", [](Json& j, const std::string& s) { j["calibration"] = s; }}};
  for (const auto& [name, put] : fields)
    for (const auto& [text, shown] : texts) {
      Json j = good;
      put(j, text);
      EXPECT_EQ(Refusal([&] { Parse(Hashed(j)); }),
                Str("the plan's field ", name, " has a character that is not printable: ", shown,
                    "; compile the plan again with other names"));
    }
  Json j = good;
  j["functions"][0] = "suf a\xe2\x80\xae domain 1 ring 64 outputs 1 degree 0\npiece 0 : 1\nend 2\n";
  const std::string said = Refusal([&] { Parse(Hashed(j)); });
  EXPECT_THAT(said, testing::StartsWith("the plan's field functions[0]: "));
  j = good;
  j["\x1b[A"] = 1;
  EXPECT_EQ(Refusal([&] { Parse(Hashed(j)); }), "the plan's field \\x1b[A is unknown; compile the plan again");
  j = good;
  j["nodes"][0]["scope"] =
      "Einbettung/gr\xc3\xb6\xc3\x9f"
      "er";  // visible
  EXPECT_NO_THROW(Parse(Hashed(j)));
  // a plan with such text is refused before it is written
  Plan mine = AfterPlan();
  mine.graph.node(0).scope = "\x1b[2K";
  EXPECT_THAT(Refusal([&] { Serialize(mine); }), testing::HasSubstr("the plan's field scope has a character"));
}

// Makes every node read every earlier node. A plan that the reader accepts is built as the edges promise. At 5973ede a
// norm behind the rescale of v read past the heap.
TEST(Plan, EveryRewiredEdgeIsRefusedOrBuilt) {
  int tried = 0, built = 0;
  for (const Plan* plan : {&AfterPlan(), &BeforePlan()}) {
    Json j = Json::parse(Serialize(*plan));
    for (size_t i = 0; i < j["nodes"].size(); ++i)
      for (Json& in : j["nodes"][i]["in"]) {
        const Json was = in;
        for (size_t from = 0; from < i; ++from) {
          if (was == from) continue;
          in = from;
          ++tried;
          SCOPED_TRACE(Str("node ", i, " reads ", from));
          std::optional<Plan> read;
          const std::string said = Refusal([&] { read = Parse(Hashed(j)); });
          if (!read) {
            EXPECT_THAT(said, testing::HasSubstr("nodes["));
            continue;
          }
          pfss::Trace t;
          EXPECT_NO_THROW(Build(t, *read, read->min_tokens));
          ++built;
        }
        in = was;
      }
  }
  EXPECT_GT(tried, 300);
  EXPECT_GT(built, 20);
}

// The edge of a wire has the ring that its operator builds. For a reader of x_hat alone, a rescale of any ring has the
// bits that the shift leaves. At 5973ede the edge said 30.
TEST(Plan, EdgesCarryTheRingThatIsBuilt) {
  Graph g;
  GraphNode* z = FullMap(g, Embedding(g, false), "w", kWidth, kWidth, false, "value", "z");
  Rescale r;
  r.shift = 4;
  r.ring = 30;
  GraphNode* x = g.Add(std::move(r), {z}, "x");
  GraphNode* n = NormOf(g, x, "n", false);
  g.Number();
  Ops ops;
  for (auto& node : g.nodes()) ops.push_back(node->op->Clone());
  ops[size_t(z->index)]->ring = 20;
  Derive(g, ops);
  EXPECT_EQ(EdgesOf(*x, ops)[0].ring, 20);
  EXPECT_EQ(ops[size_t(x->index)]->form, OperandForm::kOpen);
  EXPECT_EQ(EdgesOf(*n, ops)[0].ring, 16);
}

// A short text that names much is refused before it takes time or memory.
TEST(Plan, SizesAreBounded) {
  Json j = Json::parse(Serialize(AfterPlan()));
  const Json last = j["classes"].back(), node = j["nodes"][2], own = last["nodes"][2];  // a map
  for (int i = 0; i < 2000; ++i) {
    j["nodes"].push_back(node);
    for (Json& c : j["classes"]) c["nodes"].push_back(own);
  }
  while (j["classes"].size() < 40) j["classes"].push_back(j["classes"].back());
  EXPECT_THAT(Refusal([&, text = j.dump()] { Parse(text); }),
              testing::HasSubstr("the plan has more than 65536 nodes in all its classes"));
  EXPECT_THAT(Refusal([&] { Parse(std::string((size_t{1} << 28) + 1, ' ')); }),
              testing::HasSubstr("the plan has 268435457 bytes, the limit is 268435456"));
}

// With any number of a class off by one, the plan is refused and nothing crashes.
TEST(Plan, EveryNumberIsHeldByTheHash) {
  const Json good = Json::parse(Serialize(BeforePlan()));
  int changed = 0;
  for (size_t i = 0; i < good["classes"][0]["nodes"].size(); ++i)
    for (const auto& [name, value] : good["classes"][0]["nodes"][i].items()) {
      if (!value.is_number_integer()) continue;
      Json j = good;
      j["classes"][0]["nodes"][i][name] = value.get<int64_t>() + 1;
      EXPECT_NE(Refusal([&, text = j.dump()] { Parse(text); }), "(no refusal)") << i << " " << name;
      ++changed;
    }
  EXPECT_GT(changed, 100);
}

TEST(Plan, PicksTheClassOfALength) {
  EXPECT_EQ(AfterPlan().For(3).max_n, 8);
  EXPECT_EQ(AfterPlan().For(8).max_n, 8);
  EXPECT_EQ(AfterPlan().For(9).max_n, 16);
  EXPECT_EQ(Refusal([] { AfterPlan().For(17); }, Cause::kInput),
            "a text of 17 tokens is over the plan's limit of 16; shorten it or compile a plan for longer texts");
  EXPECT_EQ(Refusal([] { AfterPlan().For(2); }, Cause::kInput),
            "a text of 2 tokens is below the limit of 3; give it at least one word");
}

TEST(Plan, SaysWhatItsResultIs) {
  EXPECT_EQ(AfterPlan().width(), kWidth);
  EXPECT_EQ(AfterPlan().scale(), 16);
  EXPECT_EQ(AfterPlan().vocabulary(), kWords);
  EXPECT_EQ(BeforePlan().width(), kWords);
  EXPECT_EQ(BeforePlan().scale(), 10);
}

// An operator of a program.
struct Mine : PoolRows {
  static constexpr const char* kName = "mine";
  std::string_view Name() const override { return kName; }
  OperatorPtr Clone() const override { return std::make_unique<Mine>(*this); }
};

TEST(Plan, AnOperatorIsRegisteredOnceByName) {
  EXPECT_THAT(Refusal([] { MakeOperator("mine"); }),
              testing::HasSubstr("an operator mine, which this program does not know"));
  Register<Mine>();
  EXPECT_EQ(MakeOperator("mine")->Name(), "mine");
  EXPECT_THROW(Register<Mine>(), Bug);
  EXPECT_THROW(Register<PoolRows>(), Bug);
}

}  // namespace
}  // namespace suf::nn
