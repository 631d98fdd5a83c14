#include "suf/nn/bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/nn/compile.hpp"
#include "suf/nn/tiny.hpp"

namespace suf::nn {
namespace {

CompileOptions Options() {
  CompileOptions o = TinyOptions();
  o.merge = 8;  // the second class has a wire o
  return o;
}

const Plan& Own() {
  static const Plan plan = Compile(TinyWeights(1), TinyTexts(2, 40, 16), Options());
  return plan;
}

// Refusal: of these weights by this plan; empty when they fit.
std::string Refusal(const Plan& plan, const Weights& weights) {
  try {
    CheckWeights(plan, Quantise(weights, plan.scales, plan.max_tokens));
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), Cause::kRefused);
    return e.what();
  }
  return "";
}

void Scale(std::vector<float>& v, float by) {
  for (float& x : v) x *= by;
}

TEST(CheckWeights, OwnWeightsPass) {
  EXPECT_EQ(Refusal(Own(), TinyWeights(1)), "");
  EXPECT_EQ(Refusal(Parse(Serialize(Own())), TinyWeights(1)), "");
}

// Certificates are exact: one bit less on any hard wire of any class and its own weights are refused, by that name.
TEST(CheckWeights, LooksAtEveryHardCertificate) {
  const Quantised q = Quantise(TinyWeights(1), Own().scales, Own().max_tokens);
  int hard = 0;
  for (const auto& [wire, c] : Own().certificates) {
    if (!c.hard || c.bits == 1) continue;
    Plan plan = Own();
    plan.certificates[wire].bits -= 1;
    EXPECT_THAT([&] { CheckWeights(plan, q); },
                testing::ThrowsMessage<Error>(
                    testing::Eq(Str("wire ", wire, " can reach 2^", c.bits, " with these weights; the plan allows 2^",
                                    c.bits - 1, "; compile a plan from this model"))));
    plan.certificates[wire].hard = false;
    EXPECT_THAT([&] { CheckWeights(plan, q); },
                testing::ThrowsMessage<Error>(testing::HasSubstr(Str("no hard certificate of wire ", wire, ";"))));
    ++hard;
  }
  EXPECT_EQ(hard, 2 * (6 + 2 * 10) + 2);
}

TEST(CheckWeights, LooksAtRingsWhateverTheCertificatesSay) {
  for (size_t i = 0; i < Own().classes.size(); ++i) {
    Plan plan = Own();
    for (auto& [wire, c] : plan.certificates) c.bits = 64;
    plan.classes[i].layers[1].v -= 2;
    EXPECT_THAT(Refusal(plan, TinyWeights(1)), testing::StartsWith(Str("wire ", plan.classes[i].max_n, "/1/z_v can")));
  }
}

TEST(CheckWeights, RefusesLargerWeights) {
  Weights w = TinyWeights(7);
  for (auto& y : w.layers) Scale(y.wq, 8);
  EXPECT_THAT(Refusal(Own(), w), testing::MatchesRegex("wire 8/0/z_qk can reach .*"));
  w = TinyWeights(1);
  Scale(w.word, 16), Scale(w.position, 16);
  EXPECT_THAT(Refusal(Own(), w), testing::MatchesRegex("wire 8/embedding.* can reach .*"));
  w = TinyWeights(1);
  Scale(w.layers[1].w_out, 8);
  EXPECT_THAT(Refusal(Own(), w), testing::MatchesRegex("wire 8/1/z_2 can reach .*"));
  w = TinyWeights(1);
  Scale(w.layers[1].g2, 16);
  EXPECT_THAT(Refusal(Own(), w), testing::MatchesRegex("wire 8/pool can reach .*"));
}

// Only the second class reads the later positions.
TEST(CheckWeights, LooksAtEveryClass) {
  Weights w = TinyWeights(1);
  for (size_t i = size_t(12 * w.dims.d); i < w.position.size(); ++i) w.position[i] *= 32;
  EXPECT_THAT(Refusal(Own(), w), testing::MatchesRegex("wire 16/embedding.* can reach .*"));
}

}  // namespace
}  // namespace suf::nn
