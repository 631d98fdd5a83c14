#include "suf/nn/options.hpp"

#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

TEST(Options, Set) {
  Options o;
  o.Set("slice=3"), o.Set("merge=0"), o.Set("weight.value=13"), o.Set("weight=11"), o.Set("result.value=9"), o.Set("norm.layer=8");
  EXPECT_EQ(o.slice, 3);
  EXPECT_EQ(o.merge, 0);
  EXPECT_EQ(o.Weight("value"), 13);
  EXPECT_EQ(o.Weight("another"), 11);
  EXPECT_EQ(o.Weight("query_key"), 12);
  EXPECT_EQ(o.Result("value"), 9);
  EXPECT_EQ(o.Norm("layer"), 8);
  o.Set("result.mine=7");  // a key of a program's own operator
  EXPECT_EQ(o.Result("mine"), 7);
  ExpectRefused([&] { o.Result("none"); }, "there is no scale `result.none`; set it");
  ExpectRefused([&] { o.Norm("none"); }, "there is no scale `norm.none`; set it");
}

TEST(Options, SetRefusals) {
  Options o;
  auto refuses = [&](const std::string& assignment, const std::string& words) {
    SCOPED_TRACE(assignment);
    ExpectRefused([&] { o.Set(assignment); }, words, Exit::kInput);
  };
  refuses("slice=0", "the option slice is 0, outside 1 to 8; choose one of these");
  refuses("slice=9", "the option slice is 9, outside 1 to 8; choose one of these");
  refuses("weight.value=25", "the option weight.value is 25, outside 2 to 24; choose one of these");
  for (const char* bad : {"slice", "slice=", "slice=x", "slice=3x", "slice= 3", "slice=3.5", "slice=99999999999", "=", ""})
    refuses(bad, Str("the option ", bad, " is not written name=number; the names are: "));
  refuses("slices=3", "there is no option slices; the names are: ");
  refuses("Slice=3", "there is no option Slice; ");
  refuses("bound.value=3", "there is no option bound.value; ");
  refuses("weight." + std::string(60, 'x') + "=3", "there is no option weight.xxx");
  EXPECT_EQ(o.slice, Options().slice);
}

// Every name that Help lists is taken at both ends of its range and not beyond; the default is the real one.
TEST(Options, HelpIsTrue) {
  const std::string help = Options::Help();
  int names = 0;
  for (size_t at = help.find("\n  "); at != std::string::npos; at = help.find("\n  ", at + 1)) {
    const size_t begin = at + 3, open = help.find(" (", begin);
    std::string name = help.substr(begin, open - begin);
    int low = 0, high = 0, value = 0;
    const std::string range = help.substr(open);
    const bool entry = std::sscanf(range.c_str(), " (%d to %d, default %d):", &low, &high, &value) == 3;
    ASSERT_TRUE(entry || std::sscanf(range.c_str(), " (%d to %d):", &low, &high) == 2) << range.substr(0, 40);
    if (const size_t key = name.find(".KEY"); key != std::string::npos) name = name.substr(0, key) + ".value";
    Options o;
    EXPECT_NO_THROW(o.Set(name + "=" + std::to_string(low))) << name;
    EXPECT_NO_THROW(o.Set(name + "=" + std::to_string(high))) << name;
    for (int beyond : {low - 1, high + 1}) ExpectRefused([&] { o.Set(Str(name, "=", beyond)); }, "outside", Exit::kInput);
    EXPECT_TRUE(!entry || (low <= value && value <= high)) << name;
    ++names;
  }
  EXPECT_EQ(names, 24);
  EXPECT_NE(help.find("\n  slice (1 to 8, default 4): fractional bits of a score"), std::string::npos);
  EXPECT_NE(help.find("scale of a map's weight; attended 12 query_key 12"), std::string::npos);
}

}  // namespace
}  // namespace suf::nn
