#include "suf/nn/plan/softmax_shift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/plan/fold.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Returns the softmaxes of a graph.
std::vector<const Softmax*> Softmaxes(const Graph& g) {
  std::vector<const Softmax*> out;
  for (auto& n : g.nodes())
    if (const Softmax* s = n->As<Softmax>()) out.push_back(s);
  return out;
}

TEST(Shifts, AreAddedBehindTheFoldAndRemoved) {
  for (const Graph& g : {After(), Before()}) {
    const Graph folded = Fold(g);
    Graph with = folded;
    EXPECT_EQ(AddShifts(&with), 1);
    EXPECT_EQ(with.size(), folded.size() + 1);
    EXPECT_THAT(ShiftLeaves(with), ElementsAre(Pair("shift.0.attention", Shape{kWidth, kHeads}),
                                               Pair("shift.0.attention.bias", Shape{kHeads})));
    EXPECT_EQ(AddShifts(&with), 0);  // each has one already
    EXPECT_EQ(RemoveShifts(with).Text(), folded.Text());
    EXPECT_TRUE(ShiftLeaves(folded).empty());
  }
}

TEST(Shifts, NeedTexts) {
  Graph g = Fold(After());
  const Checkpoint w = RandomWeights(After(), 1);
  const std::string folded = g.Text();
  for (auto& [texts, why] : {std::pair{SmallTexts(2, 19, 16), "there are 19 texts"},
                             std::pair{SmallTexts(2, 40, 16), "a fit needs 20 texts and 1000 tokens, there are 40"}}) {
    AddShifts(&g);
    const Shifts none = FitShifts(&g, w, texts, exec::Default());
    EXPECT_TRUE(none.fits.empty());
    EXPECT_THAT(none.why_not, HasSubstr(why));
    EXPECT_EQ(g.Text(), folded);
  }
  Shifts shifts;
  CompileOptions o = SmallOptions();
  (void)Compile(After(), w, SmallTexts(2, 40, 16), o, exec::Default(), &shifts);  // the maximum costs less
  EXPECT_THAT(shifts.why_not, HasSubstr("a fit needs 20 texts and 1000 tokens, there are 40"));
  o.policy.softmax = Options::kShift;
  EXPECT_THAT(
      Refusal([&] { (void)Compile(After(), w, SmallTexts(2, 40, 16), o, exec::Default(), &shifts); }, Cause::kInput),
      HasSubstr("the calibration texts are too few"));
}

// For every row: the log-sum-exp of the scores less its own coefficients' part, and the predicted shift. Both are in
// units of scores, in the order (text, head, row).
struct Predicted {
  std::vector<double> is, said;
};
Predicted Predict(const Graph& fitted, const Checkpoint& weights, const std::vector<std::vector<int32_t>>& texts) {
  const Softmax& softmax = *Softmaxes(fitted).at(0);
  const double unit = std::sqrt(double(softmax.head_dim));
  const RealModel model(fitted, weights);
  Predicted out;
  for (auto& text : texts) {
    RealArray scores, shift;
    model.Run(text, nullptr, [&](const GraphNode& n, const RealArray& y) {
      if (n.As<Scores>()) scores = y;
      if (n.label == "shift") shift = y;
    });
    const int64_t n = int64_t(text.size());
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < n; ++i) {
        const double* s = &scores.at[size_t((h * n + i) * n)];
        double sum = 0;
        for (int64_t j = 0; j < (softmax.causal ? i + 1 : n); ++j) sum += std::exp(s[j] / unit);
        double own = 0;
        if (!softmax.own.empty())
          own = double(softmax.own[size_t(2 * h)]) / 16 * s[i] +
                double(softmax.own[size_t(2 * h + 1)]) / 16 * s[std::max<int64_t>(i - 1, 0)];
        out.is.push_back(std::log(sum) * unit);
        out.said.push_back(shift.at[size_t(i * kHeads + h)] + own);
      }
  }
  return out;
}

TEST(Shifts, PredictRowsOfOtherTexts) {
  for (const Graph& g : {After(), Before()}) {
    const Checkpoint model = RandomWeights(g, 1);
    const auto texts = SmallTexts(2, 160, 16);
    std::vector<std::string> fits;
    while (fits.size() < 2) {  // two equal fits
      Graph fitted = Fold(g);
      AddShifts(&fitted);
      const Shifts shifts = FitShifts(&fitted, model, texts, exec::Default());
      EXPECT_EQ(shifts.why_not, "");
      ASSERT_EQ(shifts.fits.size(), 1u);
      EXPECT_TRUE(shifts.fits[0].fits);
      EXPECT_EQ(shifts.fits[0].where, "0/attention/e");
      Checkpoint all(&model);
      for (auto& [name, t] : shifts.weights.tensors()) all.Set(name, t);
      const Predicted p = Predict(fitted, all, SmallTexts(7, 60, 16));
      double mean = 0, left = 0, plain = 0;
      for (size_t i = 0; i < p.is.size(); ++i) mean += (p.is[i] - p.said[i]) / double(p.is.size());
      double level = 0;
      for (double v : p.is) level += v / double(p.is.size());
      for (size_t i = 0; i < p.is.size(); ++i) {
        left += std::pow(p.is[i] - p.said[i] - mean, 2);
        plain += std::pow(p.is[i] - level, 2);
      }
      EXPECT_LT(left, 0.95 * plain);  // it predicts rows of new texts, for a model of random weights
      EXPECT_LT(mean, 0);             // and lies above all but one row in a thousand
      const Checkpoint::CheckpointTensor& w = shifts.weights.tensors().begin()->second;
      fits.push_back(std::string(reinterpret_cast<const char*>(w.values.data()), 4 * w.values.size()));
    }
    EXPECT_EQ(fits[0], fits[1]);
  }
}

}  // namespace
}  // namespace suf::nn
