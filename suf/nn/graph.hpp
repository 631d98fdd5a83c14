// A model: a graph of operators. A family builds it from its configuration, with no scale, ring or party in it
// (suf/model); passes fold it (fold.hpp); a plan stores it with the parameters of every length class (plan.hpp); all
// else are readings, loops over its nodes. (docs/mathematics.md#graph)
#pragma once
#include <string>
#include <vector>

#include "suf/nn/op.hpp"

namespace suf::nn {

// An operator, the nodes that it reads, and where it is: `scope` for costs, `label` for its wire.
struct Node {
  OperatorPtr op;
  std::vector<Node*> in;
  std::string scope, label;
  int index = 0;  // in the graph, after Number
  template <class T>
  T* As() const {
    return dynamic_cast<T*>(op.get());
  }
};

// Tensor of a checkpoint, as a builder names it; kind: for random models.
struct Leaf {
  enum Kind : uint8_t { kTable, kProjection, kBias, kGamma };
  std::string name;
  Shape shape;
  Kind kind = kProjection;
};

// Nodes in order of emission; a node reads earlier nodes; the last one is the result.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph& g);
  Graph& operator=(Graph g) {
    std::swap(nodes_, g.nodes_), std::swap(leaves_, g.leaves_), std::swap(scope_, g.scope_);
    return *this;
  }

  // ---- building
  void Scope(std::string scope) { scope_ = std::move(scope); }
  template <class T>
  Node* Add(T op, std::vector<Node*> in, std::string label = "") {
    return AddNode(std::make_unique<T>(std::move(op)), std::move(in), std::move(label));
  }
  Node* AddNode(OperatorPtr op, std::vector<Node*> in, std::string label);
  Expr Tensor(std::string name, Shape shape, Leaf::Kind kind);

  // ---- rewriting
  std::vector<Node*> Readers(const Node* n) const;
  // A new node behind `at` in emission order, in its scope.
  Node* After(const Node* at, OperatorPtr op, std::vector<Node*> in, std::string label);
  // All readers of `was` but `with` itself read `with`.
  void Replace(const Node* was, Node* with);
  void Remove(const Node* n);
  // Drops nodes that nobody reads.
  void Prune();

  // ---- reading
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  Node& node(size_t i) const { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  // Gives nodes their index. Throws Cause::kRefused when a node reads a later one or takes other inputs, naming
  // it.
  void Number();
  // A line a node.
  std::string Text() const;
  // "0/attention/z_qk" of a node.
  static std::string Where(const Node& n);

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Leaf> leaves_;
  std::string scope_;
};

// What takes the place of the graph's own operators: those of one length class, by node.
using Ops = std::vector<OperatorPtr>;

// Forward: f(node, values of its inputs) over the nodes in order; a value is freed after its last reader. The last
// one's.
template <class T, class F>
T Forward(const Graph& g, F f) {
  std::vector<T> value(g.size());
  std::vector<int> readers(g.size(), 0);
  for (auto& n : g.nodes())
    for (const Node* x : n->in) ++readers[size_t(x->index)];
  for (auto& n : g.nodes()) {
    std::vector<const T*> in;
    for (const Node* x : n->in) in.push_back(&value[size_t(x->index)]);
    value[size_t(n->index)] = f(*n, std::span<const T* const>(in));
    for (const Node* x : n->in)
      if (--readers[size_t(x->index)] == 0) value[size_t(x->index)] = T{};
  }
  return std::move(value.back());
}

}  // namespace suf::nn
