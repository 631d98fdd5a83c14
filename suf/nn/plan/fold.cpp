#include "suf/nn/plan/fold.hpp"

#include <algorithm>
#include <set>

#include "suf/nn/ops.hpp"
#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

namespace {

template <class T>
std::vector<GraphNode*> Of(const Graph& g) {
  std::vector<GraphNode*> out;
  for (auto& n : g.nodes())
    if (n->As<T>()) out.push_back(n.get());
  return out;
}

// Removes the mean from a value that only norms read, directly or through sums, where the value is written.
void Unmean(const Graph& g, GraphNode* n, std::set<GraphNode*>* done) {
  if (!done->insert(n).second) return;
  if (PoolRows* pool = n->As<PoolRows>(); pool || n->As<Add>()) {
    for (size_t i = 0; i < n->in.size(); ++i) {
      const bool as_it_is =
          n->in[i]->As<Norm>() != nullptr;  // other nodes read this one, so it is centred as it enters the sum
      if (Add* add = n->As<Add>()) add->centred[i] = as_it_is;
      if (!as_it_is) Unmean(g, n->in[i], done);
    }
    return;
  }
  for (GraphNode* r : g.Readers(n))
    if (!r->As<Add>() && !r->As<Norm>() && !r->As<PoolRows>())
      Fail(Cause::kRefused, "the operator ", Graph::Where(*r), " reads the mean that the norm behind ",
           Graph::Where(*n), " removes; this graph cannot be folded");
  if (Lookup* l = n->As<Lookup>()) {
    l->table = l->table.Centred();
    if (l->positions) l->positions = l->positions.Centred();
  } else if (LinearMap* m = n->As<LinearMap>()) {
    for (LinearMap::MapTerm& t : m->terms) t.weight = t.weight.Centred();
    if (m->bias) m->bias = m->bias.Centred();
  } else {
    Fail(Cause::kRefused, "the operator ", Graph::Where(*n),
         " cannot be written without its mean; this graph cannot be folded");
  }
}

void Centre(Graph& g) {
  std::set<GraphNode*> done;
  for (GraphNode* n : Of<Norm>(g)) {
    Norm& norm = *n->As<Norm>();
    if (!norm.centre) continue;
    if (norm.groups > 1)
      Fail(Cause::kRefused, "the norm ", Graph::Where(*n), " removes the mean of each of ", norm.groups,
           " parts of a row; this graph cannot be folded");
    Unmean(g, n->in[0], &done);
    norm.centre = false;
  }
}

void ResidualIntoMap(Graph& g) {
  for (GraphNode* n : Of<Add>(g)) {
    const int at = n->in[0]->As<Norm>() ? 0 : 1;
    GraphNode *x = n->in[size_t(at)], *m = n->in[size_t(1 - at)];
    if (!x->As<Norm>() || !m->As<LinearMap>() || g.Readers(m).size() != 1) continue;
    m->As<LinearMap>()->terms.push_back(
        {n->As<Add>()->centred[at] ? LinearMap::kCentred : LinearMap::kOne, int(m->in.size()), {}});
    m->in.push_back(x);
    g.Replace(n, m);
    g.Remove(n);
  }
}

// Moves gamma and beta of a norm into a map that reads it, directly or through a pool.
void Absorb(GraphNode* reader, const GraphNode* via, const Norm& norm, bool summed) {
  LinearMap& m = *reader->As<LinearMap>();
  std::vector<LinearMap::MapTerm> terms;
  Expr extra;
  for (const LinearMap::MapTerm& t : m.terms) {
    if (reader->in[size_t(t.input)] != via) {
      terms.push_back(t);
    } else if (t.kind == LinearMap::kFull) {
      terms.push_back({t.kind, t.input, t.weight.Rows(norm.gamma)});
      if (norm.beta) extra = t.weight.Folded(norm.beta).Plus(extra);
      SUF_CHECK(!summed || m.by_length);
    } else {
      terms.push_back({LinearMap::kDiag, t.input, norm.gamma});
      const bool centred = t.kind == LinearMap::kCentred;
      if (centred) terms.push_back({LinearMap::kMean, t.input, norm.gamma.Over(double(norm.gamma.cols()))});
      if (norm.beta) extra = (centred ? norm.beta.Centred() : norm.beta).Plus(extra);
    }
  }
  m.terms = std::move(terms);
  if (extra) m.bias = extra.Plus(m.bias);
}

void GammaIntoReaders(Graph& g) {
  for (GraphNode* n : Of<Norm>(g)) {
    Norm& norm = *n->As<Norm>();
    if (!norm.gamma) continue;
    struct Place {
      GraphNode *reader, *via;
      bool summed;
    };
    std::vector<Place> todo;
    for (GraphNode* r : g.Readers(n)) todo.push_back({r, n, false});
    for (size_t i = 0; i < todo.size(); ++i) {
      const Place at = todo[i];
      if (PoolRows* pool = at.reader->As<PoolRows>()) {  // row-wise, so both pass through it
        for (GraphNode* r : g.Readers(at.reader)) todo.push_back({r, at.reader, pool->kind == PoolRows::kSum});
      } else if (at.reader->As<LinearMap>()) {
        Absorb(at.reader, at.via, norm, at.summed);
      } else {  // a diagonal map of its own goes between; a rotation becomes part of it
        const bool turned = at.reader->As<Rotary>() != nullptr;
        LinearMap m;
        m.terms = {{LinearMap::kDiag, 0, norm.gamma}};
        m.bias = norm.beta;
        m.by_length = at.summed;
        m.key = turned ? "query_key" : "linear";
        GraphNode* map =
            g.After(at.via, std::make_unique<LinearMap>(std::move(m)), {at.via}, turned ? at.reader->label : "z_pool");
        std::replace(at.reader->in.begin(), at.reader->in.end(), at.via, map);
      }
    }
    norm.gamma = norm.beta = {};
  }
}

void BiasThroughAttention(Graph& g) {
  for (GraphNode* n :
       Of<WeightedSum>(g)) {  // a row of the softmax sums to 1, so the value bias moves behind the output map
    const WeightedSum& sum = *n->As<WeightedSum>();
    LinearMap* v = n->in[1]->As<LinearMap>();
    std::vector<GraphNode*> readers = g.Readers(n);
    if (!v || !v->bias || sum.heads != sum.serving || readers.size() != 1 || !readers[0]->As<LinearMap>()) continue;
    LinearMap& o = *readers[0]->As<LinearMap>();
    for (const LinearMap::MapTerm& t : o.terms)
      if (readers[0]->in[size_t(t.input)] == n) o.bias = t.weight.Folded(v->bias).Plus(o.bias);
    v->bias = {};
  }
  for (GraphNode* n : Of<Scores>(g))  // a key bias adds the same to a whole row, unless it is rotated
    if (LinearMap* k = n->in.back()->As<LinearMap>(); k && n->in.size() == 2) k->bias = {};
}

void RotateInMap(Graph& g) {
  for (GraphNode* n : Of<Rotary>(g)) {
    LinearMap* m = n->in[0]->As<LinearMap>();
    if (!m || g.Readers(n->in[0]).size() != 1)
      Fail(Cause::kRefused, "the rotation ", Graph::Where(*n), " reads no map of its own; this graph cannot be folded");
    m->rotary = n->As<Rotary>()->heads;
    m->base = n->As<Rotary>()->base;
    g.Replace(n, n->in[0]);
    g.Remove(n);
  }
}

// Keys are those of all rows. If fewer queries are wanted, they have a map of their own.
void MergeQueryKey(Graph& g) {
  const std::vector<WantedRows> wanted = RowsWanted(g);
  for (GraphNode* n : Of<Scores>(g)) {
    if (n->in.size() != 2) continue;
    GraphNode *qn = n->in[0], *kn = n->in[1];
    LinearMap *q = qn->As<LinearMap>(), *k = kn->As<LinearMap>();
    const bool same = q && k && qn->in == kn->in && q->terms.size() == 1 && k->terms.size() == 1 &&
                      q->base == k->base && (q->rotary > 0) == (k->rotary > 0) &&
                      wanted[size_t(qn->index)] == wanted[size_t(kn->index)];
    if (!same) continue;
    if (q->bias || k->bias)
      q->bias = (q->bias ? q->bias : Expr::Zeros({q->dim()})).Beside(k->bias ? k->bias : Expr::Zeros({k->dim()}));
    q->terms[0].weight = q->terms[0].weight.Beside(k->terms[0].weight);
    q->rotary += k->rotary;
    q->key = "query_key";
    qn->label = "z_qk";
    n->in = {qn};
  }
  g.Prune();
}

Rescale Make(Rescale::Kind kind, std::string key, compiler::Stages stages = compiler::kOnPath) {
  Rescale r;
  r.kind = kind;
  r.key = std::move(key);
  r.stages = stages;
  return r;
}

// Inserts rescales: a product reads narrow wires, and a branch becomes as wide as the stream that it enters.
void InsertRescales(Graph& g) {
  std::vector<GraphNode*> all;
  for (auto& n : g.nodes()) all.push_back(n.get());
  auto insert = [&](GraphNode* x, Rescale r, std::string label, auto reads) {
    GraphNode* fresh = g.After(x, std::make_unique<Rescale>(std::move(r)), {}, std::move(label));
    for (GraphNode* reader : g.Readers(x))
      if (reads(reader)) std::replace(reader->in.begin(), reader->in.end(), x, fresh);
    fresh->in = {x};
  };
  for (GraphNode* x : all) {
    const std::vector<GraphNode*> readers = g.Readers(x);
    auto any = [&](auto is) { return std::any_of(readers.begin(), readers.end(), is); };
    auto multiplies = [](GraphNode* r) { return r->As<Scores>() || r->As<WeightedSum>() || r->As<WireProduct>(); };
    auto adds = [](GraphNode* r) { return r->As<Add>() != nullptr; };
    auto norms = [](GraphNode* r) { return r->As<Norm>() != nullptr; };
    if (LinearMap* m = x->As<LinearMap>(); m && any(multiplies)) {
      // a gated product waits for its activation, so a rescale in two stages costs no flight
      const bool waits = any([](GraphNode* r) { return r->As<WireProduct>() != nullptr; });
      const auto stages = waits ? compiler::kBeside : compiler::kOnPath;
      const bool apart = x->label == "z_q" || x->label == "z_k";
      const std::string label = apart                   ? x->label.substr(2)
                                : m->key == "query_key" ? "q,k"
                                : m->key == "value"     ? "v"
                                                        : m->key;
      insert(x, Make(Rescale::kExact, m->key, stages), label, multiplies);
    } else if (x->As<WeightedSum>()) {
      // it may go un-truncated into the output map if a norm reads that map
      bool norm_behind = true;
      for (GraphNode* r : readers)
        for (GraphNode* behind : g.Readers(r)) norm_behind = norm_behind && norms(behind);
      insert(x, Make(norm_behind ? Rescale::kOptional : Rescale::kExact, "attended"), "o",
             [](GraphNode*) { return true; });
    } else if (x->As<Lookup>() && any(adds)) {
      insert(x, Make(Rescale::kExtend, ""), "stream", [](GraphNode*) { return true; });
    }
  }
  for (GraphNode* x : Of<Add>(g))  // a stream may be read by a wrapping slice
    for (GraphNode* r : g.Readers(x))
      if (r->As<Norm>() || r->As<PoolRows>()) {
        insert(x, Make(Rescale::kClamp, "", compiler::kBeside), "clamp",
               [&](GraphNode* reader) { return reader->As<Norm>() || reader->As<PoolRows>(); });
        break;
      }
}

constexpr Pass kPasses[] = {
    {"centre", Centre, "A LayerNorm's input loses its mean where it is written; LayerNorm becomes RMSNorm."},
    {"residual", ResidualIntoMap, "A residual that reads a norm becomes a term of the map it is added to."},
    {"gamma", GammaIntoReaders, "Gamma scales the rows of every reader's weight, beta goes into its bias."},
    {"bias", BiasThroughAttention, "A value bias moves behind the output map; a key bias drops out."},
    {"rotate", RotateInMap, "A rotation by position becomes part of the map before it."},
    {"merge", MergeQueryKey, "Queries and keys of the same rows: one map, one opening."},
    {"rescale", InsertRescales, "Rescales go where products read, extensions where a narrow wire enters a stream."},
};

}  // namespace

std::span<const Pass> Passes() { return kPasses; }

Graph Fold(const Graph& g, const std::function<void(const Pass&, const Graph&)>& after) {
  Graph out = g;
  for (const Pass& p : kPasses) {
    p.run(out);
    out.Number();
    if (after) after(p, out);
  }
  return out;
}

}  // namespace suf::nn
