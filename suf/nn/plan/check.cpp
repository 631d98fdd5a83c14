// The conditions on a plan beyond its fields' ranges: values that follow from one another along the edges. Every
// operator checks its own parameters.
#include <algorithm>
#include <set>

#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

Edges EdgesOf(const GraphNode& n, const Ops& ops) {
  Edges in;
  for (const GraphNode* x : n.in) {
    const Operator& op = *ops[size_t(x->index)];
    in.push_back({op.scale, op.scale, op.built, op.dim, op.one_row, {}, op.heads, op.summands});
  }
  return in;
}

namespace {

// The wish of a node's readers. `what` always has a value: a compiler may compare that of an empty std::optional,
// which Memcheck reports.
template <class T>
struct ReadersWish {
  bool any = false;
  T what{};
  // Adds a reader's wish; `both` serves different ones.
  void Add(T wish, T both) {
    what = any && what != wish ? both : wish;
    any = true;
  }
};

}  // namespace

std::vector<WantedRows> RowsWanted(const Graph& g, const std::function<const Operator&(const GraphNode&)>& op_of) {
  std::vector<ReadersWish<WantedRows>> wanted(g.size());
  wanted.back().Add(WantedRows::kAll, WantedRows::kAll);
  std::vector<WantedRows> out(g.size(), WantedRows::kAll);
  for (size_t i = g.size(); i-- > 0;) {
    const GraphNode& n = g.node(i);
    const Operator& op = op_of(n);
    if (!wanted[i].any) continue;
    const bool takes = wanted[i].what == WantedRows::kLast ? op.TakesLast() : op.Tiles();
    if (takes) out[i] = wanted[i].what;
    for (size_t k = 0; k < n.in.size(); ++k) {
      if (!op.Uses(int(k))) continue;
      const TakenRows taken = op.InputRows(int(k), n.in.size());
      const WantedRows rows = taken == TakenRows::kBoth ? WantedRows::kAll : OwnRows(taken, out[i]);
      wanted[size_t(n.in[k]->index)].Add(rows, WantedRows::kAll);
    }
  }
  return out;
}

std::vector<WantedRows> RowsWanted(const Graph& g) {
  return RowsWanted(g, [](const GraphNode& n) -> const Operator& { return *n.op; });
}

namespace {

// Derives forms and wrapping backward, from each reader to its inputs.
void DeriveForms(const Graph& g, Ops& ops) {
  std::vector<ReadersWish<OperandForm>> form(g.size());
  for (const OperatorPtr& op : ops) {
    op->wrapped = true;
    op->summand_ring = 0;
  }
  for (size_t i = g.size(); i-- > 0;) {
    const GraphNode& n = g.node(i);
    Operator& op = *ops[i];
    op.form = form[i].what;
    op.wrapped = form[i].any && op.wrapped;
    op.unused = !form[i].any && i + 1 < g.size();
    for (size_t k = 0; k < n.in.size(); ++k) {
      if (op.unused || !op.Uses(int(k))) continue;
      const size_t at = size_t(n.in[k]->index);
      Operator& from = *ops[at];
      OperandForm want = op.Transparent() ? op.form : op.Reads(int(k));
      // a row is taken of an opened wire
      const WantedRows rows = OwnRows(op.InputRows(int(k), n.in.size()), op.wanted);
      if (want == OperandForm::kSummands && rows != from.wanted) want = OperandForm::kProduct;
      form[at].Add(want, OperandForm::kProduct);
      from.wrapped = from.wrapped && op.Wraps();
      if (want == OperandForm::kSummands)
        from.summand_ring = std::max(from.summand_ring, op.Transparent() ? op.summand_ring : op.SummandRing(int(k)));
    }
  }
}

}  // namespace

void Derive(const Graph& g, Ops& ops) {
  for (auto& n : g.nodes()) {
    Operator& op = *ops[size_t(n->index)];
    const Edges in = EdgesOf(*n, ops);
    op.dim = op.Dim(in);
    op.one_row = op.OneRow(in);
    op.heads = op.Heads(in);
  }
  const std::vector<WantedRows> wanted =
      RowsWanted(g, [&](const GraphNode& n) -> const Operator& { return *ops[size_t(n.index)]; });
  for (size_t i = 0; i < g.size(); ++i) ops[i]->wanted = wanted[i];
  DeriveForms(g, ops);
  for (auto& n : g.nodes()) {
    Operator& op = *ops[size_t(n->index)];
    const Edges in = EdgesOf(*n, ops);
    op.summands = op.form == OperandForm::kSummands && op.Summed(in);
    op.built = op.Built(in);
  }
}

namespace {

std::string Place(const std::string& of, const GraphNode& n) {
  return Str(of, ".nodes[", n.index, "] (", Graph::Where(n), ")");
}

// Checks the names of the variants, and that each has its classes, in order, up to the limit.
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
    for (auto& n : p.graph.nodes()) c.ops[size_t(n->index)]->Verify(Place(at, *n));
    Derive(p.graph, c.ops);
    Wanted(!c.ops.back()->Transparent() && c.ops.back()->ResultLayout() == RowLayout::kRows && !c.ops.back()->heads, at,
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
      const std::string where = Place(at, *n);
      for (size_t k = 0; k < in.size(); ++k) {
        if (!op.Uses(int(k))) continue;
        Wanted(c.ops[size_t(n->in[k]->index)]->ResultLayout() == op.InputLayout(int(k)), where,
               "it reads rows as scores, or scores otherwise than they lie");
        Wanted(!in[k].heads || op.TakesHeads(), where, "it reads rows that lie by heads");
        Wanted(!in[k].summands || !op.Transparent() || op.summands, where, "it is a view of what nobody opens");
      }
      try {
        op.Check(in, c.max_n, where);
        for (const WeightSlot& s : op.Slots()) Wanted(s.scale >= 0, where, "a weight has a negative scale");
      } catch (const Error& e) {  // of a function or a weight's expression, which do not know the node
        if (std::string_view(e.what()).find(where) != std::string_view::npos) throw;
        Wanted(false, where, e.what());
      }
    }
  }
}

}  // namespace suf::nn
