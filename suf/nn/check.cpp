// What a plan must satisfy beyond its fields' ranges: what follows from one another along the edges. Every operator
// checks its own parameters.
#include <algorithm>
#include <set>

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
    ops[i]->summand_ring = 0;
    for (const Node* r : g.Readers(&n)) {
      const Operator& op = *ops[size_t(r->index)];
      for (size_t k = 0; k < r->in.size(); ++k) {
        if (r->in[k] != &n || op.unused || !op.Uses(int(k))) continue;
        wrapped = wrapped && op.Wraps();
        const Form want = op.Transparent() ? op.form : op.Reads(int(k));
        form = form.value_or(want) == want ? want : Form::kProduct;
        if (want == Form::kSummands) ops[i]->summand_ring = op.SummandRing(int(k));
      }
    }
    ops[i]->form = form.value_or(Form::kOpen), ops[i]->wrapped = form && wrapped;
    ops[i]->unused = !form && i + 1 < g.size();
  }
}

namespace {

// CheckVariants: their names, and that each has its classes, in order, up to the limit.
void CheckVariants(const Plan& p) {
  std::set<std::string> names;
  for (size_t v = 0; v < p.variants.size(); ++v) {
    const std::string at = Str("variants[", v, "].name"), &name = p.variants[v].name;
    try {
      CheckName(name);
    } catch (const Error& e) {
      Fail(Cause::kRefused, "the plan is inconsistent at ", at, ": ", e.what());
    }
    Wanted(names.insert(name).second, at, "another variant has this name");
  }
  Wanted(!p.variants.empty(), "variants", "there is none");
  Wanted(!p.classes.empty() && p.classes.back().max_n == p.max_tokens, "classes",
         "the last class is not for max_tokens");
  Wanted(p.classes.front().variant == 0 && p.classes.back().variant == int(p.variants.size()) - 1, "classes",
         "a variant has none");
  for (size_t i = 0; i < p.classes.size(); ++i) {
    const Class& c = p.classes[i];
    const std::string at = Str("classes[", i, "]");
    const Class* before = i ? &p.classes[i - 1] : nullptr;
    if (before && c.variant == before->variant + 1) {
      Wanted(before->max_n == p.max_tokens, at, "the last class of the variant before it is not for max_tokens");
      before = nullptr;
    }
    Wanted(!before || c.variant == before->variant, at + ".variant", "the variants are not in order, or one has none");
    Wanted(c.max_n >= p.min_tokens && (!before || c.max_n > before->max_n), at + ".max_n",
           "the classes do not increase");
  }
}

}  // namespace

void Check(const Plan& p) {
  Wanted(p.min_tokens <= p.max_tokens, "max_tokens", "it is below min_tokens");
  CheckVariants(p);
  for (size_t i = 0; i < p.classes.size(); ++i) {
    Class c = p.classes[i];
    const std::string at = Str("classes[", i, "]");
    Wanted(c.ops.size() == p.graph.size(), at, "there is not one operator a node");
    Derive(p.graph, c.ops);
    Wanted(!c.ops.back()->Transparent() && c.ops.back()->Gives() == Layout::kRows, at,
           "its result is a view, or no rows");
    if (c.tiles == 2 && c.max_n < kTiledTokens)
      Fail(Cause::kRefused, "the plan's field ", at, ".tiles is 2, but its texts have at most ", c.max_n,
           " tokens and two tiles take classes of at least ", kTiledTokens, "; compile the plan with tiles=1");
    for (auto& n : p.graph.nodes()) {
      const Operator& op = *c.ops[size_t(n->index)];
      if (op.unused) continue;
      if (c.tiles == 2 && !op.Tiles())
        Fail(Cause::kRefused, "the plan's field ", at, ".tiles is 2, but ", Graph::Where(*n),
             " is causal and takes a text whole; compile the plan with tiles=1");
      const Edges in = EdgesOf(*n, c.ops);
      const std::string where = Str(at, ".nodes[", n->index, "] (", Graph::Where(*n), ")");
      for (size_t k = 0; k < in.size(); ++k)
        Wanted(!op.Uses(int(k)) || c.ops[size_t(n->in[k]->index)]->Gives() == op.Wants(int(k)), where,
               "it reads rows as scores, or scores otherwise than they lie");
      op.Check(in, c.max_n, where);
      for (const Slot& s : op.Slots()) Wanted(s.scale >= 0, at, "a weight has a negative scale");
    }
  }
}

}  // namespace suf::nn
