// Batches: several texts of one length in one trace. Each text has the words that it has alone, in one tile and in two.
// The tests take every backend and every form of plan. A batch has the flights of one text, and key and bytes of all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/model/rig_test.hpp"
#include "suf/nn/graph/small_test.hpp"

namespace suf::model {
namespace {

constexpr int kCounts[] = {1, 2, 3, 8};
// The tokens of the longest text in tiles.
constexpr int kTileLimit = 40;
// The trace of a batch in one tile has at most this many times the nodes of one text.
constexpr double kNodeGrowth = 1.25;

// Facts of a trace: nodes, flights, turns, and bits of both parties together.
struct BatchFacts {
  size_t nodes;
  int flights, ticks;
  int64_t key, sent, ahead;
};
BatchFacts FactsOf(const nn::Plan& plan, int n, int texts) {
  pfss::Trace t;
  nn::Build(t, plan, n, 0, texts);
  const pfss::Schedule s(t);
  const pfss::Cost::Row all = pfss::CostOf(s).total;
  return {
      t.nodes().size(), s.flights(), s.frames().back().tick + 1, all.key[0] + all.key[1], all.online[0] + all.online[1],
      all.offline};
}

std::vector<Text> SameLength(int count, int n, int64_t vocabulary) {
  return Texts(uint64_t(count + n), count, n, n, vocabulary);
}

std::vector<std::unique_ptr<pfss::Backend>> BatchBackends(exec::Pool& pool) {
  std::vector<std::unique_ptr<pfss::Backend>> out = backends::Every(pool);
  out.push_back(backends::Make("packed/portable", pool));
  return out;
}

// Expects the specification's words and one text's flights of batches of the counts. The backends take turns, from
// number `turn` on.
void ExpectBatches(const nn::Plan& plan, const nn::QuantisedWeights& q, int n, std::span<const int> counts = kCounts,
                   size_t turn = 0) {
  exec::Pool pool(2);
  const auto every = BatchBackends(pool);
  const nn::PlanSimulator simulator(plan, q);
  const std::vector<Text> texts = SameLength(8, n, plan.vocabulary());
  const BatchFacts one = FactsOf(plan, n, 1);
  const bool tiled = nn::TilesOf(plan.For(n), n, 2) == 2;
  for (int count : counts) {
    SCOPED_TRACE(Str(count, " texts of ", n, " tokens"));
    const std::span<const Text> batch(texts.data(), size_t(count));
    pfss::Backend& backend = *every[turn++ % every.size()];
    SCOPED_TRACE(backend.name());
    const Outcome got = RunBatch(plan, q, batch, backend, uint8_t(turn));
    EXPECT_EQ(got.y, simulator.RunBatch(batch).y);
    EXPECT_EQ(got.flights, one.flights);
    const BatchFacts of = FactsOf(plan, n, count);
    EXPECT_EQ(of.key, count * one.key);
    EXPECT_EQ(of.sent, count * one.sent);
    EXPECT_EQ(of.ahead, count * one.ahead);
    if (count == 1 || tiled) continue;
    EXPECT_EQ(of.ticks, one.ticks);
    EXPECT_LT(double(of.nodes), kNodeGrowth * double(one.nodes));
  }
}

TEST(Batch, EveryCountOnEveryBackend) {
  for (const char* preset : {"tiny", "tiny-cls", "tiny-llama"}) {
    SCOPED_TRACE(preset);
    const Compiled c =
        CompileFor(RandomModel(preset, 3, Replaced(FindPreset(preset).config, "num_hidden_layers", "2", "1")), 8);
    for (size_t turn = 0; turn < 4; ++turn) ExpectBatches(c.plan, c.q, 4, kCounts, turn);
  }
}

// Options that change a layer's segments, alone and all together as for a far network.
TEST(Batch, EveryFamilyAndForm) {
  size_t turn = 0;
  for (const char* preset : {"tiny", "tiny-cls", "tiny-gpt2", "tiny-llama", "tiny-qwen3"}) {
    SCOPED_TRACE(preset);
    const Compiled plain = CompileFor(RandomModel(preset, 3), 12);
    ExpectBatches(plain.plan, plain.q, 6);
    for (const char* form : {"square", "clamp", "merge", "scores", "softmax"}) {
      SCOPED_TRACE(form);
      nn::Options policy;
      policy.Set(form, form == std::string("merge") ? 12 : 1);
      LoadedModel model = RandomModel(preset, 4);
      if (form == std::string("softmax")) {
        policy.Set("scores", 1);
        model = Shifted(std::move(model), true);
      }
      const Compiled c = CompileFor(std::move(model), 8, policy);
      ExpectBatches(c.plan, c.q, 4, std::array{2, 3}, turn++);
    }
    const LoadedModel model = Shifted(RandomModel(preset, 5), false);
    const nn::Plan far = FarPlan(model, 8);
    ExpectBatches(far, nn::Quantise(model.weights, far), 3, std::array{3, 2}, turn);
  }
}

// A text of the least length, and of one token.
TEST(Batch, ShortTexts) {
  const Compiled encoder = CompileFor(RandomModel("tiny", 6), 8), decoder = CompileFor(RandomModel("tiny-llama", 6), 8);
  ExpectBatches(encoder.plan, encoder.q, 3);
  ExpectBatches(decoder.plan, decoder.q, 1);
}

TEST(Batch, EveryPool) {
  const Compiled c = CompileFor(RandomModel("tiny", 5), 8);
  for (nn::PoolRows::Kind kind : {nn::PoolRows::kFirst, nn::PoolRows::kLast}) {
    ExpectBatches(WithPool(c.plan, kind), c.q, 5);
  }
}

// Every choice that the search has, one at a time, in plans for near and far networks.
TEST(Batch, EveryChoiceOfEveryOperator) {
  const int two[] = {2};
  for (const char* preset : {"tiny", "tiny-llama"})
    for (bool shifted : {false, true}) {
      nn::Options policy;
      policy.Set("softmax", shifted);
      LoadedModel model = RandomModel(preset, 8, Replaced(FindPreset(preset).config, "num_hidden_layers", "2", "1"));
      if (shifted) model = Shifted(std::move(model), true);
      const Compiled c = CompileFor(std::move(model), 8, policy);
      int tried = 0;
      for (size_t node = 0; node < c.plan.graph.size(); ++node) {
        nn::Plan plan = c.plan;
        auto op = [&]() -> nn::Operator& { return *plan.classes[0].ops[node]; };
        for (size_t k = 0; k < op().Knobs().size(); ++k)
          for (size_t option = 0; option < op().Knobs()[k].options.size(); ++option) {
            const size_t own = op().Knobs()[k].at;
            if (option == own) continue;
            op().Knobs()[k].set(option);
            nn::Derive(plan.graph, plan.classes[0].ops);
            SCOPED_TRACE(Str(preset, ", ", nn::Graph::Where(plan.graph.node(node)), ", ", option));
            bool builds = true;
            try {
              (void)FactsOf(plan, 3, 1);
            } catch (const Error& e) {  // more digits than one stage has
              EXPECT_NE(std::string(e.what()).find("digits"), std::string::npos) << e.what();
              builds = false;
            }
            if (builds) ExpectBatches(plan, c.q, 3, two);
            tried += builds;
            op().Knobs()[k].set(own);
            nn::Derive(plan.graph, plan.classes[0].ops);
          }
      }
      EXPECT_GT(tried, 15) << preset << shifted;
    }
}

// Small graphs of nn: relative positions, one head of keys and values for two of queries, and norms of heads.
TEST(Batch, SmallGraphs) {
  for (const nn::Graph& g : {nn::After(true), nn::Before(), nn::HeadNorms()}) {
    const nn::Small m(g);
    ExpectBatches(m.plan, m.q, 6);
  }
}

// A small graph with a result for each token.
nn::Graph OfEveryToken() {
  nn::Graph g;
  nn::GraphNode* x = nn::NormOf(g, nn::Embedding(g, true), "n0", true);
  g.Scope("head");
  g.Add(nn::RevealResult{}, {nn::FullMap(g, x, "head", nn::kWidth, nn::kWords, true, "head", "z_head")}, "logits");
  g.Number();
  return g;
}

// A result for each token: text by text, (texts n, d).
TEST(Batch, AResultOfEveryToken) {
  const nn::Small m(OfEveryToken());
  ExpectBatches(m.plan, m.q, 5);
  exec::Pool pool(1);
  const auto backend = backends::Make("packed", pool);
  const std::vector<Text> texts = SameLength(3, 5, nn::kWords);
  EXPECT_EQ(RunBatch(m.plan, m.q, texts, *backend, 1).y.size(), size_t(3 * 5 * nn::kWords));
}

// The words of the protocol on each text alone, under other masks.
TEST(Batch, EachTextHasItsWordsAlone) {
  const Compiled c = CompileFor(RandomModel("tiny-gpt2", 7), 12);
  exec::Pool pool(2);
  const auto backend = backends::Make("packed", pool);
  const std::vector<Text> texts = SameLength(3, 9, 128);
  const nn::Ints all = RunBatch(c.plan, c.q, texts, *backend, 1).y;
  const size_t d = all.size() / 3;
  for (size_t k = 0; k < 3; ++k)
    EXPECT_EQ(nn::Ints(all.begin() + int64_t(k * d), all.begin() + int64_t((k + 1) * d)),
              RunProtocol(c.plan, c.q, texts[k], *backend, uint8_t(2 + k)).y);
}

// The row of a text whose vectors sum to zero is zero. Only that text leaves its window, and no other row changes.
TEST(Batch, AZeroNormConcernsItsTextAlone) {
  nn::Graph g;
  g.Scope("embed");
  nn::Lookup l;
  l.table = g.Tensor("table", {nn::kWords, nn::kWidth}, nn::Leaf::kTable);
  nn::GraphNode* x = g.Add(std::move(l), {}, "z_embed");
  g.Scope("pool");
  nn::Norm unit;
  unit.dim = nn::kWidth;
  unit.unit = unit.by_length = true;
  unit.key = "unit";
  g.Add(std::move(unit), {g.Add(nn::PoolRows{}, {x}, "pooled")}, "unit");
  g.Number();
  nn::Checkpoint weights = nn::RandomWeights(g, 1);
  nn::Checkpoint::CheckpointTensor table = weights.Get("table");
  for (int64_t j = 0; j < nn::kWidth; ++j) table.values[size_t(nn::kWidth + j)] = -table.values[size_t(j)];
  weights.Set("table", table);  // ids 0 and 1 cancel
  const nn::Plan plan = nn::Compile(g, weights, nn::SmallTexts(1, 40, 8), nn::SmallOptions());
  const nn::QuantisedWeights q = nn::Quantise(weights, plan);
  const Text zero{0, 1, 1, 0}, other{2, 5, 3, 7};
  exec::Pool pool(1);
  const auto every = BatchBackends(pool);
  const nn::Ints want = nn::PlanSimulator(plan, q).Run(other).y, none(want.size(), 0);
  uint8_t serial = 0;
  for (const auto& backend : every)
    for (const std::vector<Text>& texts :
         {std::vector{zero, other}, {other, zero, other}, {zero, zero, zero}, {other, other, zero}}) {
      const nn::Ints y = RunBatch(plan, q, texts, *backend, ++serial).y;
      const nn::Simulation s = nn::PlanSimulator(plan, q).RunBatch(texts);
      EXPECT_EQ(y, s.y);
      size_t zeros = 0;
      for (size_t k = 0; k < texts.size(); ++k) {
        zeros += texts[k] == zero;
        const auto row = y.begin() + int64_t(k * want.size());
        EXPECT_EQ(nn::Ints(row, row + int64_t(want.size())), texts[k] == zero ? none : want);
      }
      EXPECT_EQ(s.outside.size(), zeros);
    }
}

nn::Plan BatchTiles(nn::Plan plan) {
  for (nn::Class& c : plan.classes) {
    c.batch_tiles = 2;
    if (c.max_n >= nn::kTiledTokens && nn::MayTile(plan.graph, c)) c.tiles = 2;
  }
  nn::Check(plan);
  return plan;
}

// Halves of the texts are a tick apart, also those of causal models and of short texts. No attention makes them wait.
// The trace of one text stays the same.
TEST(Batch, TwoTilesAreHalvesOfTheTexts) {
  size_t turn = 0;
  for (const char* preset : {"tiny", "tiny-gpt2", "tiny-llama", "tiny-qwen3"})
    for (bool shifted : {false, true}) {
      SCOPED_TRACE(preset);
      nn::Options policy;
      policy.Set("softmax", shifted);
      LoadedModel model = RandomModel(preset, 3);
      if (shifted) model = Shifted(std::move(model), true);
      const Compiled c = CompileFor(std::move(model), 12, policy);
      const nn::Plan plan = BatchTiles(c.plan);
      ExpectBatches(plan, c.q, 7, std::array{2, 3, 8}, turn++);
      const BatchFacts one = FactsOf(c.plan, 7, 1);
      for (int texts : {2, 3, 8}) {
        const BatchFacts of = FactsOf(plan, 7, texts);
        EXPECT_EQ(of.ticks, one.ticks + 1);
        EXPECT_LT(double(of.nodes), 2 * kNodeGrowth * double(one.nodes));
      }
      nn::Plan halves = c.plan;
      for (nn::Class& one_class : halves.classes) one_class.batch_tiles = 2;
      pfss::Trace before, after;
      nn::Build(before, c.plan, 7);
      nn::Build(after, halves, 7);
      EXPECT_EQ(before.digest(), after.digest());
    }
}

// Tiles of one row a text, and of one text with a result of every token.
TEST(Batch, TilesOfShortTexts) {
  const Compiled c = CompileFor(RandomModel("tiny-gpt2", 3), 8);
  ExpectBatches(BatchTiles(c.plan), c.q, 1);
  const nn::Small m(OfEveryToken());
  ExpectBatches(BatchTiles(m.plan), m.q, 5);
}

// A plan has two tiles for batches if they are cheaper for two texts, whatever it has for one text.
TEST(Batch, TilesAreChosenByCost) {
  for (const char* preset : {"tiny", "tiny-gpt2"}) {
    const Compiled c = CompileFor(RandomModel(preset, 3), 8);
    const auto chosen = [&](const char* profile, int policy) {
      nn::Plan plan = c.plan;
      nn::Options options;
      options.Set("tiles", policy);
      nn::ChooseTiles(&plan, 0, compiler::ParseProfile(profile).prices, options);
      const nn::Class& one = plan.classes[0];
      EXPECT_EQ(one.choices.size(), policy == nn::Options::kTilesByCost);
      for (const nn::Chosen& choice : one.choices) {
        EXPECT_EQ(choice.what, "tiles of a batch");
        EXPECT_EQ(choice.choice, Str(one.batch_tiles));
        EXPECT_EQ(choice.runner_up, Str(3 - one.batch_tiles));
      }
      EXPECT_EQ(one.tiles, 1);
      return one.batch_tiles;
    };
    EXPECT_EQ(chosen("rtt=0,rate=1M,duplex=1", nn::Options::kTilesByCost), 2);
    EXPECT_EQ(chosen("rtt=0,rate=1M,duplex=1", 1), 1);
    EXPECT_EQ(chosen("rtt=0,rate=1M,duplex=0", nn::Options::kTilesByCost), 1);
    EXPECT_EQ(chosen("gpu,rtt=0,rate=1M,duplex=1", nn::Options::kTilesByCost), 1);
    nn::Options two;
    two.Set("tiles", 2);
    EXPECT_EQ(CompileFor(RandomModel("tiny", 3), 8, two).plan.classes[0].batch_tiles, 2);
  }
}

TEST(Batch, TilesInThePlan) {
  const Compiled c = CompileFor(RandomModel("tiny-gpt2", 3), 8);
  const std::string one = nn::Serialize(c.plan), two = nn::Serialize(BatchTiles(c.plan));
  EXPECT_EQ(one.find("batch_tiles"), one.npos);
  const nn::Plan back = nn::Parse(two);
  EXPECT_EQ(back.classes[0].batch_tiles, 2);
  EXPECT_EQ(nn::TilesOf(back.classes[0], 8), 1);
  EXPECT_EQ(nn::TilesOf(back.classes[0], 8, 2), 2);
  EXPECT_EQ(nn::Serialize(back), two);
  const std::string field = "\"batch_tiles\":2";
  std::string three = two;
  three.replace(three.find(field), field.size(), "\"batch_tiles\":3");
  EXPECT_THAT(nn::Refusal([&] { nn::Parse(three); }), testing::HasSubstr("batch_tiles is 3, outside 1 to 2"));
}

// In every tick a party's frame has one tile's words. The first tile has 7 of 13 texts, and no other number of elements
// is a multiple of 7.
TEST(Batch, NoPartyHasBothTilesAtOnce) {
  constexpr int kTexts = 13, kFirst = 7;
  for (const char* preset : {"tiny", "tiny-gpt2"}) {
    const Compiled c = CompileFor(RandomModel(preset, 3), kTileLimit);
    pfss::Trace t;
    nn::Build(t, BatchTiles(c.plan), 17, 0, kTexts);
    const pfss::Schedule s(t);
    for (const pfss::Frame& f : s.frames()) {
      if (f.tick < 0 || &f == &s.frames().back()) continue;  // the result is one wire
      std::set<bool> first;
      for (const pfss::FrameField& part : f.parts) first.insert(pfss::Size(t.node(part.node).shape) % kFirst == 0);
      EXPECT_EQ(first.size(), 1u) << "P" << f.sender << " at tick " << f.tick;
    }
  }
}

// An operator of a program's own that takes one text alone. Its plans run no batches.
struct OneText : nn::OperatorBase<OneText> {
  static constexpr const char* kName = "one_text_test";
  nn::RealArray Float(const nn::RealCall&, std::span<const nn::RealArray* const> x) const override { return *x[0]; }
  nn::RowBound Bound(const nn::Facts&, const nn::Edges& in, std::vector<nn::Width>*) override { return in[0].reach; }
  bool Transparent() const override { return true; }
  nn::IntArray Spec(const nn::IntCall&, std::span<const nn::IntArray* const> x) const override { return *x[0]; }
  nn::AnyWire Build(const nn::Emission&, std::span<const nn::AnyWire> x) const override { return x[0]; }
};

TEST(Batch, Refusals) {
  const Compiled c = CompileFor(RandomModel("tiny", 1), 8);
  EXPECT_EQ(nn::MostTexts(c.plan), 64);
  for (int texts : {-1, 0, 65}) {
    pfss::Trace t;
    ExpectSentence([&] { nn::Build(t, c.plan, 5, 0, texts); }, Str("a batch of ", texts, " texts is outside 1 to 64"));
  }
  const nn::PlanSimulator simulator(c.plan, c.q);
  ExpectSentence([&] { (void)simulator.RunBatch({}); }, "a batch of 0 texts is outside 1 to 64");
  ExpectSentence(
      [&] {
        (void)simulator.RunBatch(std::vector<Text>(65, Text{1, 2, 3}));
      },
      "a batch of 65 texts is outside 1 to 64");
  ExpectSentence(
      [&] {
        (void)simulator.RunBatch(std::vector<Text>{{1, 2, 3}, {1, 2, 3}, {1, 2, 3, 4}});
      },
      "text 3 of the batch has 4 tokens and text 1 has 3");
  ExpectSentence([&] { (void)simulator.RunBatch(std::vector<Text>{{1, 2, 3}, {1, 2, 128}}); }, "has the id 128");

  nn::Register<OneText>();
  nn::Graph g;
  nn::GraphNode* x = g.Add(OneText{}, {nn::NormOf(g, nn::Embedding(g, true), "n0", true)}, "own");
  g.Add(nn::RevealResult{}, {nn::FullMap(g, x, "head", nn::kWidth, nn::kWords, true, "head", "z_head")}, "logits");
  g.Number();
  const nn::Small own(g);
  EXPECT_EQ(nn::MostTexts(own.plan), 1);
  pfss::Trace alone, two;
  EXPECT_NO_THROW(nn::Build(alone, own.plan, 5));
  ExpectSentence([&] { nn::Build(two, own.plan, 5, 0, 2); },
                 "a batch has 2 texts, and the operator one_text_test at nodes[3] (embed/own) takes 1",
                 Cause::kRefused);
}

// The largest batch.
TEST(Batch, SixtyFourTexts) {
  const Compiled c = CompileFor(RandomModel("tiny", 2), 8);
  exec::Pool pool(2);
  const auto backend = backends::Make("packed", pool);
  const std::vector<Text> texts = SameLength(64, 3, 128);
  EXPECT_EQ(RunBatch(c.plan, c.q, texts, *backend, 1).y, nn::PlanSimulator(c.plan, c.q).RunBatch(texts).y);
  EXPECT_EQ(FactsOf(c.plan, 3, 64).key, 64 * FactsOf(c.plan, 3, 1).key);
}

}  // namespace
}  // namespace suf::model
