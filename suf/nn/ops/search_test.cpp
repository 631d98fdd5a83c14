// Searches of small indexes: protocol, specification and a search by hand agree, for many shapes.
#include "suf/nn/ops/search.hpp"

#include <algorithm>
#include <random>

#include "suf/nn/ops/rig_test.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {
namespace {

using compiler::StepSource;

struct SearchShape {
  int64_t places, buckets, stop;
  Ints groups;
  int64_t k;
};
constexpr int64_t kColumns = 5;

Search MakeSearch(const SearchShape& s, ToldOfHits told, int64_t floor, StepSource steps = StepSource::kDigits) {
  Search op;
  op.columns = kColumns;
  op.places = s.places;
  op.buckets = s.buckets;
  op.stop = s.stop;
  op.groups = s.groups;
  op.k = s.k;
  op.told = told;
  op.floor = floor;
  op.f = 6;
  op.g = 5;
  op.block = 16;
  op.early = op.late = op.pairs = steps;
  op.ring = op.ResultRing();
  return op;
}

// An index of random rows and a text's embedding; few different values, so that many scores are equal.
struct SmallIndex {
  std::map<std::string, Tensor> weights;
  Ints x, scores;  // exact scores; those of dead rows are far below
  SmallIndex(const Search& op, uint64_t seed, double dead) {
    std::mt19937_64 rng(seed);
    std::uniform_int_distribution<int64_t> of_x(-8, 8), of_row(-6, 6);
    std::bernoulli_distribution is_dead(dead);
    for (int64_t j = 0; j < kColumns; ++j) x.push_back(of_x(rng));
    Ints bias;
    for (int64_t b = 0; b < op.blocks(); ++b) {
      const int64_t n = op.rows_of(b);
      Ints w(size_t(kColumns * n));
      for (int64_t& v : w) v = of_row(rng);
      for (int64_t i = 0; i < n; ++i) {
        bias.push_back(is_dead(rng) ? -(int64_t{1} << (op.f + op.g + 1)) : 0);
        int64_t z = bias.back();
        for (int64_t j = 0; j < kColumns; ++j) z += x[size_t(j)] * w[size_t(j * n + i)];
        scores.push_back(z);
      }
      weights["rows" + std::to_string(b)] = Tensor({kColumns, n}, w);
    }
    weights["bias"] = Tensor({op.rows()}, bias);
  }
};

// Returns the k best of the best rows of all buckets. Of equal rows the lowest place wins, then the lowest bucket.
std::vector<SearchHit> ByHand(const Search& op, const Ints& scores) {
  std::vector<std::pair<int64_t, int64_t>> best;  // (score, row), by bucket
  for (int64_t m = 0; m < op.buckets; ++m) {
    std::pair<int64_t, int64_t> b{scores[size_t(m)], m};
    for (int64_t s = 1; s < op.places; ++s)
      if (scores[size_t(s * op.buckets + m)] > b.first) b = {scores[size_t(s * op.buckets + m)], s * op.buckets + m};
    best.push_back(b);
  }
  std::stable_sort(best.begin(), best.end(), [](auto a, auto b) { return a.first > b.first; });
  std::vector<SearchHit> out;
  for (int64_t r = 0; r < op.k; ++r)
    if (best[size_t(r)].first >= op.floor)
      out.push_back({best[size_t(r)].second, op.told == ToldOfHits::kOrder ? r : -1,
                     op.told == ToldOfHits::kScores ? best[size_t(r)].first : 0});
  return out;
}

// Hits that P1 cannot order come by row.
std::vector<SearchHit> Sorted(std::vector<SearchHit> hits) {
  std::stable_sort(hits.begin(), hits.end(), [](const SearchHit& a, const SearchHit& b) { return a.row < b.row; });
  std::stable_sort(hits.begin(), hits.end(), [](const SearchHit& a, const SearchHit& b) { return a.score > b.score; });
  std::stable_sort(hits.begin(), hits.end(), [](const SearchHit& a, const SearchHit& b) { return a.rank < b.rank; });
  return hits;
}

// Runs a search; returns its flights.
int RunSearch(const Search& op, uint64_t seed, double dead = 0.1) {
  const SmallIndex index(op, seed, dead);
  OpRig rig(1);
  rig.weights = index.weights;
  const Ints y = rig.Run(op, {{{{1, kColumns}, index.x}, op.ScoreRing(), OperandForm::kMap}}, true, uint8_t(seed));
  EXPECT_EQ(op.Decode(y), Sorted(ByHand(op, index.scores))) << seed;
  return rig.g.flights();
}

// Exact searches, tournaments to the end, tournaments that stop, one level of groups and two.
const SearchShape kShapes[] = {
    {1, 11, 1, {}, 3},  {1, 24, 1, {4}, 3}, {1, 60, 1, {6, 2}, 4}, {3, 12, 1, {}, 2},     {7, 12, 1, {3}, 2},
    {5, 16, 2, {2}, 3}, {9, 12, 3, {}, 4},  {13, 24, 4, {4}, 3},   {4, 40, 1, {5, 2}, 4}, {6, 20, 1, {}, 10},
};

TEST(SearchOperator, EqualsASearchByHand) {
  uint64_t seed = 1;
  for (const SearchShape& shape : kShapes)
    for (const ToldOfHits told : {ToldOfHits::kIds, ToldOfHits::kOrder, ToldOfHits::kScores})
      for (const int64_t floor : {-2000, 20}) {
        const Search op = MakeSearch(shape, told, floor);
        op.Verify("here");
        (void)RunSearch(op, seed++);
      }
}

TEST(SearchOperator, EveryLowering) {
  const int flights[] = {10, 14, 18};
  for (const StepSource steps : gates::kAllSteps) {
    const Search op = MakeSearch(kShapes[4], ToldOfHits::kOrder, 0, steps);
    EXPECT_GT(RunSearch(op, 100 + uint64_t(steps)), flights[int(steps)]) << int(steps);
  }
}

// Ids, order and scores take the same flights. One index has no live row.
TEST(SearchOperator, TellsWithTheSameFlights) {
  const auto flights = [](ToldOfHits told) { return RunSearch(MakeSearch(kShapes[5], told, 0), 7); };
  EXPECT_EQ(flights(ToldOfHits::kIds), flights(ToldOfHits::kScores));
  EXPECT_EQ(flights(ToldOfHits::kOrder), flights(ToldOfHits::kScores));
  (void)RunSearch(MakeSearch(kShapes[5], ToldOfHits::kOrder, -2047), 8, 1.0);
}

TEST(SearchOperator, RefusesShapesThatDoNotFit) {
  const auto refused = [](const SearchShape& shape, ToldOfHits told = ToldOfHits::kIds) {
    const Search op = MakeSearch(shape, told, 0);
    try {
      op.Verify("here");
      return false;
    } catch (const Error& e) {
      return e.cause() == Cause::kRefused;
    }
  };
  EXPECT_TRUE(refused({1, 10, 1, {}, 10}));                       // no more entries than hits
  EXPECT_TRUE(refused({1, 24, 1, {5}, 3}));                       // groups of different sizes
  EXPECT_TRUE(refused({1, 24, 1, {8}, 3}));                       // a group keeps all
  EXPECT_TRUE(refused({1, 100, 1, {}, 17}, ToldOfHits::kOrder));  // the order of 17 hits
  EXPECT_FALSE(refused({1, 100, 1, {}, 17}));
  EXPECT_FALSE(refused({1, 100, 1, {}, 16}, ToldOfHits::kOrder));
}

// A word that no honest run gives is refused.
TEST(SearchOperator, DecodesNoImpossibleHit) {
  const Search op = MakeSearch(kShapes[6], ToldOfHits::kOrder, 0);
  Ints y(size_t(op.Entries()), 0);
  EXPECT_TRUE(op.Decode(y).empty());
  y[3] = gates::Number(ring::Mask(op.ring), op.ring);
  EXPECT_THROW((void)op.Decode(y), Error);
}

}  // namespace
}  // namespace suf::nn
