// What a plan must satisfy beyond its fields' ranges: what follows from one another along the edges. Every operator
// checks its own parameters.
#include <algorithm>

#include "suf/nn/plan.hpp"

namespace suf::nn {

Edges EdgesOf(const Node& n, const Ops& ops) {
  Edges in;
  for (const Node* x : n.in) {
    const Operator& op = *ops[size_t(x->index)];
    in.push_back({op.scale, op.scale, op.ring, op.dim, op.one_row, {}});
  }
  return in;
}

void Derive(const Graph& g, Ops& ops) {
  for (auto& n : g.nodes()) {
    Operator& op = *ops[size_t(n->index)];
    const Edges in = EdgesOf(*n, ops);
    op.dim = op.Dim(in), op.one_row = op.OneRow(in);
  }
  for (size_t i = g.size(); i-- > 0;) {
    const Node& n = g.node(i);
    std::optional<Form> form;
    bool wrapped = true;
    for (const Node* r : g.Readers(&n)) {
      const Operator& op = *ops[size_t(r->index)];
      for (size_t k = 0; k < r->in.size(); ++k) {
        if (r->in[k] != &n || op.unused || !op.Uses(int(k))) continue;
        wrapped = wrapped && op.Wraps();
        const Form want = op.Transparent() ? op.form : op.Reads(int(k));
        form = form.value_or(want) == want ? want : Form::kProduct;
      }
    }
    ops[i]->form = form.value_or(Form::kOpen), ops[i]->wrapped = form && wrapped;
    ops[i]->unused = !form && i + 1 < g.size();
  }
}

void Check(const Plan& p) {
  Wanted(p.min_tokens <= p.max_tokens, "max_tokens", "it is below min_tokens");
  Wanted(!p.classes.empty() && p.classes.back().max_n == p.max_tokens, "classes",
         "the last class is not for max_tokens");
  for (size_t i = 0; i < p.classes.size(); ++i) {
    Class c = p.classes[i];
    const std::string at = Str("classes[", i, "]");
    Wanted(c.max_n >= p.min_tokens && (i == 0 || c.max_n > p.classes[i - 1].max_n), at + ".max_n",
           "the classes do not increase");
    Wanted(c.ops.size() == p.graph.size(), at, "there is not one operator a node");
    Derive(p.graph, c.ops);
    Wanted(!c.ops.back()->Transparent() && c.ops.back()->Gives() == Layout::kRows, at,
           "its result is a view, or no rows");
    for (auto& n : p.graph.nodes()) {
      const Operator& op = *c.ops[size_t(n->index)];
      if (op.unused) continue;
      const Edges in = EdgesOf(*n, c.ops);
      const std::string where = Str(at, ".nodes[", n->index, "] (", Graph::Where(*n), ")");
      for (size_t k = 0; k < in.size(); ++k)
        Wanted(!op.Uses(int(k)) || c.ops[size_t(n->in[k]->index)]->Gives() == op.Wants(int(k)), where,
               "it reads rows as scores, or scores otherwise than they lie");
      op.Check(in, c.max_n, where);
      const std::vector<Slot> now = op.Slots(), first = p.classes[0].ops[size_t(n->index)]->Slots();
      for (size_t k = 0; k < now.size(); ++k)
        Wanted(now[k].scale == first.at(k).scale && now[k].scale >= 0, at,
               "a weight has another scale than in the first class");
    }
  }
}

}  // namespace suf::nn
