#include "suf/nn/plan/compile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "suf/compiler/choose.hpp"
#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/read/build.hpp"

namespace suf::nn {
namespace {

template <class T>
T& Of(const Plan& plan, int n, const std::string& label) {
  for (auto& node : plan.graph.nodes())
    if (node->label == label) return dynamic_cast<T&>(*plan.For(n).ops[size_t(node->index)]);
  throw Bug("there is no node " + label);
}

// Puts a tensor's rows (axis 0) or columns (axis 1) into another order.
void Permute(Checkpoint& w, const std::string& name, int axis, const std::vector<size_t>& order) {
  const Checkpoint::CheckpointTensor was = w.Get(name);
  Checkpoint::CheckpointTensor now = was;
  const size_t cols = size_t(was.shape.back());
  for (size_t i = 0; i < was.values.size(); ++i) {
    const size_t row = i / cols, col = i % cols;
    now.values[i] = axis == 0 ? was.values[order[row] * cols + col] : was.values[row * cols + order[col]];
  }
  w.Set(name, now);
}

// Returns [0, count), permuted within blocks of `block`.
std::vector<size_t> Shuffled(size_t count, size_t block, uint64_t seed) {
  Draws r(seed);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t at = 0; at < count; at += block)
    for (size_t i = block - 1; i > 0; --i) std::swap(order[at + i], order[at + size_t(r.Below(int64_t(i + 1)))]);
  return order;
}

TEST(Compile, HiddenUnitsMayBePermuted) {
  const Graph g = After();
  const Checkpoint w = RandomWeights(g, 1);
  Checkpoint v = w;
  const auto hidden = Shuffled(size_t(kHidden), size_t(kHidden), 3);
  Permute(v, "w1", 1, hidden);
  Permute(v, "w1.bias", 1, hidden);
  Permute(v, "w2", 0, hidden);
  const size_t d = size_t(kWidth), of = d / kHeads;
  const auto values = Shuffled(d, of, 4), keys = Shuffled(d, of, 5);
  Permute(v, "v", 1, values);
  Permute(v, "v.bias", 1, values);
  Permute(v, "o", 0, values);
  for (const char* name : {"q", "k", "q.bias", "k.bias"}) Permute(v, name, 1, keys);
  const auto texts = SmallTexts(2, 40, 16);
  EXPECT_EQ(Serialize(Compile(g, v, texts, SmallOptions())), Serialize(Compile(g, w, texts, SmallOptions())));
}

TEST(Compile, ThreadsMakeNoDifference) {
  const Graph g = Before();
  const Checkpoint w = RandomWeights(g, 1);
  exec::Pool one(1), three(3);
  const auto texts = SmallTexts(2, 10, 16);
  EXPECT_EQ(Serialize(Compile(g, w, texts, SmallOptions(), one)),
            Serialize(Compile(g, w, texts, SmallOptions(), three)));
}

// Compiles a graph with random weights for these prices.
Plan PlanFor(const Graph& g, const std::string& profile) {
  CompileOptions o = SmallOptions();
  o.variants = {{"one", profile}};
  return Compile(g, RandomWeights(g, 1), SmallTexts(2, 10, 16), o);
}

// The search saves flights if these are dear, and takes the smaller key if keys are dear.
TEST(Compile, SearchesByPrices) {
  const Graph g = Before();
  auto bill = [&](const std::string& profile) {
    const Plan plan = PlanFor(g, profile);
    EXPECT_EQ(plan.variants, (std::vector<Variant>{{"one", profile}}));
    EXPECT_FALSE(plan.classes[0].choices.empty());
    for (const Chosen& c : plan.classes[0].choices) EXPECT_GE(c.microseconds, 0) << c.what;
    pfss::Trace t;
    Build(t, plan, 8);
    return compiler::BillOf(pfss::Schedule(t));
  };
  const compiler::Bill far = bill("wan"), dear = bill("flight=1e-9,key=1e-3,keys=now");
  EXPECT_LT(far.flights, dear.flights);
  EXPECT_LT(dear.key[0], far.key[0]);
  // the search begins with one stage everywhere: its result has no more flights and less key
  Plan plain = PlanFor(g, "");
  for (auto& op : plain.classes[0].ops)
    for (Knob& k : op->Knobs()) k.set(0);
  pfss::Trace t;
  Build(t, plain, 8);
  const compiler::Bill one = compiler::BillOf(pfss::Schedule(t));
  EXPECT_LE(far.flights, one.flights);
  EXPECT_LT(far.key[0], one.key[0]);
}

// Returns a block of maps and GELU whose work outweighs its flights.
Graph Wide() {
  constexpr int64_t kDim = 256, kInner = 4096;
  Graph g;
  g.Scope("embed");
  Lookup l;
  l.table = g.Tensor("table", {kWords, kDim}, Leaf::kTable);
  GraphNode* x = g.Add(std::move(l), {}, "z_embed");
  auto norm = [&](GraphNode* in, const std::string& name) {
    Norm n;
    n.dim = kDim;
    n.centre = true;
    n.eps = 1e-5;
    n.gamma = g.Tensor(name + ".gamma", {kDim}, Leaf::kGamma);
    n.beta = g.Tensor(name + ".beta", {kDim}, Leaf::kBias);
    return g.Add(std::move(n), {in}, "normalised");
  };
  x = norm(x, "n0");
  g.Scope("0/inner");
  Activation a;
  a.function = "gelu";
  GraphNode* h = g.Add(std::move(a), {FullMap(g, x, "w1", kDim, kInner, true, "linear", "z_1")}, "gelu");
  g.Scope("0/outer");
  x = norm(g.Add(Add{}, {FullMap(g, h, "w2", kInner, kDim, true, "linear", "z_2"), x}, "stream"), "n1");
  g.Scope("pool");
  Norm unit;
  unit.dim = kDim;
  unit.unit = unit.by_length = true;
  unit.key = "unit";
  g.Add(std::move(unit), {g.Add(PoolRows{}, {x}, "pooled")}, "unit");
  g.Number();
  return g;
}

// Compares a plan for one machine with keys dealt now and one for a wide network. Each is slower on the other's link.
TEST(Compile, EachPlanIsSlowerOnTheOthersLink) {
  const Graph g = Wide();
  auto bill = [&](const std::string& profile) {
    const Plan plan = PlanFor(g, profile);
    pfss::Trace t;
    Build(t, plan, plan.classes.back().max_n);
    return compiler::BillOf(pfss::Schedule(t));
  };
  compiler::Prices near = compiler::ParseProfile("cpu").prices, far = compiler::ParseProfile("wan").prices;
  near.now = true;
  const compiler::Bill one = bill("cpu,keys=now"), other = bill("wan");
  EXPECT_LT(compiler::Seconds(one, near), compiler::Seconds(other, near));
  EXPECT_LT(compiler::Seconds(other, far), compiler::Seconds(one, far));
}

// Returns the text of a plan without the times of its choices.
std::string Untimed(Plan p) {
  for (Class& c : p.classes)
    for (Chosen& x : c.choices) x.microseconds = 0;
  return Serialize(p);
}

// Each profile gives one variant over the same graph, equal to the plan for that profile alone. Its prices are sums of
// parts that another variant may have left, so times may differ by rounding.
TEST(Compile, MakesAVariantForEachProfile) {
  const Graph g = Before();
  const Checkpoint w = RandomWeights(g, 1);
  const auto texts = SmallTexts(2, 10, 16);
  CompileOptions o = SmallOptions();
  o.variants = {{"close", "cpu,keys=now"}, {"wan", "wan"}};
  const Plan both = Compile(g, w, texts, o);
  ASSERT_EQ(both.variants, o.variants);
  for (int v : {0, 1}) {
    CompileOptions single = SmallOptions();
    single.variants = {o.variants[size_t(v)]};
    EXPECT_EQ(Untimed(both.Only(v)), Untimed(Compile(g, w, texts, single)));
    pfss::Trace a, b;
    Build(a, both, 11, v);
    Build(b, both.Only(v), 11);
    EXPECT_EQ(a.digest(), b.digest());
  }
  const Plan back = Parse(Serialize(both));
  EXPECT_EQ(Serialize(back), Serialize(both));
  EXPECT_EQ(back.VariantNamed("wan"), 1);
  EXPECT_EQ(&back.For(9, 1), &back.classes[back.classes.size() - 1]);
  EXPECT_EQ(&back.For(3, 1), &back.First(1));
  EXPECT_THAT(Refusal([&] { back.VariantNamed("moon"); }, Cause::kInput),
              testing::HasSubstr("the plan has no variant 'moon'; it has close, wan"));
}

TEST(Compile, VariantsWithBadNamesAreRefused) {
  const Graph g = Before();
  auto refused = [&](std::vector<Variant> variants) {
    CompileOptions o = SmallOptions();
    o.variants = std::move(variants);
    return Refusal([&] { Compile(g, RandomWeights(g, 1), SmallTexts(2, 10, 16), o); }, Cause::kInput);
  };
  for (const char* name : {"", "Wan", "a b", "rtt=5", "abcdefghijklmnopqrstuvwxy"})
    EXPECT_THAT(refused({{name, ""}}), testing::HasSubstr("is no name of a variant; take 1 to 24 lower-case letters"));
  EXPECT_THAT(refused({{"a", ""}, {"a", "wan"}}), testing::HasSubstr("two variants are called a"));
  EXPECT_THAT(refused({}), testing::HasSubstr("0 variants were requested; a plan has 1 to 8"));
  EXPECT_THAT(refused({{"a", "moon"}}), testing::HasSubstr("'moon' is no profile"));
}

// Records the reports of progress by stage, and the order of the stages.
struct Reports {
  std::vector<std::string> stages;
  std::map<std::string, std::vector<double>> done;
  auto Recorder() {
    return [this](const std::string& stage, double part) {
      if (stages.empty() || stages.back() != stage) stages.push_back(stage);
      done[stage].push_back(part);
    };
  }
};

// Every node of every class is a step.
TEST(Compile, ReportsProgressOfAllClasses) {
  Reports reports;
  CompileOptions o = SmallOptions();
  o.progress = reports.Recorder();
  const Small s(After(), 1, o);
  EXPECT_THAT(reports.stages, testing::ElementsAre("calibrate", "certify", "simulate"));
  ASSERT_EQ(s.plan.classes.size(), 2u);
  EXPECT_EQ(reports.done["certify"].size(), 2 * s.plan.graph.size());
  for (const auto& [stage, done] : reports.done) {
    EXPECT_GT(done.front(), 0) << stage;
    EXPECT_EQ(std::adjacent_find(done.begin(), done.end(), std::greater_equal<>()), done.end()) << stage;
    EXPECT_EQ(done.back(), 1) << stage;
  }
}

// A variant's classes are searched before the next variant is made. No stage falls back.
TEST(Compile, ReportsProgressOfAllVariants) {
  Reports reports;
  CompileOptions o = SmallOptions();
  o.variants = {{"close", "cpu,keys=now"}, {"plain", ""}, {"wan", "wan"}};
  o.progress = reports.Recorder();
  const Graph g = Before();
  const Plan plan = Compile(g, RandomWeights(g, 1), SmallTexts(2, 10, 16), o);
  EXPECT_THAT(reports.stages, testing::ElementsAre("calibrate", "certify", "search", "certify", "search", "simulate"));
  EXPECT_EQ(reports.done["certify"].size(), plan.classes.size() * plan.graph.size());
  EXPECT_EQ(reports.done["search"], (std::vector<double>{0, 0.25, 0.5, 0.5, 0.75, 1}));
  for (const auto& [stage, done] : reports.done) {
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end())) << stage;
    EXPECT_EQ(done.back(), 1) << stage;
  }
}

TEST(CheckWeights, ReportsProgressOfAllClasses) {
  const Small s(After());
  std::vector<double> done;
  CheckWeights(s.plan, s.q, exec::Default(), [&](double part) { done.push_back(part); });
  EXPECT_EQ(done.size(), s.plan.classes.size() * s.plan.graph.size());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 1);
}

// Longer texts lose ids before the last one.
TEST(Compile, CutsLongTexts) {
  const Graph g = Before();
  const Checkpoint w = RandomWeights(g, 1);
  CompileOptions o = SmallOptions();
  o.max_tokens = 6;
  const std::vector<std::vector<int32_t>> whole{{0, 1, 2, 3, 4, 5, 6, 7}, {3, 2, 1}},
      cut{{0, 1, 2, 3, 4, 7}, {3, 2, 1}};
  EXPECT_EQ(Serialize(Compile(g, w, whole, o)), Serialize(Compile(g, w, cut, o)));
}

TEST(Compile, ClassesDoubleUpToTheLimit) {
  const Graph g = Before();
  const Checkpoint w = RandomWeights(g, 1);
  const auto classes = [&](int least, int most) {
    CompileOptions o;
    o.min_tokens = least;
    o.max_tokens = most;
    const std::vector<std::vector<int32_t>> texts(2, std::vector<int32_t>(size_t(least), 1));
    const Plan p = Compile(g, w, texts, o);
    EXPECT_EQ(p.min_tokens, least);
    EXPECT_EQ(p.max_tokens, most);
    std::vector<int> sizes;
    for (const Class& c : p.classes) sizes.push_back(c.max_n);
    return sizes;
  };
  EXPECT_THAT(classes(1, 1), testing::ElementsAre(1));
  EXPECT_THAT(classes(1, 8), testing::ElementsAre(8));
  EXPECT_THAT(classes(1, 9), testing::ElementsAre(8, 9));
  EXPECT_THAT(classes(3, 40), testing::ElementsAre(8, 16, 32, 40));
}

// The sum of a text's rows is as short as the least length makes it. Fine tables reach further down for shorter texts.
TEST(Compile, LeastLengthsReachTheFloorOfASum) {
  const Graph g = After();
  const Checkpoint w = RandomWeights(g, 1);
  const auto floor = [&](int least, int n) {
    CompileOptions o = SmallOptions();
    o.min_tokens = least;
    return Of<Norm>(Compile(g, w, SmallTexts(2, 40, 16), o), n, "unit").floor;
  };
  const int of_three = floor(3, 8), of_one = floor(1, 8);
  EXPECT_GE(of_three - of_one, 3);  // 2 log2(3) bits
  EXPECT_LE(of_three - of_one, 4);
  EXPECT_GE(floor(3, 16) - of_three, 3);  // 2 log2(9 / 3)
  EXPECT_EQ(floor(1, 16), floor(3, 16));
}

TEST(Compile, ShortTextsSkipAnOptionalRescale) {
  for (int merge : {0, 8, 16}) {
    CompileOptions o = SmallOptions();
    o.policy.merge = merge;
    const Plan p = Small(After(), 1, o).plan;
    for (int n : {8, 16}) EXPECT_EQ(Of<Rescale>(p, n, "o").shift == 0, n <= merge);
    EXPECT_GT(Of<Rescale>(Small(Before(), 1, o).plan, 8, "o").shift, 0);  // no norm behind it: never left out
  }
}

// Returns weights for the graph Before, with the output maps of its branches times f.
Checkpoint Loud(const Graph& g, float f) {
  Checkpoint w = RandomWeights(g, 1);
  for (const char* name : {"o", "w2"}) {
    Checkpoint::CheckpointTensor t = w.Get(name);
    for (float& x : t.values) x *= f;
    w.Set(name, t);
  }
  return w;
}

TEST(Compile, AStreamThatNoHardBoundHoldsIsClamped) {
  const Graph g = Before();
  const auto texts = SmallTexts(2, 20, 16);
  const Plan quiet = Compile(g, Loud(g, 1), texts, SmallOptions()),
             loud = Compile(g, Loud(g, 1e6f), texts, SmallOptions());
  const auto widest = [](const Plan& p) {
    int bits = 0;
    for (auto& op : p.For(8).ops)
      if (auto* r = dynamic_cast<Rescale*>(op.get())) bits = std::max(bits, r->window);
    return bits;
  };
  EXPECT_EQ(widest(quiet), 0);
  EXPECT_GT(widest(loud), 30);
  CheckWeights(loud, Quantise(Loud(g, 1e6f), loud));
  EXPECT_THAT(Refusal([&] { Compile(g, Loud(g, 2e10f), texts, SmallOptions()); }),
              testing::MatchesRegex("wire 8/0/.* needs a ring of .. bits, the limit is 64; .*"));
}

struct Changed {
  Graph graph = After();
  Checkpoint weights = RandomWeights(graph, 1);
  CompileOptions options = SmallOptions();
  std::vector<std::vector<int32_t>> texts = SmallTexts(2, 10, 16);
  void Scale(const std::string& name, float f) {
    Checkpoint::CheckpointTensor t = weights.Get(name);
    for (float& x : t.values) x *= f;
    weights.Set(name, t);
  }
};
std::string Refused(const std::function<void(Changed&)>& change, Cause code = Cause::kRefused) {
  Changed c;
  change(c);
  return Refusal([&] { Compile(c.graph, c.weights, c.texts, c.options); }, code);
}

TEST(Compile, RefusesTextsBeyondTheLimits) {
  EXPECT_EQ(Refused([](Changed& c) { c.texts.clear(); }, Cause::kInput),
            "there is no calibration text; give at least one line");
  // more tokens than positions: with or without a calibration text of that length
  EXPECT_THAT(Refused([](Changed& c) { c.options.max_tokens = int(kPositions) + 1; }, Cause::kInput),
              testing::HasSubstr("positions; lower the limit"));
  EXPECT_THAT(Refused(
                  [](Changed& c) {
                    c.options.max_tokens = int(kPositions) + 2;
                    c.texts.push_back(std::vector<int32_t>(size_t(kPositions) + 2, 1));
                  },
                  Cause::kInput),
              testing::HasSubstr("positions; lower the limit"));
  EXPECT_EQ(Refused([](Changed& c) { c.options.max_tokens = 2; }, Cause::kInput),
            "a limit of 2 tokens is below the least length of 3; raise it");
  EXPECT_EQ(Refused([](Changed& c) { c.options.min_tokens = 0; }, Cause::kInput),
            "a limit of 16 tokens is below the least length of 0; raise it");
  EXPECT_THAT(Refused([](Changed& c) { c.texts[3][1] = int32_t(kWords); }, Cause::kInput),
              testing::HasSubstr("token 2 has the id 8, and the vocabulary has the ids 0 to 7"));
}

// The ring of a lookup never grows, so its scale is lowered until the wire fits. All classes and variants have one
// scale for its table. A plan without such a scale does not mention it.
TEST(Compile, LowersAScaleForAFixedRing) {
  const auto noted = [](const Class& c) {
    for (const Chosen& x : c.choices)
      if (x.what == Str("z_embed", kScaleChoice)) return x.choice;
    return std::string();
  };
  for (bool long_rows : {false, true}) {
    Changed c;
    c.options.policy.embedding = long_rows ? 12 : 20;
    c.options.variants = {{"one", ""}, {"two", "lan"}};
    if (long_rows) {  // only positions of the second class are large
      Checkpoint::CheckpointTensor t = c.weights.Get("positions");
      for (size_t i = size_t(12 * kWidth); i < t.values.size(); ++i) t.values[i] *= 100;
      c.weights.Set("positions", t);
    }
    const Plan p = Compile(c.graph, c.weights, c.texts, c.options);
    const int scale = Of<Lookup>(p, 8, "z_embed").scale;
    EXPECT_LT(scale, c.options.policy.embedding);
    EXPECT_GE(scale, long_rows ? 8 : 13);
    for (const Class& k : p.classes) {
      EXPECT_EQ(k.ops[0]->scale, scale);
      EXPECT_EQ(k.ops[0]->ring, Lookup::kRingBits);
      EXPECT_EQ(noted(k), Str("2^", scale));
    }
    CheckWeights(p, Quantise(c.weights, p));
    EXPECT_EQ(Serialize(Parse(Serialize(p))), Serialize(p));
    // the same plan at that scale from the start, but for the note
    c.options.policy.embedding = scale;
    Plan same = Compile(c.graph, c.weights, c.texts, c.options);
    for (Class& k : same.classes) EXPECT_EQ(noted(k), "");
    for (size_t i = 0; i < same.classes.size(); ++i)
      same.classes[i].choices.insert(same.classes[i].choices.begin(), p.classes[i].choices[0]);
    EXPECT_EQ(Serialize(same), Serialize(p));
  }
}

TEST(Compile, RefusesScalesThatDoNotFit) {
  EXPECT_THAT(Refused([](Changed& c) { c.Scale("table", 1e5f); }),
              testing::MatchesRegex("wire 8/embed/z_embed needs a ring of .. bits, the limit is 16; lower the scale of "
                                    "what it is made of, or set clamp=1 .*"));
  EXPECT_EQ(
      Refused([](Changed& c) { c.options.policy.Set("weight.attended", 4); }),
      "wire 8/0/proj/z_proj: the scale 2^18 is below 2^20, that of gamma times an activation; raise `weight.attended`");
  EXPECT_EQ(Refused([](Changed& c) { c.options.policy.Set("result.value", 24); }),
            "wire 8/0/attention/v: the scale 2^24 is not above 2^24, to which it is rescaled; lower `result.value`");
  EXPECT_EQ(Refused([](Changed& c) {
              c.graph = Before();
              c.weights = RandomWeights(c.graph, 1);
              c.options.policy.Set("result.logits", 24);
            }),
            "wire 8/head/logits: the scale 2^24 of the result is not above 2^24; lower `result.logits`");
  EXPECT_THAT(Refused([](Changed& c) { c.graph.node(1).As<Norm>()->key = "colour"; }),
              testing::HasSubstr("there is no scale `norm.colour`; set it"));
}

TEST(Compile, RefusesTablesBeyondTheLimits) {
  EXPECT_THAT(Refused([](Changed& c) { c.options.policy.piece = 1; }),
              testing::MatchesRegex(
                  "wire 8/0/inner/gelu: the gelu needs 2.1. pieces, the limits are 2.2 and 2.10; change `piece`"));
  EXPECT_THAT(Refused([](Changed& c) {
                c.Scale("q", 100);
                c.options.policy.slice = 8;
              }),
              testing::MatchesRegex("wire 8/0/attention/e: the scores of the calibration span [0-9.e+]+ and need a low "
                                    "table of 2.1. entries, the "
                                    "limit is 2.10; lower `slice`"));
  EXPECT_THAT(Refused([](Changed& c) { c.Scale("q", 1e5f); }),
              testing::MatchesRegex("wire 8/0/attention/e: the scores of the calibration span [0-9.e+]+ and need a low "
                                    "table of 2.[1-9]. entries, the limit is 2.10; check the weights of queries and "
                                    "keys"));
  EXPECT_THAT(Refused([](Changed& c) {
                c.options.policy.norm["layer"] = 2;
                c.Scale("table", 1e-6f);
                c.Scale("positions", 1e-6f);
                c.options.policy.norm["embedding"] = 2;
              }),
              testing::HasSubstr("leaves no precision; raise `norm."));
}

// Values that are all zeros are a model's own business; a row of zeros has no norm.
TEST(Compile, TakesWeightsOfZeros) {
  Changed c;
  c.Scale("v", 0);
  const Plan p = Compile(c.graph, c.weights, c.texts, c.options);
  EXPECT_NO_THROW(CheckWeights(p, Quantise(c.weights, p)));
  EXPECT_THAT(
      Refused([](Changed& d) {
        d.Scale("table", 0);
        d.Scale("positions", 0);
      }),
      testing::HasSubstr("every calibrated row is all zeros and has no direction; check the weights before it"));
}

// Inputs of the activation reach over a hundred. Pieces are around zero alone, and the search chooses their stages.
TEST(Compile, ActivationsOfWideInputsHaveSides) {
  Changed c;
  c.Scale("w1", 40);
  for (const char* profile : {"", "lan"}) {
    c.options.variants = {{"one", profile}};
    const Plan p = Compile(c.graph, c.weights, c.texts, c.options);
    const Activation& a = Of<Activation>(p, 16, "gelu");
    EXPECT_TRUE(a.sided());
    EXPECT_EQ(a.pieces(), 6);
    EXPECT_GT(a.window() - a.shift - a.lines.a, 10);
    EXPECT_EQ(Serialize(Parse(Serialize(p))), Serialize(p));
    CheckWeights(p, Quantise(c.weights, p));
  }
  c.Scale("w1", 1 / 40.0f);
  EXPECT_FALSE(Of<Activation>(Compile(c.graph, c.weights, c.texts, c.options), 16, "gelu").sided());
}

TEST(Compile, RefusesWeightsThatNoRingHolds) {
  EXPECT_EQ(Refused([](Changed& c) {
              Checkpoint::CheckpointTensor t = c.weights.Get("w1.bias");
              t.values[3] = 1e12f;
              c.weights.Set("w1.bias", t);
            }).find("(no refusal)"),
            std::string::npos);
  EXPECT_THAT(Refused([](Changed& c) {
                c.Scale("w2", 2e9f);
                c.options.policy.Set("weight.linear", 16);
              }),
              testing::HasSubstr("lower the"));
}

TEST(Compile, RefusesWeightsOfAnotherModel) {
  EXPECT_THAT(Refused(
                  [](Changed& c) {
                    Checkpoint other;
                    for (auto& [name, t] : c.weights.tensors())
                      if (name != "w1") other.Set(name, t);
                    c.weights = other;
                  },
                  Cause::kInput),
              testing::HasSubstr("the model has no tensor w1"));
  EXPECT_THAT(Refused(
                  [](Changed& c) {
                    c.weights.Set("w1", {{kHidden, kWidth}, c.weights.Get("w1").values});
                  },
                  Cause::kInput),
              testing::HasSubstr("the model's tensor w1 has another shape"));
}

// Rings are checked, whatever the certificates say.
TEST(CheckWeights, LooksAtTheRingsOfEveryClass) {
  const Small m(After());
  for (size_t i = 0; i < m.plan.classes.size(); ++i) {
    Plan plan = m.plan;
    for (Class& c : plan.classes)
      for (auto& node : c.certificates)
        for (Certificate& x : node) x.bits = 64;
    EXPECT_NO_THROW(CheckWeights(plan, m.q));
    Of<LinearMap>(plan, plan.classes[i].max_n, "z_v").ring -= 2;
    EXPECT_THAT(Refusal([&] { CheckWeights(plan, m.q); }),
                testing::StartsWith(Str("wire ", plan.classes[i].max_n, "/0/attention/z_v can")));
  }
}

// Only the second class reads the later positions.
TEST(CheckWeights, LooksAtTheRowsThatAClassReads) {
  Small m(After());
  Checkpoint::CheckpointTensor t = m.weights.Get("positions");
  for (size_t i = size_t(12 * kWidth); i < t.values.size(); ++i) t.values[i] *= 32;
  m.weights.Set("positions", t);
  EXPECT_THAT(Refusal([&] { CheckWeights(m.plan, Quantise(m.weights, m.plan)); }),
              testing::StartsWith("wire 16/embed/z_embed can reach 2^"));
}

}  // namespace
}  // namespace suf::nn
