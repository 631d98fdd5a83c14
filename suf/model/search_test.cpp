// A model's plan with an index behind it. Protocol and specification agree word for word, with scores as by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/model/rig_test.hpp"
#include "suf/nn/plan/index_shape.hpp"

namespace suf::model {
namespace {

// Returns an index plan for a plan: 3 places of 16 buckets, 4 hits.
nn::IndexPlan SmallIndexPlan(const nn::Plan& plan) {
  nn::IndexPlan index;
  index.model = nn::PlanHash(plan);
  index.search.columns = plan.width();
  index.search.places = 3;
  index.search.buckets = 16;
  index.search.block = 20;
  index.search.k = 4;
  index.search.told = nn::ToldOfHits::kScores;
  index.search.floor = -(int64_t{1} << 20) + 1;
  index.search.ring = index.search.ResultRing();
  return index;
}

// An index of the embeddings of some texts, as many as it has rows.
struct SearchCase {
  Compiled c = CompileFor(RandomModel("tiny", 1), 16);
  nn::IndexPlan index = SmallIndexPlan(c.plan);
  nn::Plan plan = nn::WithIndex(c.plan, index);
  std::vector<nn::Reals> rows;  // scaled, before rounding
  nn::Checkpoint weights{&c.model.weights};
  nn::QuantisedWeights q;

  SearchCase() {
    const nn::PlanSimulator simulator(c.plan, c.q);
    const double factor = nn::RowFactor(plan);
    for (const Text& ids : Texts(9, int(index.capacity()), 3, 12)) {
      nn::Reals row;
      for (const int64_t v : simulator.Run(ids).y) row.push_back(std::ldexp(double(v), -c.plan.scale()) * factor);
      rows.push_back(row);
    }
    std::vector<float> bias(rows.size(), 0.f);
    bias[5] = -std::ldexp(1.f, index.search.f + index.search.g + 1);  // row 5 is deleted
    weights.Set("index.bias", {{index.capacity()}, bias});
    for (int64_t b = 0; b < index.search.blocks(); ++b) {
      const int64_t count = index.search.rows_of(b);
      std::vector<float> w;
      for (int64_t j = 0; j < index.search.columns; ++j)
        for (int64_t i = 0; i < count; ++i) w.push_back(float(rows[size_t(b * index.search.block + i)][size_t(j)]));
      weights.Set("index.rows" + std::to_string(b), {{index.search.columns, count}, w});
    }
    q = nn::Quantise(weights, plan);
  }
  // Returns the score of a row, from the embedding at the scale of the search.
  int64_t Score(const nn::Ints& x, int64_t row) const {
    int64_t z = 0;
    for (size_t j = 0; j < x.size(); ++j) z += x[j] * std::llround(std::ldexp(rows[size_t(row)][j], index.search.g));
    return z;
  }
};

TEST(ModelSearch, ProtocolAndSpecificationAgree) {
  const SearchCase s;
  const std::vector<Text> texts = Texts(3, 3, 3, 12);
  const std::vector<nn::Simulation> found = ExpectSameWords(s.plan, s.q, texts, [&](int n) {
    pfss::Trace t;
    nn::Build(t, s.plan, n);
    return pfss::Schedule(t).flights();
  });
  const nn::PlanSimulator simulator(s.plan, s.q);
  for (size_t i = 0; i < texts.size(); ++i) {
    nn::Ints x;
    (void)simulator.Run(texts[i], [&](const nn::GraphNode& n, const nn::IntArray& y) {
      if (n.label == "unit" || n.index + 2 == int(s.plan.graph.size())) x = y.at;
    });
    double length = 0;
    for (const int64_t v : x) length += double(v * v);
    EXPECT_NEAR(std::sqrt(length), std::ldexp(1, s.index.search.f), 8);
    const std::vector<nn::SearchHit> hits = s.index.search.Decode(found[i].y);
    EXPECT_EQ(hits.size(), 4u);
    for (const nn::SearchHit& h : hits) {
      EXPECT_NE(h.row, 5);
      EXPECT_EQ(h.score, s.Score(x, h.row));
      EXPECT_LT(std::abs(h.score), int64_t{1} << (s.index.search.f + s.index.search.g));
    }
  }
}

// A text that is in the index is its own best hit.
TEST(ModelSearch, FindsItself) {
  const SearchCase s;
  const nn::PlanSimulator simulator(s.plan, s.q);
  const std::vector<Text> texts = Texts(9, int(s.index.capacity()), 3, 12);
  int found = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    int64_t best = 0, row = -1;
    for (const nn::SearchHit& h : s.index.search.Decode(simulator.Run(texts[i]).y))
      if (h.score > best) {
        best = h.score;
        row = h.row;
      }
    EXPECT_NE(row, 5);
    found += row == int64_t(i);
  }
  EXPECT_GE(found, int(texts.size()) - 3);  // equal texts have one row that is shown
}

TEST(ModelSearch, RefusesAnotherPlanAndOtherResults) {
  const Compiled c = CompileFor(RandomModel("tiny", 1), 16), other = CompileFor(RandomModel("tiny", 2), 12);
  nn::IndexPlan index = SmallIndexPlan(c.plan);
  const auto refusal = [&](const nn::Plan& plan) -> std::string {
    try {
      (void)nn::WithIndex(plan, index);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refusal(c.plan), "");
  EXPECT_THAT(refusal(other.plan), testing::HasSubstr("the index is of the plan"));
  index.text = "query";
  EXPECT_THAT(refusal(c.plan), testing::HasSubstr("query"));
  index.text.clear();
  index.search.columns += 1;
  EXPECT_THAT(refusal(c.plan), testing::HasSubstr("its input has another width"));
  index.search.columns -= 1;
  index.search.f = 20;
  EXPECT_THAT(refusal(c.plan), testing::HasSubstr("fractional bits"));
  const Compiled scores = CompileFor(RandomModel("tiny-reranker", 1), 16);
  index = SmallIndexPlan(scores.plan);
  EXPECT_THAT(refusal(scores.plan), testing::HasSubstr("no embedding of norm 1"));
}

// The shape holds the rows and reaches the recall. Fewer rows or a lower recall cost no more.
TEST(IndexShape, FulfilsTheWish) {
  const Compiled c = CompileFor(RandomModel("tiny", 1), 16);
  const compiler::Prices prices = compiler::ParseProfile("lan").prices;
  nn::IndexPlan base = SmallIndexPlan(c.plan);
  base.search.g = 10;
  const auto seconds = [&](const nn::IndexPlan& index) {
    const nn::Plan plan = nn::WithIndex(c.plan, index);
    return compiler::CostOf(prices, pfss::Capabilities{}, [&](pfss::Trace& t) { nn::Build(t, plan, 8); }).seconds;
  };
  double before = 0;
  for (const auto& [rows, recall] : {std::pair{300, 0.9}, {300, 1.}, {3000, 0.97}}) {
    const nn::IndexPlan index = nn::ChooseShape(c.plan, base, {rows, recall, 8}, prices, pfss::Capabilities{});
    index.search.Verify("search");
    EXPECT_GE(index.capacity(), rows);
    EXPECT_GE(nn::RecallOf(index.search), recall);
    EXPECT_EQ(index.search.k, base.search.k);
    EXPECT_EQ(nn::Serialize(nn::ParseIndexPlan(nn::Serialize(index))), nn::Serialize(index));
    EXPECT_GE(seconds(index), before) << rows;
    before = seconds(index);
  }
  base.search.k = 64;
  EXPECT_THROW((void)nn::ChooseShape(c.plan, base, {40, 1, 8}, prices, pfss::Capabilities{}), Error);
}

TEST(IndexPlanText, IsReadAsItWasWritten) {
  const Compiled c = CompileFor(RandomModel("tiny", 1), 16);
  const nn::IndexPlan index = SmallIndexPlan(c.plan);
  const std::string text = nn::Serialize(index);
  const nn::IndexPlan read = nn::ParseIndexPlan(text);
  EXPECT_EQ(nn::IndexPlanHash(read), nn::IndexPlanHash(index));
  EXPECT_EQ(nn::Serialize(read), text);
  for (const auto& [was, now, said] : {std::tuple{"\"k\":4", "\"k\":5", "does not match its hash"},
                                       {"\"k\":4", "\"k\":0", "field k is 0"},
                                       {"\"kind\":\"index\"", "\"kind\":\"plan\"", "this is no index plan"},
                                       {"\"version\":1", "\"version\":2", "has version 2"},
                                       {"\"places\":3,", "", "lacks the field places"},
                                       {"\"places\":3", "\"places\":16777217", "places is 16777217"},
                                       {"\"k\":4", "\"k\":4,\"l\":1", "field l is unknown"}}) {
    std::string altered = text;
    altered.replace(altered.find(was), std::string(was).size(), now);
    try {
      (void)nn::ParseIndexPlan(altered);
      ADD_FAILURE() << now;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kRefused);
      EXPECT_THAT(e.what(), testing::HasSubstr(said));
    }
  }
}

}  // namespace
}  // namespace suf::model
