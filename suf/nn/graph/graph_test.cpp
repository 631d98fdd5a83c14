#include "suf/nn/graph/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/nn/graph/small_test.hpp"

namespace suf::nn {
namespace {

Expr Square(Graph& g, const char* name) { return g.Tensor(name, {kWidth, kWidth}, Leaf::kProjection); }

TEST(Graph, TextIsALineANode) {
  EXPECT_EQ(Before().Text(),
            "   0  lookup       embed/z_embed           \n"
            "   1  norm         0/attention/normalised  <- 0\n"
            "   2  map          0/attention/z_q         <- 1\n"
            "   3  rotary       0/attention/rotated     <- 2\n"
            "   4  map          0/attention/z_k         <- 1\n"
            "   5  rotary       0/attention/rotated     <- 4\n"
            "   6  map          0/attention/z_v         <- 1\n"
            "   7  scores       0/attention/scores      <- 3, 5\n"
            "   8  softmax      0/attention/e           <- 7\n"
            "   9  weighted_sum 0/attention/mixed       <- 8, 6\n"
            "  10  map          0/proj/z_proj           <- 9\n"
            "  11  add          0/proj/stream           <- 0, 10\n"
            "  12  norm         0/inner/normalised      <- 11\n"
            "  13  map          0/inner/z_gate          <- 12\n"
            "  14  activation   0/inner/silu            <- 13\n"
            "  15  map          0/inner/z_up            <- 12\n"
            "  16  product      0/inner/product         <- 14, 15\n"
            "  17  map          0/outer/z_2             <- 16\n"
            "  18  add          0/outer/stream          <- 11, 17\n"
            "  19  pool         head/last               <- 18\n"
            "  20  norm         head/normalised         <- 19\n"
            "  21  map          head/z_head             <- 20\n"
            "  22  result       head/logits             <- 21\n");
}

TEST(Graph, ACopyIsItsOwn) {
  const Graph g = Before();
  Graph copy = g;
  EXPECT_EQ(copy.Text(), g.Text());
  EXPECT_EQ(copy.leaves().size(), g.leaves().size());
  for (size_t i = 0; i < g.size(); ++i) {
    EXPECT_NE(&copy.node(i), &g.node(i));
    EXPECT_NE(copy.node(i).op, g.node(i).op);
    for (const GraphNode* x : copy.node(i).in) EXPECT_EQ(x, &copy.node(size_t(x->index)));
  }
  copy.node(1).As<Norm>()->gamma = {};
  EXPECT_TRUE(g.node(1).As<Norm>()->gamma);
  EXPECT_EQ(g.node(1).As<LinearMap>(), nullptr);
}

TEST(Graph, ReadersAreInOrderAndOnce) {
  Graph g;
  GraphNode* x = Embedding(g, false);
  GraphNode* twice = g.Add(WireProduct{}, {x, x});
  GraphNode* pool = g.Add(PoolRows{}, {x}, "p");
  EXPECT_THAT(g.Readers(x), testing::ElementsAre(twice, pool));
  EXPECT_TRUE(g.Readers(pool).empty());
  EXPECT_EQ(Graph::Where(*twice), "embed/product");  // without a label: the operator's name
  EXPECT_EQ(Graph::Where(*pool), "embed/p");
  g.Scope("");
  EXPECT_EQ(Graph::Where(*g.Add(PoolRows{}, {x})), "pool");
}

TEST(Graph, RewritingKeepsOrderAndReaders) {
  Graph g;
  GraphNode* x = Embedding(g, false);
  GraphNode* a = FullMap(g, x, "a", kWidth, kWidth, false, "linear", "a");
  GraphNode* b = FullMap(g, x, "b", kWidth, kWidth, false, "linear", "b");
  GraphNode* sum = g.Add(Add{}, {a, b}, "sum");
  GraphNode* fresh = g.After(x, std::make_unique<Rescale>(), {}, "fresh");
  EXPECT_EQ(g.nodes()[1].get(), fresh);
  EXPECT_EQ(fresh->scope, "embed");
  fresh->in = {x};
  g.Replace(x, fresh);  // all readers except itself
  EXPECT_THAT(fresh->in, testing::ElementsAre(x));
  EXPECT_THAT(a->in, testing::ElementsAre(fresh));
  EXPECT_THAT(b->in, testing::ElementsAre(fresh));
  g.Number();
  for (size_t i = 0; i < g.size(); ++i) EXPECT_EQ(g.node(i).index, int(i));
  EXPECT_THROW(g.Remove(b), Bug);  // it has a reader
  sum->in = {a, a};
  EXPECT_EQ(g.size(), 5u);
  g.Prune();
  EXPECT_EQ(g.size(), 4u);  // b is gone, the last one stays
  EXPECT_EQ(g.nodes().back().get(), sum);
  g.Number();
  EXPECT_EQ(sum->index, 3);
}

// Prune removes a whole chain that no node reads.
TEST(Graph, PruneTakesChains) {
  Graph g;
  GraphNode* x = Embedding(g, false);
  GraphNode* y = FullMap(g, x, "a", kWidth, kWidth, false, "linear", "a");
  FullMap(g, y, "b", kWidth, kWidth, false, "linear", "b");
  g.Add(PoolRows{}, {x}, "p");
  g.Prune();
  g.Number();
  EXPECT_EQ(g.size(), 2u);
}

TEST(Graph, NumberRefusesWhatCannotBeRead) {
  Graph g;
  GraphNode* x = Embedding(g, false);
  GraphNode* sum = g.Add(Add{}, {x}, "sum");
  EXPECT_EQ(Refusal([&] { g.Number(); }), "the operator embed/sum reads 1 nodes, it takes 2 to 2; mend the graph");
  GraphNode* y = g.Add(PoolRows{}, {x}, "later");
  sum->in = {x, y};
  EXPECT_EQ(Refusal([&] { g.Number(); }), "the operator embed/sum reads a later one; mend the graph");
  sum->in = {x, sum};
  EXPECT_EQ(Refusal([&] { g.Number(); }), "the operator embed/sum reads a later one; mend the graph");
  sum->in = {x, x};
  EXPECT_NO_THROW(g.Number());
}

TEST(Graph, LeavesAreNamedOnce) {
  Graph g;
  const Expr a = Square(g, "a"), again = Square(g, "a");
  EXPECT_EQ(a, again);
  Square(g, "b");
  ASSERT_EQ(g.leaves().size(), 2u);
  EXPECT_EQ(g.leaves()[0].name, "a");
  EXPECT_EQ(g.leaves()[0].shape, (Shape{kWidth, kWidth}));
  EXPECT_EQ(g.leaves()[1].kind, Leaf::kProjection);
  EXPECT_THROW(g.Tensor("a", {kWidth}, Leaf::kProjection), Bug);
  EXPECT_THROW(g.Tensor("a", {kWidth, kWidth}, Leaf::kTable), Bug);
}

// Forward visits every node after its inputs and frees a value after its last reader.
TEST(Graph, ForwardFreesValues) {
  const Graph g = Before();
  struct Counted {
    Counted() = default;
    explicit Counted(int* c) : count(c) { ++*count; }
    Counted(Counted&& o) noexcept : count(std::exchange(o.count, nullptr)) {}
    Counted& operator=(Counted&& o) noexcept {
      if (count) --*count;
      count = std::exchange(o.count, nullptr);
      return *this;
    }
    ~Counted() {
      if (count) --*count;
    }
    int* count = nullptr;
  };
  int alive = 0, most = 0, visited = 0;
  const Counted last = Forward<Counted>(g, [&](const GraphNode& n, std::span<const Counted* const> in) {
    EXPECT_EQ(n.index, visited++);
    EXPECT_EQ(in.size(), n.in.size());
    for (const Counted* x : in) EXPECT_TRUE(x->count) << Graph::Where(n) << " reads a freed value";
    most = std::max(most, alive);
    return Counted(&alive);
  });
  EXPECT_EQ(visited, int(g.size()));
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(most, 4);  // the stream, queries, keys and their normalised row
}

}  // namespace
}  // namespace suf::nn
