// Bills of parts against those of whole traces.
#include "suf/nn/plan/bill_memo.hpp"

#include <gtest/gtest.h>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::nn {
namespace {

// A class whose knobs are set one by one.
struct Knobbed {
  Plan plan;
  std::vector<Knob> knobs;
  std::vector<std::vector<size_t>> by_node;

  explicit Knobbed(const Graph& g) {
    CompileOptions o = SmallOptions();
    o.max_tokens = 8;
    plan = Compile(g, RandomWeights(g, 1), SmallTexts(2, 10, 8), o);
    for (OperatorPtr& op : plan.classes[0].ops) {
      by_node.emplace_back();
      for (Knob& k : op->Knobs()) {
        by_node.back().push_back(knobs.size());
        knobs.push_back(std::move(k));
      }
    }
    Set(std::vector<size_t>(knobs.size(), 0));
  }
  void Set(const std::vector<size_t>& state) {
    for (size_t k = 0; k < knobs.size(); ++k) knobs[k].set(state[k]);
    Derive(plan.graph, plan.classes[0].ops);
  }
  // Returns the bill of the whole trace, in which each operator balances its own corrections. Nothing if there is none.
  std::optional<compiler::Bill> Traced() const {
    pfss::Trace t;
    std::vector<OperatorNodes> emitted;
    try {
      Build(t, plan, 8, 0, 1, &emitted);
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kRefused);
      return std::nullopt;
    }
    return compiler::BillOf(pfss::Schedule(t));
  }
};

// Whether a mask or a share is computed can depend on another operator. Such work is far below a hundredth.
void ExpectSame(const compiler::Bill& got, const compiler::Bill& want) {
  EXPECT_EQ(got.flights, want.flights);
  EXPECT_EQ(got.sent, want.sent);
  EXPECT_EQ(got.key[0] + got.key[1], (want.key[0] + want.key[1]) / 2 * 2);
  for (size_t role = 0; role < want.words.size(); ++role) {
    EXPECT_NEAR(double(got.words[role]), double(want.words[role]), 0.01 * double(want.words[role]));
    EXPECT_NEAR(double(got.blocks[role]), double(want.blocks[role]), 0.01 * double(want.blocks[role]));
  }
  for (const compiler::TickWork& w : want.steps) {
    const auto same = std::find_if(got.steps.begin(), got.steps.end(),
                                   [&](const compiler::TickWork& x) { return x.tick == w.tick && x.party == w.party; });
    if (same == got.steps.end()) {
      EXPECT_EQ(w.sent + w.blocks, 0) << "tick " << w.tick;
      continue;
    }
    EXPECT_EQ(same->due, w.due) << "tick " << w.tick;
    EXPECT_EQ(same->sent, w.sent) << "tick " << w.tick;
  }
  for (const compiler::Profile& p : compiler::Profiles()) {
    compiler::Prices prices = p.prices;
    const compiler::Bill even = [&] {
      compiler::Bill b = want;
      b.key = got.key;
      return b;
    }();
    for (const bool now : {false, true}) {
      prices.now = now;
      const double seconds = compiler::Seconds(even, prices);
      EXPECT_NEAR(compiler::Seconds(got, prices), seconds, 1e-3 * seconds) << p.name;
    }
  }
}

// One memory serves random states, most of them by parts of others.
TEST(ClassBills, OfPartsAreThoseOfWholeTraces) {
  for (const Graph& g : {After(), Before()}) {
    Knobbed k(g);
    BillMemo memo;
    ClassBills bills(k.plan, k.plan.classes[0], k.by_node, memo);
    Draws draws(3);
    std::vector<size_t> state(k.knobs.size(), 0);
    constexpr int kStates = 60;
    int priced = 0;
    for (int i = 0; i < kStates; ++i) {
      std::vector<size_t> next = state;
      const size_t knob = size_t(draws.Below(int64_t(k.knobs.size())));
      next[knob] = size_t(draws.Below(int64_t(k.knobs[knob].options.size())));
      k.Set(next);
      const auto want = k.Traced();
      const auto got = bills.Of(next);
      ASSERT_EQ(got.has_value(), want.has_value()) << "state " << i;
      if (!want) continue;
      ExpectSame(*got, *want);
      state = next;
      ++priced;
    }
    EXPECT_GT(priced, kStates / 2);
    EXPECT_LT(memo.traces(), kStates);
  }
}

// A second variant of the same class finds all parts.
TEST(ClassBills, AreSharedBetweenVariants) {
  Knobbed one(After()), other(After());
  BillMemo memo;
  const std::vector<size_t> state(one.knobs.size(), 0);
  const auto first = ClassBills(one.plan, one.plan.classes[0], one.by_node, memo).Of(state);
  const auto second = ClassBills(other.plan, other.plan.classes[0], other.by_node, memo).Of(state);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(memo.traces(), 1);
  ExpectSame(*second, *other.Traced());
}

}  // namespace
}  // namespace suf::nn
