// A model as a graph of operators. A family builds it from its configuration, without scales, rings or parties
// (suf/model). Passes fold it (fold.hpp). A plan stores it with the parameters of every length class (plan.hpp).
// Everything else is a reading: a loop over its nodes. (docs/mathematics.md#graph)
#pragma once
#include <string>
#include <vector>

#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// An operator and the nodes that it reads. `scope` is its place in the model, for costs; `label` names its wire.
struct GraphNode {
  OperatorPtr op;
  std::vector<GraphNode*> in;
  std::string scope, label;
  int index = 0;  // in the graph; set by Graph::Number
  template <class T>
  T* As() const {
    return dynamic_cast<T*>(op.get());
  }
};

// A tensor of a checkpoint, as a builder names it. `kind` is for random models.
struct Leaf {
  enum Kind : uint8_t { kTable, kProjection, kBias, kGamma };
  std::string name;
  Shape shape;
  Kind kind = kProjection;
};

// The nodes in order of emission. A node reads earlier nodes, and the last one is the result.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph& g);
  Graph& operator=(Graph g) {
    std::swap(nodes_, g.nodes_);
    std::swap(leaves_, g.leaves_);
    std::swap(scope_, g.scope_);
    return *this;
  }

  // ---- building
  void Scope(std::string scope) { scope_ = std::move(scope); }
  template <class T>
  GraphNode* Add(T op, std::vector<GraphNode*> in, std::string label = "") {
    return AddNode(std::make_unique<T>(std::move(op)), std::move(in), std::move(label));
  }
  GraphNode* AddNode(OperatorPtr op, std::vector<GraphNode*> in, std::string label);
  Expr Tensor(std::string name, Shape shape, Leaf::Kind kind);

  // ---- rewriting
  std::vector<GraphNode*> Readers(const GraphNode* n) const;
  // Adds a node behind `at` in emission order, in the scope of `at`.
  GraphNode* After(const GraphNode* at, OperatorPtr op, std::vector<GraphNode*> in, std::string label);
  // Makes all readers of `was`, except `with` itself, read `with`.
  void Replace(const GraphNode* was, GraphNode* with);
  void Remove(const GraphNode* n);
  // Removes the nodes that no node reads, except the last one.
  void Prune();

  // ---- reading
  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }
  GraphNode& node(size_t i) const { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  // Gives each node its index. Throws Cause::kRefused, naming the node, if it reads a later one or takes another number
  // of inputs.
  void Number();
  // Returns one line for each node.
  std::string Text() const;
  // Returns a node's place, such as "0/attention/z_qk".
  static std::string Where(const GraphNode& n);

 private:
  std::vector<std::unique_ptr<GraphNode>> nodes_;
  std::vector<Leaf> leaves_;
  std::string scope_;
};

// The operators of one length class by node, in place of the graph's own.
using Ops = std::vector<OperatorPtr>;

// Calls f(node, values of its inputs) over the nodes in order, and returns the last node's value. A value is freed
// after its last reader.
template <class T, class F>
T Forward(const Graph& g, F f) {
  std::vector<T> value(g.size());
  std::vector<int> readers(g.size(), 0);
  for (auto& n : g.nodes())
    for (const GraphNode* x : n->in) ++readers[size_t(x->index)];
  for (auto& n : g.nodes()) {
    std::vector<const T*> in;
    for (const GraphNode* x : n->in) in.push_back(&value[size_t(x->index)]);
    value[size_t(n->index)] = f(*n, std::span<const T* const>(in));
    for (const GraphNode* x : n->in)
      if (--readers[size_t(x->index)] == 0) value[size_t(x->index)] = T{};
  }
  return std::move(value.back());
}

}  // namespace suf::nn
