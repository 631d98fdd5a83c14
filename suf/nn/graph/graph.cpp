#include "suf/nn/graph/graph.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

namespace suf::nn {

Graph::Graph(const Graph& g) : leaves_(g.leaves_), scope_(g.scope_) {
  std::map<const GraphNode*, GraphNode*> at;
  for (auto& n : g.nodes_) {
    GraphNode* copy = nodes_.emplace_back(new GraphNode{n->op->Clone(), {}, n->scope, n->label, n->index}).get();
    for (const GraphNode* x : n->in) copy->in.push_back(at.at(x));
    at[n.get()] = copy;
  }
}

GraphNode* Graph::AddNode(OperatorPtr op, std::vector<GraphNode*> in, std::string label) {
  return nodes_.emplace_back(new GraphNode{std::move(op), std::move(in), scope_, std::move(label), int(nodes_.size())})
      .get();
}

Expr Graph::Tensor(std::string name, Shape shape, Leaf::Kind kind) {
  auto had = std::find_if(leaves_.begin(), leaves_.end(), [&](const Leaf& l) { return l.name == name; });
  if (had == leaves_.end())
    leaves_.push_back({name, shape, kind});
  else
    SUF_CHECK(had->shape == shape && had->kind == kind);
  return Expr::Leaf(std::move(name), std::move(shape));
}

std::vector<GraphNode*> Graph::Readers(const GraphNode* n) const {
  std::vector<GraphNode*> out;
  for (auto& r : nodes_)
    if (std::find(r->in.begin(), r->in.end(), n) != r->in.end()) out.push_back(r.get());
  return out;
}

GraphNode* Graph::After(const GraphNode* at, OperatorPtr op, std::vector<GraphNode*> in, std::string label) {
  auto it = std::find_if(nodes_.begin(), nodes_.end(), [&](auto& n) { return n.get() == at; });
  SUF_CHECK(it != nodes_.end());
  return nodes_
      .insert(it + 1,
              std::unique_ptr<GraphNode>(new GraphNode{std::move(op), std::move(in), at->scope, std::move(label), 0}))
      ->get();
}

void Graph::Replace(const GraphNode* was, GraphNode* with) {
  for (auto& r : nodes_)
    if (r.get() != with) std::replace(r->in.begin(), r->in.end(), const_cast<GraphNode*>(was), with);
}

void Graph::Remove(const GraphNode* n) {
  SUF_CHECK(Readers(n).empty());
  std::erase_if(nodes_, [&](auto& x) { return x.get() == n; });
}

void Graph::Prune() {
  for (size_t i = nodes_.size() - 1; i-- > 0;)
    if (Readers(nodes_[i].get()).empty()) nodes_.erase(nodes_.begin() + int64_t(i));
}

void Graph::Number() {
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->index = int(i);
  for (auto& n : nodes_) {
    const auto [least, most] = n->op->Inputs();
    if (n->in.size() < least || n->in.size() > most)
      Fail(Cause::kRefused, "the operator ", Where(*n), " reads ", n->in.size(), " nodes, it takes ", least, " to ",
           most, "; mend the graph");
    for (const GraphNode* x : n->in)
      if (x->index >= n->index) Fail(Cause::kRefused, "the operator ", Where(*n), " reads a later one; mend the graph");
  }
}

std::string Graph::Where(const GraphNode& n) {
  const std::string name = n.label.empty() ? std::string(n.op->Name()) : n.label;
  return n.scope.empty() ? name : n.scope + "/" + name;
}

std::string Graph::Text() const {
  std::ostringstream s;
  for (auto& n : nodes_) {
    s << std::setw(4) << n->index << "  " << std::left << std::setw(13) << n->op->Name() << std::setw(24) << Where(*n)
      << std::right;
    const char* arrow = "<- ";
    for (const GraphNode* x : n->in) {
      s << arrow << x->index;
      arrow = ", ";
    }
    s << "\n";
  }
  return s.str();
}

}  // namespace suf::nn
