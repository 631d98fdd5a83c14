// Passes on graphs by hand: their rewrites and their refusals.
#include "suf/nn/plan/fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::nn {
namespace {

double Difference(const Graph& a, const Graph& b, const Checkpoint& w, std::span<const int32_t> ids) {
  const RealArray x = RealModel(a, w).Run(ids), y = RealModel(b, w).Run(ids);
  EXPECT_EQ(x.shape, y.shape);
  double most = 0;
  for (size_t i = 0; i < x.at.size(); ++i) most = std::max(most, std::abs(x.at[i] - y.at[i]));
  return most;
}

// Returns the folded graph, and expects the same function after every pass.
Graph Folded(const Graph& g, uint64_t seed = 1) {
  const Checkpoint w = RandomWeights(g, seed);
  const std::vector<int32_t> ids{3, 1, 4, 1, 5};
  return Fold(g, [&](const Pass& p, const Graph& now) { EXPECT_LT(Difference(g, now, w, ids), 1e-9) << p.name; });
}

// Returns the node with a label.
const GraphNode& Find(const Graph& g, const std::string& label) {
  for (auto& n : g.nodes())
    if (n->label == label) return *n;
  throw Bug("there is no node " + label);
}
std::string Weight(const Graph& g, const std::string& label, size_t term = 0) {
  return Find(g, label).As<LinearMap>()->terms.at(term).weight.Text();
}
std::string Bias(const Graph& g, const std::string& label) {
  const Expr& b = Find(g, label).As<LinearMap>()->bias;
  return b ? b.Text() : "";
}

TEST(Fold, PassesSayWhatTheyDo) {
  std::vector<std::string> names;
  for (const Pass& p : Passes()) {
    names.push_back(p.name);
    EXPECT_TRUE(std::string(p.what).ends_with('.')) << p.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("centre", "residual", "gamma", "bias", "rotate", "merge", "rescale"));
}

TEST(Fold, NormsAfterSums) {
  const Graph g = Folded(After());
  EXPECT_EQ(g.Text(),
            "   0  lookup       embed/z_embed           \n"
            "   1  norm         embed/normalised        <- 0\n"
            "   2  map          0/attention/z_qk        <- 1\n"
            "   3  rescale      0/attention/q,k         <- 2\n"
            "   4  map          0/attention/z_v         <- 1\n"
            "   5  rescale      0/attention/v           <- 4\n"
            "   6  scores       0/attention/scores      <- 3\n"
            "   7  softmax      0/attention/e           <- 6\n"
            "   8  weighted_sum 0/attention/mixed       <- 7, 5\n"
            "   9  rescale      0/attention/o           <- 8\n"
            "  10  map          0/proj/z_proj           <- 9, 1\n"
            "  11  norm         0/proj/normalised       <- 10\n"
            "  12  map          0/inner/z_1             <- 11\n"
            "  13  activation   0/inner/gelu            <- 12\n"
            "  14  map          0/outer/z_2             <- 13, 11\n"
            "  15  norm         0/outer/normalised      <- 14\n"
            "  16  pool         pool/pooled             <- 15\n"
            "  17  map          pool/z_pool             <- 16\n"
            "  18  norm         pool/unit               <- 17\n");
  EXPECT_EQ(Find(g, "z_embed").As<Lookup>()->table.Text(), "centre(table[8,16])");
  EXPECT_EQ(Weight(g, "z_qk"), "beside(rows(n0.gamma[16], q[16,16]), rows(n0.gamma[16], k[16,16]))");
  EXPECT_EQ(Find(g, "o").As<Rescale>()->kind, Rescale::kOptional);
  EXPECT_EQ(Find(g, "v").As<Rescale>()->kind, Rescale::kExact);
  const LinearMap& proj = *Find(g, "z_proj").As<LinearMap>();
  ASSERT_EQ(proj.terms.size(), 3u);
  EXPECT_EQ(proj.terms[1].kind, LinearMap::kDiag);
  EXPECT_EQ(proj.terms[2].kind, LinearMap::kMean);
  EXPECT_EQ(proj.terms[1].weight.Text(), "n0.gamma[16]");
  EXPECT_TRUE(Find(g, "z_pool").As<LinearMap>()->by_length);
  EXPECT_EQ(Bias(g, "z_pool"), "n2.beta[16]");
  EXPECT_EQ(Bias(g, "z_v"), "");  // behind the output map
}

TEST(Fold, NormsBeforeBranches) {
  const Graph g = Folded(Before());
  EXPECT_EQ(g.Text(),
            "   0  lookup       embed/z_embed           \n"
            "   1  rescale      embed/stream            <- 0\n"
            "   2  norm         0/attention/normalised  <- 1\n"
            "   3  map          0/attention/z_q         <- 2\n"
            "   4  rescale      0/attention/q           <- 3\n"
            "   5  map          0/attention/z_k         <- 2\n"
            "   6  rescale      0/attention/k           <- 5\n"
            "   7  map          0/attention/z_v         <- 2\n"
            "   8  rescale      0/attention/v           <- 7\n"
            "   9  scores       0/attention/scores      <- 4, 6\n"
            "  10  softmax      0/attention/e           <- 9\n"
            "  11  weighted_sum 0/attention/mixed       <- 10, 8\n"
            "  12  rescale      0/attention/o           <- 11\n"
            "  13  map          0/proj/z_proj           <- 12\n"
            "  14  add          0/proj/stream           <- 1, 13\n"
            "  15  rescale      0/proj/clamp            <- 14\n"
            "  16  norm         0/inner/normalised      <- 15\n"
            "  17  map          0/inner/z_gate          <- 16\n"
            "  18  activation   0/inner/silu            <- 17\n"
            "  19  map          0/inner/z_up            <- 16\n"
            "  20  rescale      0/inner/linear          <- 19\n"
            "  21  product      0/inner/product         <- 18, 20\n"
            "  22  map          0/outer/z_2             <- 21\n"
            "  23  add          0/outer/stream          <- 14, 22\n"
            "  24  rescale      0/outer/clamp           <- 23\n"
            "  25  pool         head/last               <- 24\n"
            "  26  norm         head/normalised         <- 25\n"
            "  27  map          head/z_head             <- 26\n"
            "  28  result       head/logits             <- 27\n");
  EXPECT_EQ(Find(g, "z_q").As<LinearMap>()->rotary, 2);  // the last row's
  EXPECT_EQ(Find(g, "z_k").As<LinearMap>()->rotary, 1);
  EXPECT_EQ(Find(g, "z_k").As<LinearMap>()->base, 100);
  EXPECT_EQ(Find(g, "o").As<Rescale>()->kind, Rescale::kExact);
  EXPECT_EQ(Find(g, "clamp").As<Rescale>()->kind, Rescale::kClamp);
  EXPECT_EQ(Weight(g, "z_head"), "rows(n3.gamma[16], head[16,8])");
}

// Gamma of a norm per head becomes a diagonal map of its own, and the rotation a part of it.
TEST(Fold, NormsOfHeads) {
  const Graph g = Folded(HeadNorms());
  EXPECT_EQ(g.Text(),
            "   0  lookup       embed/z_embed           \n"
            "   1  norm         embed/normalised        <- 0\n"
            "   2  map          0/attention/q_map       <- 1\n"
            "   3  norm         0/attention/q_norm      <- 2\n"
            "   4  map          0/attention/z_q         <- 3\n"
            "   5  rescale      0/attention/q           <- 4\n"
            "   6  map          0/attention/k_map       <- 1\n"
            "   7  norm         0/attention/k_norm      <- 6\n"
            "   8  map          0/attention/z_k         <- 7\n"
            "   9  rescale      0/attention/k           <- 8\n"
            "  10  map          0/attention/z_v         <- 1\n"
            "  11  rescale      0/attention/v           <- 10\n"
            "  12  scores       0/attention/scores      <- 5, 9\n"
            "  13  softmax      0/attention/e           <- 12\n"
            "  14  weighted_sum 0/attention/mixed       <- 13, 11\n"
            "  15  rescale      0/attention/o           <- 14\n"
            "  16  map          0/proj/z_proj           <- 15\n"
            "  17  pool         pool/pooled             <- 16\n"
            "  18  norm         pool/unit               <- 17\n");
  EXPECT_EQ(Weight(g, "z_q"), "repeat(q.gamma[8], 2)");
  EXPECT_EQ(Weight(g, "z_k"), "repeat(k.gamma[8], 1)");
  EXPECT_EQ(Find(g, "z_q").As<LinearMap>()->terms[0].kind, LinearMap::kDiag);
  EXPECT_EQ(Find(g, "z_q").As<LinearMap>()->rotary, 2);
  EXPECT_EQ(Find(g, "z_k").As<LinearMap>()->rotary, 1);
  EXPECT_EQ(Find(g, "z_q").As<LinearMap>()->key, "query_key");
  EXPECT_EQ(Find(g, "q_norm").As<Norm>()->groups, 2);
}

TEST(Fold, RelativePositionsStay) {
  const Graph g = Folded(After(true));
  EXPECT_EQ(Find(g, "scores").As<Scores>()->relative.Text(), "relative(relative[6,2], 16)");
}

// A row of the softmax serves several grouped heads, so the value bias stays at its map.
TEST(Fold, AValueBiasOfGroupedHeadsStays) {
  Graph g = Before();
  GraphNode& v = g.node(6);
  ASSERT_EQ(v.label, "z_v");
  v.As<LinearMap>()->bias = g.Tensor("v.bias", {kWidth / kHeads}, Leaf::kBias);
  EXPECT_EQ(Bias(Folded(g), "z_v"), "v.bias[8]");
}

// Returns the graph before folding with a result of all rows.
Graph OfAllRows(Graph g) {
  for (auto& n : g.nodes())
    if (PoolRows* pool = n->As<PoolRows>()) pool->kind = PoolRows::kSum;
  return g;
}

// Queries share a map with keys if as many of them are wanted.
TEST(Fold, QueriesOfAllRowsAreMergedWithKeys) {
  const Graph g = Folded(OfAllRows(Before()));
  EXPECT_EQ(Find(g, "z_qk").As<LinearMap>()->rotary, 3);  // two heads of q, one of k
  EXPECT_EQ(Find(g, "z_qk").As<LinearMap>()->base, 100);
  EXPECT_EQ(Find(g, "q,k").op->Name(), "rescale");
}

// A rotated key bias is not the same for a whole row, so it stays.
TEST(Fold, ARotatedKeyBiasStays) {
  Graph g = Before();
  GraphNode& k = g.node(4);
  ASSERT_EQ(k.label, "z_k");
  k.As<LinearMap>()->bias = g.Tensor("k.bias", {kWidth / kHeads}, Leaf::kBias);
  EXPECT_EQ(Bias(Folded(g), "z_k"), "k.bias[8]");
  EXPECT_EQ(Bias(Folded(OfAllRows(g)), "z_qk"), "beside(zeros(16), k.bias[8])");
}

// A reader of a norm that is no map gets a diagonal map.
TEST(Fold, ANormWithAReaderThatIsNoMapGetsAMapOfItsOwn) {
  Graph g;
  GraphNode* x = NormOf(g, Embedding(g, true), "n0", true);
  PoolRows first;
  first.kind = PoolRows::kFirst;
  GraphNode* pooled = g.Add(std::move(first), {x}, "first");
  Norm unit;
  unit.dim = kWidth;
  unit.unit = true;
  unit.key = "unit";
  g.Add(std::move(unit), {pooled}, "unit");
  g.Number();
  const Graph f = Folded(g);
  const LinearMap& map = *Find(f, "z_pool").As<LinearMap>();
  EXPECT_EQ(map.terms.at(0).kind, LinearMap::kDiag);
  EXPECT_FALSE(map.by_length);  // one row, not a sum of rows
  EXPECT_EQ(map.bias.Text(), "n0.beta[16]");
}

TEST(Fold, WhatCannotBeFoldedIsRefused) {
  {  // a map reads the sum whose mean the norm removes
    Graph g;
    GraphNode* x = Embedding(g, true);
    NormOf(g, x, "n0", true);
    FullMap(g, x, "a", kWidth, kWidth, false, "linear", "reader");
    g.Number();
    EXPECT_EQ(Refusal([&] { Fold(g); }),
              "the operator embed/reader reads the mean that the norm behind embed/z_embed removes; this graph cannot "
              "be folded");
  }
  {  // the mean of each head
    Graph g;
    GraphNode* x = NormOf(g, Embedding(g, true), "n0", true);
    x->As<Norm>()->groups = 2;
    x->As<Norm>()->dim = kWidth / 2;
    g.Number();
    EXPECT_EQ(Refusal([&] { Fold(g); }),
              "the norm embed/normalised removes the mean of each of 2 parts of a row; this graph cannot be folded");
  }
  {  // an activation cannot lose its mean
    Graph g;
    Activation a;
    a.function = "gelu";
    NormOf(g, g.Add(std::move(a), {Embedding(g, true)}, "gelu"), "n0", true);
    g.Number();
    EXPECT_EQ(Refusal([&] { Fold(g); }),
              "the operator embed/gelu cannot be written without its mean; this graph cannot be folded");
  }
  {  // a rotation of a node that two nodes read
    Graph g;
    GraphNode* m = FullMap(g, Embedding(g, true), "a", kWidth, kWidth, false, "linear", "a");
    Rotary r;
    r.heads = 2;
    r.base = 100;
    GraphNode* turned = g.Add(std::move(r), {m}, "turned");
    g.Add(Add{}, {turned, m}, "sum");
    g.Number();
    EXPECT_EQ(Refusal([&] { Fold(g); }),
              "the rotation embed/turned reads no map of its own; this graph cannot be folded");
  }
}

TEST(Fold, LeavesTheGraphItIsGivenAlone) {
  const Graph g = After();
  const std::string before = g.Text();
  Fold(g);
  EXPECT_EQ(g.Text(), before);
  EXPECT_TRUE(g.node(1).As<Norm>()->gamma);
}

}  // namespace
}  // namespace suf::nn
