#include "suf/nn/plan/options.hpp"

#include <set>

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

TEST(Options, Set) {
  Options o;
  o.Set("slice", 3);
  o.Set("merge", 0);
  o.Set("weight.value", 13);
  o.Set("weight", 11);
  o.Set("result.value", 9);
  o.Set("norm.layer", 8);
  EXPECT_EQ(o.slice, 3);
  EXPECT_EQ(o.merge, 0);
  EXPECT_EQ(o.Weight("value"), 13);
  EXPECT_EQ(o.Weight("another"), 11);
  EXPECT_EQ(o.Weight("query_key"), 12);
  EXPECT_EQ(o.Result("value"), 9);
  EXPECT_EQ(o.Norm("layer"), 8);
  o.Set("result.mine", 7);  // the key of a program's own operator
  EXPECT_EQ(o.Result("mine"), 7);
  ExpectRefused([&] { o.Result("none"); }, "there is no scale `result.none`; set it");
  ExpectRefused([&] { o.Norm("none"); }, "there is no scale `norm.none`; set it");
}

TEST(Options, SetRefusals) {
  Options o;
  auto refuses = [&](const std::string& name, int value, const std::string& words) {
    SCOPED_TRACE(name);
    ExpectRefused([&] { o.Set(name, value); }, words, Cause::kInput);
  };
  refuses("slice", 0, "the setting slice is 0; it may be 1 to 8");
  refuses("slice", 9, "the setting slice is 9; it may be 1 to 8");
  refuses("weight.value", 25, "the setting weight.value is 25; it may be 2 to 24");
  refuses("slices", 3, "slices is no setting of the compiler; take one of activation, embedding, ");
  for (const char* name : {"", "Slice", "bound.value", "slice ", "weights.value"})
    refuses(name, 3, Str(name, " is no setting of the compiler; take one of "));
  refuses("weight." + std::string(60, 'x'), 3, "weight." + std::string(53, 'x') + " is no setting");
  EXPECT_EQ(o.slice, Options().slice);
}

// Set accepts both ends of each setting's range and nothing beyond. The listed default is the real one.
TEST(Options, SettingsAreTrue) {
  std::vector<std::string> names;
  for (const Options::Setting& s : Options::Settings()) {
    names.push_back(s.name);
    EXPECT_TRUE(s.least <= s.value && s.value <= s.largest && !s.meaning.empty()) << s.name;
    Options o;
    EXPECT_NO_THROW(o.Set(s.name, s.least)) << s.name;
    EXPECT_NO_THROW(o.Set(s.name, s.largest)) << s.name;
    for (int beyond : {s.least - 1, s.largest + 1})
      ExpectRefused([&] { o.Set(s.name, beyond); }, Str("it may be ", s.least, " to ", s.largest), Cause::kInput);
  }
  const std::set<std::string> once(names.begin(), names.end());
  EXPECT_EQ(once.size(), names.size());
  for (const char* name : {"slice", "weight", "weight.query_key", "result.logits", "norm.unit", "clamp", "square"})
    EXPECT_TRUE(once.count(name)) << name;
  const Options d;
  EXPECT_EQ(names.size(), 30 + d.weight.size() + d.result.size() + d.norm.size());
}

}  // namespace
}  // namespace suf::nn
