// P0's weights as a plan has them: folded, quantised, masked, by length.
#include "suf/nn/read/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/plan/join_test.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::nn {
namespace {

// The folded integer maps equal the float ones: gamma, beta, means and value biases are at the right maps.
TEST(Quantise, FoldsExactly) {
  CompileOptions o = SmallOptions();
  o.policy.weight = {{"query_key", 20}, {"attended", 20}};
  o.policy.weight_default = 20;
  o.policy.gamma = 20;
  o.policy.merge = 0;
  const Small m(After(), 3, o);
  const auto value = [&](const std::string& name, size_t i) { return double(m.weights.Get(name).values[i]); };
  const size_t d = size_t(kWidth), ff = size_t(kHidden);
  EXPECT_EQ(m.q.at("2.full").shape(), (Shape{kWidth, 2 * kWidth}));
  EXPECT_EQ(m.q.at("12.full").shape(), (Shape{kWidth, kHidden}));
  EXPECT_EQ(m.q.at("14.full").shape(), (Shape{kHidden, kWidth}));
  EXPECT_EQ(m.q.at("0.positions").shape(), (Shape{kPositions, kWidth}));
  EXPECT_EQ(m.q.at("17.bias").shape(), (Shape{kWidth}));
  EXPECT_EQ(m.q.count("4.bias"), 0u);  // it is behind the output map
  Draws r(4);
  Reals n;
  for (size_t i = 0; i < d; ++i) n.push_back(r.Normal(0, 1));
  // read: the folded map of a plain normalised row; a product's scale is weight + activation
  const auto read = [&](const std::string& node, size_t cols, size_t j) {
    double z = double(m.q.at(node + ".bias")[int64_t(j)]) * std::ldexp(1.0, -20 - o.policy.activation);
    for (size_t i = 0; i < d; ++i) z += n[i] * double(m.q.at(node + ".full")[int64_t(i * cols + j)]) * 0x1p-20;
    return z;
  };
  for (size_t j = 0; j < d; ++j) {
    double query = value("q.bias", j);
    for (size_t i = 0; i < d; ++i) query += (n[i] * value("n0.gamma", i) + value("n0.beta", i)) * value("q", i * d + j);
    EXPECT_NEAR(read("2", 2 * d, j), query, 1e-4);
    EXPECT_EQ(m.q.at("2.bias")[int64_t(d + j)], 0);  // a key's bias is the same for a whole row of scores
  }
  for (size_t j = 0; j < ff; ++j) {
    double hidden = value("w1.bias", j);
    for (size_t i = 0; i < d; ++i)
      hidden += (n[i] * value("n1.gamma", i) + value("n1.beta", i)) * value("w1", i * ff + j);
    EXPECT_NEAR(read("12", ff, j), hidden, 1e-4);
  }
  for (const char* name : {"0.table", "0.positions", "10.full", "14.full", "10.bias"}) {  // inputs of norms are centred
    const Tensor& t = m.q.at(name);
    for (int64_t i = 0; i < t.rows(); ++i) {
      const Ints row = t.Row(i);
      EXPECT_LE(std::abs(std::accumulate(row.begin(), row.end(), int64_t{0})), t.cols()) << name;
    }
  }
}

TEST(Quantise, RefusesWhatDoesNotFit) {
  const Small m(After());
  Checkpoint w = m.weights;
  Checkpoint::CheckpointTensor t = w.Get("w1");
  t.values[3] = 1e12f;
  w.Set("w1", t);
  EXPECT_THAT(Refusal([&] { Quantise(w, m.plan); }), testing::HasSubstr("0/inner/z_1 (full)"));
  EXPECT_THAT(Refusal([&] { Quantise(Checkpoint(), m.plan); }, Cause::kInput),
              testing::HasSubstr("the model has no tensor table"));
}

TEST(Tensor, TakesTheNarrowestStorage) {
  auto width = [](Ints v) { return Tensor({int64_t(v.size())}, v).Visit([](const auto* p) { return sizeof *p; }); };
  EXPECT_EQ(width({-32768, 32767}), 2u);
  EXPECT_EQ(width({32768}), 4u);
  EXPECT_EQ(width({-2147483649}), 8u);
  EXPECT_EQ(Tensor({2, 2}, {1, -2, 3, -4}).Row(1), (Ints{3, -4}));
  EXPECT_EQ(Tensor({1}, {-1}).Words()[0], ~uint64_t{0});
  EXPECT_EQ(Tensor({2}, {-1, 7}).Numbers(), (Reals{-1, 7}));
  EXPECT_EQ(Fixed("w", {3}, {0.25, -0.25, 0.125}, 2).Words(),
            (std::vector<uint64_t>{1, ~uint64_t{0}, 1}));  // floor(x + 1/2)
}

// Masked weights are those of maps and the lookup, in the graph's order, in the widest ring of any class.
TEST(MaskedWeights, OrderAndBits) {
  for (const Graph& g : {After(true), Before()}) {
    CompileOptions o = SmallOptions();
    o.policy.merge = 8;  // the first class has the wider output map if its rescale is left out
    const Small m(g, 1, o);
    std::vector<std::string> names;
    int64_t bytes = 0;
    int wider_first = 0;
    for (const MaskedWeight& w : MaskedWeights(m.plan)) {
      names.push_back(w.name);
      const size_t node = size_t(std::stoi(w.name));
      const int first = m.plan.classes[0].ops[node]->ring, second = m.plan.classes[1].ops[node]->ring;
      EXPECT_EQ(w.bits, std::max(first, second));
      wider_first += first > second;
      EXPECT_EQ(w.shape, m.q.at(w.name).shape());
      EXPECT_EQ(w.size(), m.q.at(w.name).size());
      EXPECT_EQ(w.bytes(), (w.size() * w.bits + 7) / 8);
      bytes += w.bytes();
    }
    EXPECT_GT(bytes, 0);
    EXPECT_EQ(wider_first > 0, m.plan.graph.size() == 19);
    if (m.plan.graph.size() == 19)
      EXPECT_THAT(names, testing::ElementsAre("0.table", "2.full", "4.full", "10.full", "10.diag", "10.mean", "12.full",
                                              "14.full", "14.diag", "14.mean", "17.diag"));
    else
      EXPECT_THAT(names, testing::ElementsAre("0.table", "3.full", "5.full", "7.full", "13.full", "17.full", "19.full",
                                              "22.full", "27.full"));
  }
}

// A weight that two variants read at one scale is sent once, in the wider ring. At two scales it is sent twice.
TEST(Variants, ShareTheWeightsThatTheyReadAlike) {
  CompileOptions o = SmallOptions();
  const Small near(After(true), 1, o);
  const Plan same = Joined(near.plan, near.plan);
  const auto one = MaskedWeights(near.plan), both = MaskedWeights(same);
  ASSERT_EQ(one.size(), both.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].name, both[i].name);
    EXPECT_EQ(one[i].bits, both[i].bits);
  }
  EXPECT_EQ(Quantise(near.weights, same).size(), near.q.size());
  o.policy.weight["query_key"] = near.plan.classes[0].ops[2]->Slots()[0].scale - 1;  // the map z_qk alone
  const Small far(After(true), 1, o);
  const Plan plan = Joined(near.plan, far.plan);
  Check(plan);
  const QuantisedWeights q = Quantise(near.weights, plan);
  std::vector<std::string> names, own;
  for (const MaskedWeight& w : MaskedWeights(plan)) {
    names.push_back(w.name);
    if (w.name.find('@') != w.name.npos) own.push_back(w.name);
  }
  EXPECT_THAT(own, testing::ElementsAre("2.full@2"));
  EXPECT_EQ(names.size(), one.size() + 1);
  EXPECT_EQ(q.at("2.full@2")[0], far.q.at("2.full")[0]);
  EXPECT_NO_THROW(CheckWeights(plan, q));
  PlanSimulator simulator(plan, q);
  for (const auto& ids : SmallTexts(5, 4, 16)) {
    EXPECT_EQ(simulator.Run(ids, {}, 0).y, PlanSimulator(near.plan, near.q).Run(ids).y);
    EXPECT_EQ(simulator.Run(ids, {}, 1).y, PlanSimulator(far.plan, far.q).Run(ids).y);
  }
  for (int v : {0, 1}) {  // a trace reads the weights of its own variant, and each of them is set
    pfss::Trace t;
    Build(t, plan, 5, v);
    std::set<std::string> set;
    const auto keep = [&](const std::string& name, const Tensor&) { EXPECT_TRUE(set.insert(name).second) << name; };
    ModelInputs(plan, q, keep);
    LengthInputs(plan, q, 5, keep);
    int own_of_far = 0;
    for (const pfss::Node& node : t.nodes()) {
      if (node.op != pfss::Op::kInput) continue;
      const std::string& name = t.name(node.label);
      own_of_far += name == "W.2.full@2";
      EXPECT_FALSE(v && name == "W.2.full");
      EXPECT_TRUE(name.rfind("W.", 0) != 0 || set.count(name)) << name;
    }
    EXPECT_EQ(own_of_far, v);
  }
}

// These functions set exactly the inputs that a trace of n tokens reads of P0, P1 and the dealer.
TEST(Inputs, AreThoseOfTheTrace) {
  for (const Graph& g : {After(true), Before()}) {
    const Small m(g);
    for (int n : {3, 8, 11}) {
      pfss::Trace t;
      Build(t, m.plan, n);
      std::map<std::string, int64_t> read, set;
      for (const pfss::Node& node : t.nodes())
        if (node.op == pfss::Op::kInput) read[t.name(node.label)] = pfss::Size(node.shape);
      const auto keep = [&](const std::string& name, const Tensor& v) {
        EXPECT_TRUE(set.emplace(name, v.size()).second) << name;
      };
      ModelInputs(m.plan, m.q, keep);
      LengthInputs(m.plan, m.q, n, keep);
      for (const MaskedWeight& w : MaskedWeights(m.plan)) set["Wh." + w.name] = set["B." + w.name] = w.size();
      set[kTokensInput] = n;
      EXPECT_EQ(read, set) << n;
    }
  }
}

TEST(Inputs, ByLength) {
  const Small m(After(true));
  for (int n : {3, 5}) {
    std::map<std::string, Tensor> set;
    LengthInputs(m.plan, m.q, n, [&](const std::string& name, const Tensor& v) { set[name] = v; });
    ASSERT_EQ(set.size(), 3u);
    const Tensor &rows = set.at("W.0.positions"), &corner = set.at("W.6.relative"), &times = set.at("W.17.bias");
    EXPECT_EQ(rows.shape(), (Shape{n, kWidth}));
    for (int64_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], m.q.at("0.positions")[i]);
    EXPECT_EQ(corner.shape(), (Shape{kHeads, n, n}));
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          EXPECT_EQ(corner[(h * n + i) * n + j],
                    m.q.at("6.relative")[h * (2 * kPositions - 1) + kPositions - 1 + j - i]);
    for (int64_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], n * m.q.at("17.bias")[i]);
  }
  ModelInputs(m.plan, m.q, [&](const std::string& name, const Tensor&) { EXPECT_NE(name, "W.0.positions"); });
}

}  // namespace
}  // namespace suf::nn
