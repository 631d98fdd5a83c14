// The start and the end of a search.
#include "suf/nn/plan/knob_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/read/build.hpp"

namespace suf::nn {
namespace {

// Returns a plan of one class of 8 tokens, with an activation of that segment.
Plan Made(int pieces) {
  CompileOptions o = SmallOptions();
  o.max_tokens = 8;
  o.policy.softmax = o.policy.scores = 0;
  o.policy.square = 1;
  o.policy.pieces = pieces;
  return Compile(After(), RandomWeights(After(), 1), SmallTexts(2, 10, 8), o);
}

const SearchState& Of(const std::vector<SearchState>& knobs, const std::string& name) {
  for (const SearchState& h : knobs)
    if (h.name == name) return h;
  throw Bug("there is no knob " + name);
}

const compiler::Prices& Far() {
  static const compiler::Prices far = compiler::ParseProfile("wan").prices;
  return far;
}

// A knob begins at its earlier setting if its options are the same. Otherwise it begins as its operator was made. A
// start that costs too much is not searched.
TEST(Search, BeginsWhereAKnobMeansTheSame) {
  const std::string name = "gelu, lowering";
  for (int pieces : {0, 1}) {
    Plan plan = Made(pieces);
    SearchStart from;
    from.best = 1e-9;  // every start is hopeless beside this
    const double start = SearchKnobs(&plan, 0, Far(), Effort::kCompare, &from);
    const SearchState made = Of(from.knobs, name);
    for (size_t at = 0; at < made.options.size(); ++at) {
      from.knobs = {{name, made.options, at}};
      SearchKnobs(&plan, 0, Far(), Effort::kCompare, &from);
      EXPECT_EQ(Of(from.knobs, name).at, at);
    }
    Plan other = Made(pieces);
    from.knobs = {{name, {made.options.back(), made.options[made.at]}, 0}};
    EXPECT_EQ(SearchKnobs(&other, 0, Far(), Effort::kCompare, &from), start);
    EXPECT_EQ(Of(from.knobs, name).at, made.at);
    from.best = INFINITY;
    EXPECT_LT(SearchKnobs(&other, 0, Far(), Effort::kCompare, &from), start);
  }
}

// A shorter class begins with the longer one's choices: slices, with the best knobs for them. It changes to both
// neighbours if these are faster, as a class does that begins afresh.
TEST(Search, AShorterClassLeavesTheLongerOnesChoices) {
  const Plan made[] = {Made(0), Made(1)};
  Options policy;
  policy.softmax = policy.scores = 0;
  policy.square = 1;
  auto make = [&](const Options& o) { return Class(made[o.pieces].classes[0]); };
  auto flights = [](const Plan& plan) {
    pfss::Trace t;
    Build(t, plan, 8);
    return pfss::Schedule(t).flights();
  };
  Plan slices = made[0];
  SearchStart longer;
  SearchKnobs(&slices, 0, Far(), Effort::kFull, &longer);
  const size_t slice = Of(longer.knobs, "gelu, lowering").at;
  EXPECT_EQ(Of(longer.knobs, "gelu, lowering").options[slice], "WindowLut/1");

  Plan behind = made[0], fresh = made[0];
  BillMemo memo;
  Start start{{0, 0, 1, 0}, longer.knobs}, none;
  SearchSegments(&behind, 0, Far(), policy, make, &start, &memo);
  SearchSegments(&fresh, 0, Far(), policy, make, &none, &memo);
  EXPECT_EQ(start.segments, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(flights(behind), flights(fresh));
  EXPECT_LT(flights(behind), flights(slices));
}

// Gives the norms of a plan tables whose pieces are too wide for RowLut, and `steps` values for a DCF. Every norm then
// starts without a trace.
void Widen(Plan* plan, int64_t steps) {
  for (OperatorPtr& op : plan->classes[0].ops)
    if (auto* n = dynamic_cast<Norm*>(op.get())) {
      n->square = 60;
      n->windows = {{57, 0, 8, {9, 8, 7, 6, 5, 4, 3, 2}}};
      n->rsqrt = n->windows;
      n->steps = {{40, 0, steps, {}}};
      for (int64_t i = 0; i < steps; ++i) n->steps[0].values.push_back(steps - i);
    }
}

std::string WhyNotBuilt(const Plan& plan) {
  return Refusal([&] {
    pfss::Trace t;
    Build(t, plan, 8);
  });
}

// The search goes on from a start that has no trace, also if this is due to every norm.
TEST(Search, GoesOnFromAStartWithoutATrace) {
  for (Effort effort : {Effort::kFull, Effort::kCompare}) {
    Plan plan = Made(0);
    Widen(&plan, 20);
    EXPECT_THAT(WhyNotBuilt(plan), testing::HasSubstr("its pieces are 2^57 wide, and 2^56 are the most"));
    const double seconds = SearchKnobs(&plan, 0, Far(), effort);
    EXPECT_TRUE(std::isfinite(seconds));
    EXPECT_EQ(WhyNotBuilt(plan), "(no refusal)");
    int norms = 0;
    for (const OperatorPtr& op : plan.classes[0].ops)
      if (auto* n = dynamic_cast<const Norm*>(op.get())) {
        EXPECT_EQ(n->rows.kind, compiler::Kind::kStepDcf);
        ++norms;
      }
    EXPECT_EQ(norms, 4);
  }
}

// Segments as well. If no candidate has a trace, the reason is reported.
TEST(Search, SegmentsGoOnFromAStartWithoutATrace) {
  Plan made[] = {Made(0), Made(1)};
  Options policy;
  policy.softmax = policy.scores = 0;
  policy.square = 1;
  auto make = [&](const Options& o) { return Class(made[o.pieces].classes[0]); };
  for (Plan& plan : made) Widen(&plan, 20);
  Plan plan = made[0];
  BillMemo memo;
  Start start;
  SearchSegments(&plan, 0, Far(), policy, make, &start, &memo);
  EXPECT_EQ(WhyNotBuilt(plan), "(no refusal)");
  for (Plan& p : made) Widen(&p, 1 << 15);  // too many pieces for a DCF
  Start again;
  EXPECT_THAT(Refusal([&] { SearchSegments(&plan, 0, Far(), policy, make, &again, &memo); }),
              testing::HasSubstr("its pieces are 2^57 wide, and 2^56 are the most"));
}

}  // namespace
}  // namespace suf::nn
