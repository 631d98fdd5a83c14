// Families against plain forwards, before folding and after every pass, and the graphs that each pass leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/model/plain_test.hpp"
#include "suf/model/rig_test.hpp"
#include "suf/nn/plan/fold.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::model {
namespace {

using nn::Graph;
using nn::GraphNode;

struct Statement {
  const char* preset;
  Row (*plain)(const nn::Checkpoint&, std::span<const int32_t>);
};
constexpr Statement kStatements[] = {{"tiny", PlainBert},
                                     {"tiny-cls", PlainBertFirst},
                                     {"tiny-reranker", PlainReranker},
                                     {"tiny-roberta", PlainRoberta},
                                     {"tiny-roberta-labels", PlainRobertaLabels},
                                     {"tiny-distilbert", PlainDistilBert},
                                     {"tiny-distilbert-labels", PlainDistilBertLabels},
                                     {"tiny-mpnet", PlainMpnet},
                                     {"tiny-mpnet-labels", PlainMpnetLabels},
                                     {"tiny-modernbert", PlainModernBert},
                                     {"tiny-nomic", PlainNomicBert},
                                     {"tiny-gpt2", PlainGpt2},
                                     {"tiny-llama", PlainLlama},
                                     {"tiny-qwen3", PlainQwen3}};

double Difference(const Row& a, const Row& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(Families, EveryPassKeepsTheFunctionOfAPlainForward) {
  for (const Statement& s : kStatements) {
    const LoadedModel m = RandomModel(s.preset, 5);
    const std::vector<Text> texts = Texts(6, 4, m.min_tokens, 12);
    std::vector<Row> want;
    for (const Text& ids : texts) want.push_back(s.plain(m.weights, ids));
    const auto expect = [&](const Graph& g, const std::string& where) {
      const nn::RealModel model(g, m.weights);
      for (size_t i = 0; i < texts.size(); ++i)
        EXPECT_LT(Difference(model.Run(texts[i]).at, want[i]), 1e-9)
            << s.preset << " " << where << ", " << texts[i].size() << " tokens";
    };
    expect(m.graph, "before folding");
    std::vector<std::string> passes;
    nn::Fold(m.graph, [&](const nn::Pass& p, const Graph& g) {
      expect(g, p.name);
      passes.push_back(p.name);
    });
    EXPECT_THAT(passes, testing::ElementsAre("centre", "residual", "gamma", "bias", "rotate", "merge", "rescale"));
  }
}

template <class T>
std::vector<const GraphNode*> Of(const Graph& g) {
  std::vector<const GraphNode*> out;
  for (auto& n : g.nodes())
    if (n->As<T>()) out.push_back(n.get());
  return out;
}
template <class T>
bool None(const Graph& g, bool (*is)(const GraphNode&, const T&)) {
  for (const GraphNode* n : Of<T>(g))
    if (is(*n, *n->As<T>())) return false;
  return true;
}

// Returns the parts that a graph still holds, a word each.
std::set<std::string> Left(const Graph& g) {
  std::set<std::string> left;
  auto add = [&](const char* what, bool none) {
    if (!none) left.insert(what);
  };
  add("centre", None<nn::Norm>(g, [](const GraphNode&, const nn::Norm& n) { return n.centre; }));
  add("stream of a norm", None<nn::Add>(g, [](const GraphNode& n, const nn::Add&) {
        return n.in[0]->As<nn::Norm>() || n.in[1]->As<nn::Norm>();
      }));
  add("gamma", None<nn::Norm>(g, [](const GraphNode&, const nn::Norm& n) { return n.gamma || n.beta; }));
  add("plain term", None<nn::LinearMap>(g, [](const GraphNode&, const nn::LinearMap& m) {
        return std::any_of(m.terms.begin(), m.terms.end(),
                           [](const nn::LinearMap::MapTerm& t) { return t.kind > nn::LinearMap::kMean; });
      }));
  add("key bias", None<nn::Scores>(g, [](const GraphNode& n, const nn::Scores&) {
        const auto* k = n.in.back()->As<nn::LinearMap>();
        return n.in.size() == 2 && k && k->bias && !k->rotary;  // a rotated one differs between a row's scores
      }));
  add("value bias", None<nn::WeightedSum>(g, [](const GraphNode& n, const nn::WeightedSum&) {
        return n.in[1]->As<nn::LinearMap>() && n.in[1]->As<nn::LinearMap>()->bias;
      }));
  add("rotary", Of<nn::Rotary>(g).empty());
  add("two maps", None<nn::Scores>(g, [](const GraphNode& n, const nn::Scores&) { return n.in.size() == 2; }));
  add("wide factor",
      None<nn::Scores>(g, [](const GraphNode& n, const nn::Scores&) { return !n.in[0]->As<nn::Rescale>(); }) &&
          None<nn::WeightedSum>(
              g, [](const GraphNode& n, const nn::WeightedSum&) { return !n.in[1]->As<nn::Rescale>(); }) &&
          None<nn::WireProduct>(g, [](const GraphNode& n, const nn::WireProduct&) {
            return n.in[0]->As<nn::LinearMap>() || n.in[1]->As<nn::LinearMap>();
          }));
  add("narrow stream", None<nn::Add>(g, [](const GraphNode& n, const nn::Add&) {
        return n.in[0]->As<nn::Lookup>() || n.in[1]->As<nn::Lookup>();
      }));
  return left;
}

std::set<std::string> Less(std::set<std::string> a, const std::set<std::string>& b) {
  for (const std::string& x : b) a.erase(x);
  return a;
}

TEST(Families, EachPassTakesWhatItSays) {
  using Words = std::set<std::string>;
  struct Case {
    const char* preset;
    std::vector<Words> gone;  // parts that each pass removes
    Words came;               // parts that appear with the residual
    size_t adds, norms, rescales;
    size_t apart;        // softmaxes whose queries keep a map of their own, because one row of them is wanted
    Words of_beta = {};  // parts that appear with gamma, because maps get the beta
  };
  const Words none, centre{"centre"}, gamma{"gamma"}, biases{"key bias", "value bias"}, rotary{"rotary"},
      merged{"two maps"}, wide{"wide factor"}, both{"wide factor", "narrow stream"}, term{"plain term"};
  const auto encoder = [&](const char* preset, size_t apart) {
    const Words& merges = apart ? none : merged;
    return Case{preset, {centre, {"stream of a norm"}, {"gamma", "plain term"}, biases, none, merges, wide},
                term,   0,
                6,      6 + apart,
                apart};
  };
  const Case cases[] = {encoder("tiny", 0),
                        encoder("tiny-cls", 1),
                        encoder("tiny-distilbert", 0),
                        encoder("tiny-mpnet", 0),
                        {"tiny-modernbert",
                         {centre, {"stream of a norm"}, {"gamma", "plain term"}, none, rotary, merged, wide},
                         term,
                         7,
                         10,
                         23,
                         0},
                        // keys are turned, so their bias stays
                        {"tiny-nomic",
                         {centre, {"stream of a norm"}, {"gamma", "plain term"}, {"value bias"}, rotary, merged, wide},
                         term,
                         0,
                         6,
                         8,
                         0,
                         {"value bias"}},
                        {"tiny-gpt2", {centre, none, gamma, biases, none, none, both}, none, 4, 5, 12, 1},
                        {"tiny-llama", {none, none, gamma, none, rotary, none, both}, none, 4, 5, 14, 1},
                        // queries and keys have norms of their own, so no two maps read the same rows
                        {"tiny-qwen3", {none, none, gamma, none, rotary, none, both}, none, 4, 10, 15, 2}};
  for (const Case& c : cases) {
    const Graph whole = RandomModel(c.preset).graph;
    Words before = Left(whole);
    size_t pass = 0;
    const Graph folded = nn::Fold(whole, [&](const nn::Pass& p, const Graph& g) {
      const Words after = Left(g);
      EXPECT_EQ(Less(before, after), c.gone.at(pass)) << c.preset << " " << p.name;
      EXPECT_EQ(Less(after, before), pass == 1 ? c.came : pass == 2 ? c.of_beta : none) << c.preset << " " << p.name;
      before = after;
      ++pass;
    });
    EXPECT_EQ(before, c.apart ? merged : none) << c.preset;
    const auto scores = Of<nn::Scores>(folded);
    EXPECT_EQ(size_t(std::count_if(scores.begin(), scores.end(), [](const GraphNode* n) { return n->in.size() == 2; })),
              c.apart)
        << c.preset;
    EXPECT_EQ(Of<nn::Add>(folded).size(), c.adds) << c.preset;
    EXPECT_EQ(Of<nn::Norm>(folded).size(), c.norms) << c.preset;
    EXPECT_EQ(Of<nn::Rescale>(folded).size(), c.rescales) << c.preset;
    EXPECT_EQ(folded.nodes().back()->op->Name(), whole.nodes().back()->op->Name()) << c.preset;
  }
}

}  // namespace
}  // namespace suf::model
